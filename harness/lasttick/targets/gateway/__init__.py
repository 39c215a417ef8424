"""The tool gateway of a world: the handle that scenarios use, and its parts in virtual and in process mode."""
