"""Which resizes of a pod the API server accepts.

Adapted from pkg/apis/core/validation/validation_test.go TestValidatePodResize: 69 rows, all of them.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.validation.field import Errors
from kubesim.api.validation.options import PodValidationOptions
from kubesim.cluster.registry.resize import validate_pod_resize
from kubesim.features import DEFAULT_GATES, configured_gates
from kubesim.golang.text import aggregate

Json = dict[str, Any]
ONLY = "spec: Forbidden: only cpu and memory resources are mutable"
QOS = "Pod QOS Class may not change as a result of resizing"
WINDOWS = "Forbidden: windows pods cannot be resized"
CLAIMS = "spec: Forbidden: pods with node allocatable resource claims cannot be resized"
SIDECARS = "spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable"
NO_INIT = configured_gates({"InPlacePodVerticalScalingInitContainers": False})
REORDERED = ", ".join(
    f"spec.containers[{n}].name: Forbidden: containers may not be renamed or reordered on resize" for n in (0, 1)
)


def removed(kind: str, what: str) -> str:
    return f"spec.{kind}[0].resources.{what}: Forbidden: resource {what} cannot be removed"


def amounts(cpu: str = "", memory: str = "", ephemeral: str = "", storage: str = "") -> Json:
    named = {"cpu": cpu, "memory": memory, "ephemeral-storage": ephemeral, "storage": storage}
    return {name: amount for name, amount in named.items() if amount}


def container(name: str = "container", requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    resources = {"requests": requests, "limits": limits}
    return {
        "name": name,
        "image": "image",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePolicy": "File",
        "resources": {kind: value for kind, value in resources.items() if value},
        **more,
    }


def pod(*containers: Json, status: Json | None = None, **spec: Any) -> Json:
    return {
        "metadata": {"name": "pod", "namespace": "ns", "resourceVersion": "1"},
        "spec": {
            "containers": list(containers) or [container("ctr")],
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30,
            **spec,
        },
        "status": status or {},
    }


def plain(requests: Json, limits: Json, *, policy: tuple[str, str] | None = None, **more: Any) -> Json:
    resize = {"resizePolicy": [{"resourceName": policy[0], "restartPolicy": policy[1]}]} if policy else {}
    return pod(container("container", requests, limits, **resize), **more)


def sidecar(requests: Json, limits: Json, *, policy: tuple[str, str] | None = None) -> Json:
    """A sidecar with the main container's resize policy, as in upstream's helper."""
    main = container("ctr")
    if policy:
        main["resizePolicy"] = [{"resourceName": policy[0], "restartPolicy": policy[1]}]
    return pod(main, initContainers=[container("container", requests, limits, restartPolicy="Always")])


def init(requests: Json, limits: Json, policy: str = "", name: str = "ctr-1") -> Json:
    resize = {"resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}]} if policy else {}
    return pod(initContainers=[container(name, requests, limits, **resize)])


def leveled(one: Json, resources: Json | None, **more: Any) -> Json:
    spec = {} if resources is None else {"resources": resources}
    return pod(container("container", one.get("requests"), one.get("limits"), **more), **spec)


def check(old: Json, new: Json, problem: str, gates: Any = DEFAULT_GATES) -> None:
    errors = Errors()
    validate_pod_resize(errors, new, old, PodValidationOptions(gates, resource_is_pod=True))
    found = aggregate(errors) if errors else ""
    assert problem in found if problem else found == ""


SMALL, BIG = amounts("100m", "100Mi"), amounts("100m", "200Mi")
NOTHING: Json = {}


@pytest.mark.parametrize(
    ("new", "old", "problem"),
    [
        pytest.param(
            leveled({"limits": SMALL}, {"limits": BIG}),
            leveled({"limits": amounts("200m")}, None),
            "",
            id="pod-level resources resize with nil resources in old pod",
        ),
        pytest.param(
            leveled({"limits": SMALL}, {"limits": BIG}),
            leveled({}, {"limits": amounts("", "200Mi")}),
            "",
            id="pod-level resources resize with nil requests in old pod",
        ),
        pytest.param(
            leveled({"limits": SMALL}, {"requests": BIG}),
            leveled({}, {"requests": amounts("", "200Mi")}),
            "",
            id="pod-level resources resize with nil limits in old pod",
        ),
        pytest.param(
            leveled({"limits": SMALL}, {"limits": BIG}),
            leveled({"limits": amounts("200m", "100Mi")}, {"limits": BIG}),
            "",
            id="pod-level resources with container cpu limit change",
        ),
        pytest.param(
            leveled({"limits": BIG}, {"limits": BIG}),
            leveled({"limits": SMALL}, {"limits": BIG}),
            "",
            id="pod-level resources with container memory limit change",
        ),
        pytest.param(
            leveled({"requests": BIG}, {"limits": BIG}),
            leveled({"requests": amounts("200m", "200Mi")}, {"limits": BIG}),
            "",
            id="pod-level resources with container cpu request change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"limits": BIG}),
            leveled({"requests": BIG}, {"limits": BIG}),
            "",
            id="pod-level resources with container memory request change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"limits": amounts("200m", "200Mi")}),
            leveled({"requests": SMALL}, {"limits": amounts("200m", "100Mi")}),
            "",
            id="pod-level resources with pod-level memory limit change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"requests": amounts("200m", "200Mi")}),
            leveled({"requests": SMALL}, {"requests": amounts("200m", "100Mi")}),
            "",
            id="pod-level resources with pod-level memory request change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"limits": amounts("200m", "200Mi")}),
            leveled({"requests": SMALL}, {"limits": BIG}),
            "",
            id="pod-level resources with pod-level cpu limit change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"requests": BIG}),
            leveled({"requests": SMALL}, {"requests": amounts("200m", "200Mi")}),
            "",
            id="pod-level resources with pod-level cpu request change",
        ),
        pytest.param(
            leveled({"requests": SMALL}, {"requests": amounts("100m", "100Mi", "", "200Mi"), "limits": SMALL}),
            leveled({"requests": SMALL}, {"requests": amounts("200m", "100Mi", "", "100Mi"), "limits": BIG}),
            ONLY,
            id="pod-level resources with pod-level storage changes",
        ),
    ],
)
def test_pod_level(new: Json, old: Json, problem: str) -> None:
    check(old, new, problem)


@pytest.mark.parametrize("make", [plain, sidecar])
@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(
            (NOTHING, amounts("100m", "0", "1Gi")), (NOTHING, amounts("200m", "0", "1Gi")), "", id="cpu limit change"
        ),
        pytest.param((NOTHING, SMALL), (NOTHING, BIG), "", id="memory limit increase"),
        pytest.param((NOTHING, BIG), (NOTHING, SMALL), "", id="no restart policy: memory limit decrease"),
        pytest.param(
            (NOTHING, amounts("100m", "100Mi", "2Gi")),
            (NOTHING, amounts("100m", "100Mi", "1Gi")),
            "other",
            id="storage limit change",
        ),
        pytest.param((amounts("200m", "0"), NOTHING), (amounts("100m", "0"), NOTHING), "", id="cpu request change"),
        pytest.param(
            (amounts("0", "100Mi"), NOTHING), (amounts("0", "200Mi"), NOTHING), "", id="memory request change"
        ),
        pytest.param(
            (amounts("100m", "0", "1Gi"), NOTHING),
            (amounts("100m", "0", "2Gi"), NOTHING),
            "other",
            id="storage request change",
        ),
        pytest.param((NOTHING, SMALL), (NOTHING, amounts("", "100Mi")), "limits", id="remove cpu limit"),
        pytest.param((NOTHING, SMALL), (NOTHING, amounts("100m")), "limits", id="remove memory limit"),
        pytest.param((SMALL, NOTHING), (amounts("", "100Mi"), NOTHING), "requests", id="remove cpu request"),
        pytest.param((SMALL, NOTHING), (amounts("100m"), NOTHING), "requests", id="remove memory request"),
        pytest.param((amounts("100m"), SMALL), (amounts("100m"), NOTHING), "limits", id="remove cpu and memory limits"),
        pytest.param(
            (SMALL, amounts("100m")), (NOTHING, amounts("100m")), "requests", id="remove cpu and memory requests"
        ),
    ],
)
def test_containers_and_sidecars(make: Any, old: tuple[Json, Json], new: tuple[Json, Json], problem: str) -> None:
    """Upstream has each row twice, for a container and for a sidecar."""
    is_sidecar = make is sidecar
    if problem == "other":
        problem = SIDECARS if is_sidecar else ONLY
    elif problem:
        problem = removed("initContainers" if is_sidecar else "containers", problem)
    check(make(*old), make(*new), problem)


RUNNING: Json = {"name": "main", "state": {"running": {}}}
LIMITED, MORE = amounts("100m", "0", "1Gi"), amounts("200m", "0", "1Gi")


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(
            plain(NOTHING, BIG, policy=("memory", "NotRequired")),
            plain(NOTHING, SMALL, policy=("memory", "NotRequired")),
            "",
            id="restart NotRequired: memory limit decrease",
        ),
        pytest.param(
            plain(NOTHING, BIG, policy=("memory", "RestartContainer")),
            plain(NOTHING, SMALL, policy=("memory", "RestartContainer")),
            "",
            id="RestartContainer: memory limit decrease",
        ),
        pytest.param(
            sidecar(NOTHING, BIG, policy=("memory", "RestartContainer")),
            sidecar(NOTHING, SMALL, policy=("memory", "RestartContainer")),
            "",
            id="memory limit decrease for sidecar containers, resize policy RestartContainer",
        ),
        pytest.param(
            plain(*[amounts("100m", "100Mi", "1Gi")] * 2),
            plain(*[amounts("200m", "400Mi", "1Gi")] * 2),
            "",
            id="Pod QoS unchanged, guaranteed -> guaranteed",
        ),
        pytest.param(
            plain(amounts("200m", "100Mi", "1Gi"), amounts("400m", "200Mi", "2Gi")),
            plain(amounts("100m", "200Mi", "1Gi"), amounts("200m", "400Mi", "2Gi")),
            "",
            id="Pod QoS unchanged, burstable -> burstable",
        ),
        pytest.param(
            plain(SMALL, NOTHING),
            plain(SMALL, amounts("200m")),
            "",
            id="Pod QoS unchanged, burstable -> burstable, add limits",
        ),
        pytest.param(
            plain(NOTHING, amounts("200m", "500Mi", "1Gi")),
            plain(amounts("300m"), amounts("400m", "500Mi", "1Gi")),
            "",
            id="Pod QoS unchanged, burstable -> burstable, add requests",
        ),
        pytest.param(
            plain(SMALL, SMALL),
            plain(SMALL, amounts("200m", "200Mi")),
            QOS,
            id="Pod QoS change, guaranteed -> burstable",
        ),
        pytest.param(plain(SMALL, NOTHING), plain(SMALL, SMALL), QOS, id="Pod QoS change, burstable -> guaranteed"),
        pytest.param(
            plain(NOTHING, NOTHING),
            plain(SMALL, amounts("200m", "200Mi")),
            QOS,
            id="Pod QoS change, besteffort -> burstable",
        ),
        pytest.param(
            plain(SMALL, amounts("200m", "200Mi")),
            plain(NOTHING, NOTHING),
            QOS,
            id="Pod QoS change, burstable -> besteffort",
        ),
        pytest.param(
            plain(NOTHING, LIMITED, os={"name": "windows"}),
            plain(NOTHING, LIMITED, os={"name": "windows"}),
            WINDOWS,
            id="windows pod, no resource change",
        ),
        pytest.param(
            plain(NOTHING, LIMITED, os={"name": "windows"}),
            plain(NOTHING, MORE, os={"name": "windows"}),
            WINDOWS,
            id="windows pod, resource change",
        ),
        pytest.param(
            plain(NOTHING, LIMITED, status={"containerStatuses": [RUNNING]}),
            plain(NOTHING, MORE),
            "Forbidden: Pod running on node without support for resize",
            id="Pod with nil Resource field in Status",
        ),
        pytest.param(
            plain(NOTHING, LIMITED, status={"containerStatuses": [{**RUNNING, "resources": {}}]}),
            plain(NOTHING, MORE),
            "",
            id="Pod with non-nil Resources field in Status",
        ),
        pytest.param(
            plain(NOTHING, LIMITED, status={"containerStatuses": []}),
            plain(NOTHING, MORE),
            "",
            id="Pod without running containers",
        ),
        pytest.param(
            plain(
                NOTHING,
                LIMITED,
                status={"containerStatuses": [{"name": "main", "resources": {}, "state": {"waiting": {}}}]},
            ),
            plain(NOTHING, MORE),
            "",
            id="Pod with containers which are not running yet",
        ),
        pytest.param(
            plain(amounts("100m", "0", "1Gi"), NOTHING, policy=("cpu", "NotRequired")),
            plain(amounts("100m", "0", "2Gi"), NOTHING, policy=("cpu", "RestartContainer")),
            ONLY,
            id="change resize restart policy",
        ),
        pytest.param(
            sidecar(amounts("100m", "0", "1Gi"), NOTHING, policy=("memory", "RestartContainer")),
            sidecar(amounts("100m", "0", "2Gi"), NOTHING, policy=("memory", "NotRequired")),
            ONLY,
            id="change sidecar container resize restart policy",
        ),
        pytest.param(
            pod(container("c1")),
            pod(container("c1", {"ephemeral-storage": "10Gi"})),
            ONLY,
            id="invalid: adding non-resizable resources to a container without resources",
        ),
    ],
)
def test_single_rows(old: Json, new: Json, problem: str) -> None:
    check(old, new, problem)


BEFORE, AFTER = (SMALL, amounts("100m")), (amounts("200m", "200Mi"), amounts("200m"))


@pytest.mark.parametrize(
    ("old", "new", "gates", "problem"),
    [
        pytest.param(
            init(SMALL, amounts("100m")),
            init(NOTHING, amounts("100m")),
            DEFAULT_GATES,
            removed("initContainers", "requests"),
            id="remove cpu and memory requests from non-sidecar initContainer",
        ),
        pytest.param(init(*BEFORE), init(*AFTER), DEFAULT_GATES, "", id="without resize policy"),
        pytest.param(
            init(*BEFORE, "NotRequired"), init(*AFTER, "NotRequired"), DEFAULT_GATES, "", id="NotRequired resize policy"
        ),
        pytest.param(
            init(*BEFORE, "RestartContainer"),
            init(*AFTER, "RestartContainer"),
            DEFAULT_GATES,
            "spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer "
            "cannot be resized",
            id="RestartContainer resize policy",
        ),
        pytest.param(
            init(*BEFORE),
            init(*AFTER),
            NO_INIT,
            "Forbidden: resources for non-sidecar init containers are immutable",
            id="with FG disabled",
        ),
    ],
)
def test_init_containers(old: Json, new: Json, gates: Any, problem: str) -> None:
    check(old, new, problem, gates)


def named(*names: str) -> Json:
    return pod(*(container(name) for name in names))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        pytest.param(
            named("c1"),
            named("c1", "c2"),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
            id="pod container addition",
        ),
        pytest.param(
            named("c1", "c2"),
            named("c1"),
            "spec.containers: Forbidden: containers may not be added or removed on resize",
            id="pod container removal",
        ),
        pytest.param(named("c1", "c2"), named("c2", "c1"), REORDERED, id="pod container reorder"),
        pytest.param(
            named("c1"),
            named("c2"),
            "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
            id="pod container rename",
        ),
    ],
)
def test_the_list_of_containers_is_immutable(old: Json, new: Json, problem: str) -> None:
    check(old, new, problem)


@pytest.mark.parametrize("claim", [{}, {"resources": {"cpu": "100m"}}], ids=["by name", "with resources"])
def test_a_pod_with_node_allocatable_resource_claims(claim: Json) -> None:
    status = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "node-allocatable-claim", **claim}]}
    old = {**leveled({"requests": BIG}, {"limits": BIG}), "status": status}
    more = amounts("200m", "200Mi")
    check(old, {**leveled({"requests": more}, {"limits": more}), "status": status}, CLAIMS)


def test_pod_level_resources_need_their_gate() -> None:
    gates = configured_gates({"InPlacePodLevelResourcesVerticalScaling": False})
    old = leveled({"requests": SMALL}, {"limits": BIG})
    check(
        old,
        leveled({"requests": BIG}, {"limits": BIG}),
        "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled "
        "feature gate is disabled",
        gates,
    )
