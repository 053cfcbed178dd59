"""Tags of image names.

Adapted from: pkg/util/parsers/parsers_test.go; distribution/reference normalize_test.go
"""

from __future__ import annotations

import pytest

from kubesim.api.images import InvalidReference, image_tag, parse

SHA = "a" * 64


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("busybox", "latest"),
        ("busybox:1.36", "1.36"),
        ("localhost:5000/a/b", "latest"),
        ("localhost/a:1", "1"),
        ("index.docker.io/busybox:1", "1"),
        ("Example/a:1", "1"),  # upper case makes it a domain
        ("[fd00::1]:5000/a:1", "1"),
        (f"busybox@sha256:{SHA}", ""),
        (f"busybox:1@sha256:{SHA}", "1"),
        ("a__b/c-d.e:v_1.0-x", "v_1.0-x"),
        # An invalid image name has no tag.
        ("", ""),
        ("Busybox", ""),
        ("a:b:c", ""),
        ("a//b", ""),
        (SHA, ""),
        (f"busybox@sha256:{SHA[1:]}", ""),
        (f"busybox@sha256:{SHA.upper()}", ""),
        (f"busybox@md5:{'a' * 32}", ""),
        (f"example.com/{'a' * 256}", ""),
        (f"busybox:{'t' * 129}", ""),
    ],
)
def test_tags(image: str, tag: str) -> None:
    assert image_tag(image) == tag


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "repository name must have at least one component"),
        ("example.com/App:1", "repository name must be lowercase"),
        ("example.com/app::1", "invalid reference format"),
    ],
)
def test_invalid_references(text: str, problem: str) -> None:
    with pytest.raises(InvalidReference, match=problem):
        parse(text)
