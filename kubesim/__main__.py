"""`python -m kubesim`, and the command `kubesim`: an interrupt ends it quietly, also while it is being imported."""

from __future__ import annotations

import sys

EXIT_INTERRUPTED = 130


def run() -> int:
    try:
        from kubesim.cli.main import main

        return main()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(run())
