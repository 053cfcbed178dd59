"""The errors of CRI calls, as the kubelet sees them.

Mirrors: cri-client/pkg remote_runtime.go (errors), pkg/kubelet/container/helpers.go (crierror.IsNotFound)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kubesim.golang.text import duration, quoted
from kubesim.runtime.cri.wire.methods import CriError
from kubesim.runtime.protocol import DeadlineExceeded, NotFound


@contextmanager
def not_found() -> Iterator[None]:
    """A gRPC status NotFound becomes `NotFound`, with the same text."""
    try:
        yield
    except CriError as error:
        if error.code == "NotFound":
            raise NotFound(str(error)) from None
        raise


def is_gone(error: CriError) -> bool:
    return error.code == "NotFound"


def command_timed_out(command: tuple[str, ...], timeout: int) -> DeadlineExceeded:
    """ErrCommandTimedOut."""
    return DeadlineExceeded(f"command timed out: {quoted(' '.join(command))} timed out after {duration(timeout)}")
