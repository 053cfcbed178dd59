"""The hash of a container: name and image; in older kubelets all fields."""

from __future__ import annotations

from kubesim.api.pod import Container
from kubesim.features import FeatureGates
from kubesim.runtime.kuberuntime.container_hash import hash_container


def container(**fields: object) -> Container:
    return Container.from_json({"name": "db-de95", "image": "app:v1", **fields})


def test_known_value() -> None:
    assert f"{hash_container(container()):x}" == "8f908f98"


def test_only_name_and_image_count() -> None:
    assert hash_container(container(command=["sleep"], env=[{"name": "A"}])) == hash_container(container())
    assert hash_container(container(image="app:v2")) != hash_container(container())
    assert hash_container(container(name="db")) != hash_container(container())


def test_text_is_escaped_as_in_go() -> None:
    assert hash_container(container(name="web-63ad", image='a<b>&"c')) == 100554020


def test_all_fields_count_in_v1_30() -> None:
    """The value of upstream's TestHashContainer at v1.30.0."""
    rules = FeatureGates(profile="v1.30").rules
    command = ["/bin/sh", "-c", "echo abc"]
    known = container(name="test_container", image="foo/image:v1", args=command, ports=[{"containerPort": 8001}])
    assert f"{hash_container(known, rules):x}" == "3c42280f"
    assert hash_container(container(env=[{"name": "A"}]), rules) != hash_container(container(), rules)
