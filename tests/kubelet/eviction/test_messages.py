"""Cases from upstream's pkg/kubelet/eviction: helpers_test.go TestEvictionMessage; eviction_manager_test.go
TestStorageLimitEvictions, TestMemoryPressure_VerifyPodStatus."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.features import FeatureGates
from kubesim.kubelet.eviction.limits import storage_limits_exceeded
from kubesim.kubelet.eviction.messages import eviction_message, node_condition_message
from kubesim.kubelet.eviction.stats import ContainerUsage, FsUsage, PodUsage, without_huge_pages
from kubesim.kubelet.eviction.thresholds import parse_threshold_config
from tests.support.eviction import amount, available, disk, make_pod

LOW_ON_MEMORY = "The node was low on resource: memory. "


def pod(containers: dict[str, str], init: dict[str, str], **spec: Any) -> Pod:
    def made(requests: dict[str, str]) -> list[dict[str, Any]]:
        return [{"name": n, "resources": {"requests": {"memory": r} if r else {}}} for n, r in requests.items()]

    return Pod.from_json(
        {
            "metadata": {"name": "pod"},
            "spec": {"containers": made(containers), "initContainers": made(init), **spec},
        }
    )


def larger(name: str, used: str, request: str) -> str:
    return f"Container {name} was using {used}, request is {request}, has larger consumption of memory. "


@pytest.mark.parametrize(
    ("containers", "init", "used", "blamed"),
    [
        ({"a": "200Mi"}, {"side": "200Mi"}, {"side": "150Mi", "a": "100Mi"}, []),
        ({"a": "200Mi"}, {"i": "100Mi"}, {"i": "150Mi"}, [("i", "150Mi", "100Mi")]),
        ({"a": "200Mi", "b": "300Mi"}, {}, {"a": "250Mi", "b": "250Mi"}, [("a", "250Mi", "200Mi")]),
        ({"a": "200Mi"}, {}, {"a": "150Mi", "debugger": "250Mi"}, []),
        ({"a": ""}, {"side": ""}, {"side": "250Mi", "a": "200Mi"}, [("side", "250Mi", "0"), ("a", "200Mi", "0")]),
    ],
    ids=["nobody", "an init container", "one of two", "not ephemeral ones", "without requests"],
)
def test_pods_that_used_more_than_requested(
    containers: dict[str, str], init: dict[str, str], used: dict[str, str], blamed: list[tuple[str, str, str]]
) -> None:
    usage = PodUsage(containers=tuple(ContainerUsage(name, memory=amount(text)) for name, text in used.items()))
    message, annotations = eviction_message("memory", pod(containers, init), usage, (), {})
    assert message == LOW_ON_MEMORY + "".join(larger(*words) for words in blamed)
    assert annotations == {
        "offending_containers": ",".join(words[0] for words in blamed),
        "offending_containers_usage": ",".join(words[1] for words in blamed),
        "starved_resource": "memory",
    }


def test_a_pod_with_pod_level_resources_is_named_too() -> None:
    one = pod({"a": ""}, {}, resources={"requests": {"memory": "250Mi"}})
    usage = PodUsage(memory=amount("600Mi"), containers=(ContainerUsage("a", memory=amount("600Mi")),))
    message, annotations = eviction_message("memory", one, usage, (), {})
    own = "Pod pod was using 600Mi, request is 250Mi, has larger consumption of memory. "
    assert message == LOW_ON_MEMORY + own + larger("a", "600Mi", "0")
    assert (annotations["offending_pod"], annotations["offending_pod_usage"]) == ("pod", "600Mi")
    without = FeatureGates({"PodLevelResources": False})
    assert own not in eviction_message("memory", one, usage, (), {}, without)[0]


def test_the_threshold_and_the_available_amount() -> None:
    thresholds = parse_threshold_config({"nodefs.available": "10%", "memory.available": "2Gi"})
    observations = {"memory.available": available("1500Mi"), "nodefs.available": available("5Gi", "100Gi")}
    message, annotations = eviction_message("memory", make_pod("pod"), None, thresholds, observations)
    assert message == LOW_ON_MEMORY + "Threshold quantity: 2Gi, available: 1500Mi. "
    assert annotations == {}
    message, _ = eviction_message("ephemeral-storage", make_pod("pod"), disk("3Gi", "1Gi"), thresholds, observations)
    assert message == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 10737418400, available: 5Gi. "
        "Container main was using 4Gi, request is 0, has larger consumption of ephemeral-storage. "
    )
    assert eviction_message("pids", make_pod("pod"), None, (), {})[0] == "The node was low on resource: pids. "


def test_why_a_pod_is_not_admitted() -> None:
    reported = node_condition_message(("MemoryPressure", "DiskPressure"))
    assert reported == "The node had condition: [MemoryPressure DiskPressure]. "


def exceeded(pod: Pod, usage: PodUsage, *, dedicated: bool = False) -> list[str]:
    return list(storage_limits_exceeded(pod, usage, dedicated_image_fs=dedicated))


def test_pod_level_limits() -> None:
    volume = [{"name": "local", "emptyDir": {"sizeLimit": "100Mi"}}]
    one = make_pod("pod", limits={"ephemeral-storage": "1Gi"}, volumes=volume)
    assert exceeded(one, disk("900Mi", "0", "100Mi")) == []
    assert exceeded(one, disk("0", "0", "101Mi")) == ['Usage of EmptyDir volume "local" exceeds the limit "100Mi". ']
    total = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "
    assert exceeded(one, disk("1000Mi", "0", "99Mi")) == [total]
    assert exceeded(one, disk("1Gi", "1Mi")) == [
        total,
        'Container main exceeded its local ephemeral storage limit "1Gi". ',
    ]
    # With a separate image disk the writable layer counts only for the pod, not for a container.
    assert exceeded(one, disk("1Gi", "1Mi"), dedicated=True) == [total]


def test_without_limits_a_pod_may_use_the_whole_node() -> None:
    one = make_pod("pod", volumes=[{"name": "local", "emptyDir": {}}])
    assert exceeded(one, PodUsage(ephemeral_storage=1 << 50, volumes={"local": FsUsage(1 << 50)})) == []


def test_the_limit_of_a_sidecar_counts_in_v1_37() -> None:
    sidecar = {"name": "main", "restartPolicy": "Always", "resources": {"limits": {"ephemeral-storage": "1Gi"}}}
    one = Pod.from_json({"spec": {"initContainers": [sidecar], "containers": [{"name": "web"}]}})
    assert list(storage_limits_exceeded(one, disk("2Gi", "0"), limits_sidecars=False))[1:] == []
    found = list(storage_limits_exceeded(one, disk("2Gi", "0"), limits_sidecars=True))
    assert found[-1] == 'Container main exceeded its local ephemeral storage limit "1Gi". '


def test_huge_pages_are_not_available() -> None:
    before = {"memory.available": available("5Gi"), "nodefs.available": available("5Gi")}
    after = without_huge_pages(before, 4 << 30)
    assert str(after["memory.available"].available) == "1Gi"
    assert after["nodefs.available"] == before["nodefs.available"]
    assert str(without_huge_pages(before, 8 << 30)["memory.available"].available) == "0"
    assert without_huge_pages(before, 0) is before
