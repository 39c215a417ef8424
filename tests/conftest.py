"""What all tests share: `pytester`, which pytest lets only the topmost conftest ask for."""

pytest_plugins = ["pytester"]
