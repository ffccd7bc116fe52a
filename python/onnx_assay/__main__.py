"""The program `assay` inside this package."""

import os
import sys

from ._program import environment, program


def main() -> None:
    """Becomes the program, with this command line."""
    file = os.fspath(program())
    os.execve(file, [file, *sys.argv[1:]], environment())


if __name__ == "__main__":
    main()
