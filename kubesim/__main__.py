"""`python -m kubesim` and the command `kubesim`. An interrupt ends it without a traceback, even during imports."""

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
