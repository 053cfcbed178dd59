"""containerd's errors about registries that do not respond."""

from __future__ import annotations

import pytest

from kubesim.runtime.simulated.registries import connection_refused, not_found


@pytest.mark.parametrize(
    ("image", "url", "endpoint"),
    [
        ("127.0.0.1:1/absent:1", "http://127.0.0.1:1/v2/absent/manifests/1", "127.0.0.1:1"),
        ("localhost:5000/team/app:v2", "http://localhost:5000/v2/team/app/manifests/v2", "[::1]:5000"),
        ("127.1.2.3/app:v2", "http://127.1.2.3/v2/app/manifests/v2", "127.1.2.3:80"),
    ],
)
def test_a_loopback_registry_has_no_listener(image: str, url: str, endpoint: str) -> None:
    assert connection_refused(image) == (
        f'failed to pull and unpack image "{image}": failed to resolve reference "{image}": '
        f'failed to do request: Head "{url}": dial tcp {endpoint}: connect: connection refused'
    )


@pytest.mark.parametrize("image", ["busybox:1.36", "10.0.0.1:5000/app:1", "registry.example/app:1"])
def test_other_registries_respond(image: str) -> None:
    assert connection_refused(image) == ""


def test_a_missing_image_has_its_full_name() -> None:
    assert not_found("nothere:1").endswith(
        'failed to resolve reference "docker.io/library/nothere:1": docker.io/library/nothere:1: not found'
    )
