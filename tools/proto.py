"""`make proto`: generates the CRI messages from `cri.proto`. The generated files are checked in."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = "kubesim/runtime/cri/wire/cri.proto"
GENERATED = ("cri_pb2.py", "cri_pb2.pyi")


def generate(folder: Path) -> None:
    """Write the generated files into a folder, at the path of their source."""
    from grpc_tools import protoc

    root = Path(__file__).parent.parent
    words = ["protoc", f"-I{root}", f"--python_out={folder}", f"--pyi_out={folder}", str(root / SOURCE)]
    if protoc.main(words) != 0:
        sys.exit(f"{SOURCE}: protoc failed")


if __name__ == "__main__":
    generate(Path(__file__).parent.parent)
