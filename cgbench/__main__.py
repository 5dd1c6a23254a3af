"""``python -m cgbench``: the same as the ``cgbench`` command."""

from cgbench.cli import main

if __name__ == "__main__":
    main()
