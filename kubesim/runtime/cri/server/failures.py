"""Errors of the runtime as gRPC reports them: the code and the text.

Mirrors: containerd pkg/errgrpc ToGRPC, internal/cri/instrument
"""

from __future__ import annotations

import re

from kubesim.errors import RuntimeCallError
from kubesim.runtime.cri.wire.methods import CODES, CriError
from kubesim.runtime.protocol import DeadlineExceeded, NotFound

_RPC = re.compile(r"rpc error: code = (\w+) desc = (.*)", re.DOTALL)
_NAMES = frozenset(CODES.values())


def failure(text: str) -> CriError:
    """An error without a code of its own."""
    return CriError("Unknown", text)


def missing(text: str) -> CriError:
    """An object does not exist; containerd appends its error text."""
    return CriError("NotFound", f"{text}: not found")


def as_cri_error(error: RuntimeCallError, prefix: str = "") -> CriError:
    """The gRPC error of a failed runtime call. `prefix` is put before a text that does not have it."""
    code, text = _code_and_text(error)
    return CriError(code, text if text.startswith(prefix) else f"{prefix}{text}")


def _code_and_text(error: RuntimeCallError) -> tuple[str, str]:
    if isinstance(error, CriError):
        return error.code, error.text
    found = _RPC.fullmatch(str(error))
    if found is not None and found[1] in _NAMES:
        return found[1], found[2]
    if isinstance(error, NotFound):
        return "NotFound", str(error)
    return "DeadlineExceeded" if isinstance(error, DeadlineExceeded) else "Unknown", str(error)
