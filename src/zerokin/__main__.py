"""``python -m zerokin`` is the command ``zerokin``: a process of its own, which ends at once."""

from zerokin.cli import main
from zerokin.commands.quick_exit import QuickExit


def run() -> None:
    """Run the command line as the whole of this process."""
    quick = QuickExit()
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int | None):
            quick.status = ended.code or 0
        raise
    quick.status = 0


if __name__ == "__main__":
    run()
