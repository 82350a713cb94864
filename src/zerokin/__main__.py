"""``python -m zerokin`` is the command ``zerokin``."""

from zerokin.cli import main

if __name__ == "__main__":
    main()
