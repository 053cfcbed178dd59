"""The handler of a pod's RuntimeClass.

Adapted from pkg/kubelet/runtimeclass/runtimeclass_manager_test.go TestLookupRuntimeHandler (5 rows).
"""

from __future__ import annotations

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.features import DEFAULT_PROFILE, FeatureGates
from kubesim.kubelet.containers.runtime_class import lookup_runtime_handler
from kubesim.runtime.helper import SandboxConfigError

CLASSES = {
    "native": {"handler": ""},
    "sandboxed": {"handler": "kata-containers"},
}


def find(kind: str, namespace: str, name: str) -> ApiObject | None:
    assert (kind, namespace) == ("RuntimeClass", "")
    found = CLASSES.get(name)
    return None if found is None else ApiObject.from_json({"metadata": {"name": name}, **found})


def handler(name: str | None, profile: str = DEFAULT_PROFILE) -> str:
    spec = {} if name is None else {"runtimeClassName": name}
    return lookup_runtime_handler(Pod.from_json({"spec": spec}), find, FeatureGates(profile=profile))


@pytest.mark.parametrize(("name", "expected"), [(None, ""), ("", ""), ("native", ""), ("sandboxed", "kata-containers")])
def test_an_existing_class(name: str | None, expected: str) -> None:
    assert handler(name) == expected


@pytest.mark.parametrize("profile", ["v1.6", "v1.12"])
def test_kubelets_whose_gate_is_off_use_the_default_handler(profile: str) -> None:
    assert handler("sandboxed", profile) == handler("phantom", profile) == ""


@pytest.mark.parametrize("name", ["phantom", "other"])
def test_a_missing_class(name: str) -> None:
    with pytest.raises(SandboxConfigError) as error:
        handler(name)
    assert str(error.value) == f'runtimeclass.node.k8s.io "{name}" not found'
