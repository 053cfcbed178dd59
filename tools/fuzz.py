"""`python -m tools.fuzz [FAMILY ...] [--first N] [--count N]`: runs fuzzed inputs, or a single one again.

A finding is printed with the folder of its files. The number of an input is its seed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support.fuzz.families import FAMILIES
from tests.support.fuzz.fuzzing import findings


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"{', '.join(FAMILIES)}; default: all")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first input (0)")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="inputs of each family (1000)")
    parser.add_argument("--folder", type=Path, help="where the files of findings are kept (a new folder)")
    args = parser.parse_args()
    folder = args.folder or Path(tempfile.mkdtemp(prefix="kubesim-fuzz-"))
    found = 0
    for name in args.families or FAMILIES:
        for finding in findings(name, args.count, folder, args.first):
            found += 1
            print(f"{finding}\n", flush=True)
        print(f"{name}: inputs {args.first} to {args.first + args.count - 1}", file=sys.stderr, flush=True)
    print(f"{found} findings in {folder}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
