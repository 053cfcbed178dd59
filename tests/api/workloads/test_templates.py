"""The hash of a pod template: ten letters, equal for equal templates.

Adapted from: pkg/controller/deployment/util/hash_test.go TestPodTemplateSpecHash
"""

from __future__ import annotations

from kubesim.api.workloads.templates import PodTemplateSpec, safe_encode, template_hash


def template(image: str) -> PodTemplateSpec:
    containers = [{"name": "main", "image": image, "env": [{"name": "A", "value": "1"}]}]
    return PodTemplateSpec.from_json({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}})


def test_a_thousand_templates_have_a_thousand_hashes() -> None:
    assert len({template_hash(template(f"app:{n}")) for n in range(1000)}) == 1000


def test_equal_templates_have_equal_hashes() -> None:
    same = PodTemplateSpec.from_json(
        {
            "spec": {"containers": [{"env": [{"value": "1", "name": "A"}], "image": "app:1", "name": "main"}]},
            "metadata": {"annotations": {}, "labels": {"app": "web"}},
        }
    )
    assert template_hash(same) == template_hash(template("app:1"))


def test_the_collision_count_changes_the_hash() -> None:
    hashes = {template_hash(template("app:1"), count) for count in (None, 0, 1, 2)}
    assert len(hashes) == 4


def test_the_digits_are_encoded_as_safe_letters() -> None:
    assert safe_encode("0123456789") == "456789bcdf"
    assert set(template_hash(template("app:1"))) <= set("456789bcdf")
