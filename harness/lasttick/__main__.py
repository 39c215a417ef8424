"""`python -m lasttick` is the command `lasttick`."""

from lasttick.cli import main

if __name__ == "__main__":
    main()
