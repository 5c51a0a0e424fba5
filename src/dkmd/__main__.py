"""``python -m dkmd``: the same as the command ``dkmd``."""

from dkmd.cli import main

if __name__ == "__main__":
    main()
