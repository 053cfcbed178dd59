"""The walk of kubelet v1.30, continued: createPodSandbox, containerd's RunPodSandbox, and containers."""

from __future__ import annotations

from typing import Final

from tools.walks.steps import Shown, Step

_RUN = "internal/cri/server/sandbox_run.go RunPodSandbox"
_START = "internal/cri/server/podsandbox/sandbox_run.go Controller.Start"
_TWO = "kubesim run -v --runtime cni scenarios/hello-pod.yaml"
_CONTAINER = "kuberuntime_container.go startContainer"

SANDBOX: Final = (
    Shown(
        "kubesim run -v --profile v1.30 scenarios/nodes/runtime-class.yaml",
        (
            Step(
                "createPodSandbox: host name, DNS, control group, sysctls",
                "kuberuntime_sandbox.go generatePodSandboxConfig",
                "createPodSandbox: generate the configuration of the sandbox — host name",
            ),
            Step(
                "The directory of the pod's logs",
                "kuberuntime_sandbox.go MkdirAll",
                "make the log directory /var/log/pods/",
            ),
            Step(
                "The handler of its RuntimeClass",
                "runtimeClassManager.LookupRuntimeHandler",
                "look up the runtime handler — RuntimeClass gvisor has the handler gvisor",
            ),
        ),
    ),
    Shown(
        "kubesim run -q --otlp /dev/stdout --profile v1.30 scenarios/hello-pod.yaml",
        (Step("A call of CRI", "cri-api RunPodSandbox", '"name":"runtime.v1.RuntimeService/RunPodSandbox"'),),
    ),
    Shown(
        _TWO,
        (
            Step("The name is reserved", _RUN, "RunPodSandbox: reserve the name"),
            Step(
                "The runtime of the handler is looked up",
                "GetSandboxRuntime",
                "RunPodSandbox: look up the handler's runtime",
            ),
            Step("The sandbox is stored", "sandboxService.CreateSandbox", "RunPodSandbox: store the metadata"),
            Step("The network namespace is made", "netns.NewNetNS", "RunPodSandbox: create the network namespace"),
            Step("setupPodNetwork", "setupPodNetwork", "RunPodSandbox: set up the network"),
            Step(
                "The sandbox is created in its controller",
                "CreateSandbox",
                "RunPodSandbox: create the sandbox in its controller",
            ),
        ),
        about="containerd 2, whose sandbox controller is of its own (v1.36 is its kubelet).",
    ),
    Shown(
        "kubesim run -v scenarios/containers/user-namespaces.yaml",
        (Step("A user namespace comes from the pod", "userNsEnabled, UsernsMode_POD", "user namespace of ids"),),
    ),
    Shown(
        "kubesim run -v scenarios/versions/v1.30-user-namespace.yaml",
        (
            Step(
                "containerd 1.7 makes the namespace of such a pod from its task, and calls CNI after that",
                "pkg/cri/server/sandbox_run.go RunPodSandbox, NewNetNSFromPID",
                "RunPodSandbox: create the task",
            ),
        ),
    ),
    Shown(
        "kubesim run -o jsonl tests/tools/walk/cri-settings.yaml",
        (
            Step(
                "setupPodNetwork can bring lo up itself: no plugin loopback runs",
                "UseInternalLoopback, bringUpLoopback",
                '"plugin": "loopback"',
                is_absent=True,
            ),
        ),
    ),
    Shown(
        "kubesim run -q --metrics - --runtime cni scenarios/hello-pod.yaml",
        (
            Step(
                "Operations of the network are measured",
                "setupPodNetwork, networkPluginOperations",
                'network_plugin_operations_total_total{operation_type="set_up_pod"} 1',
            ),
        ),
    ),
    Shown(
        _TWO,
        (
            Step(
                "Controller.Start: the pause image",
                "ensureImageExists, toContainerdImage",
                "Controller.Start: get the pause image",
            ),
            Step("The OCI runtime", "GetSandboxRuntime", "Controller.Start: get the OCI runtime and its options"),
            Step("The spec of the container", "sandboxContainerSpec", "Controller.Start: generate the OCI spec"),
            Step("Options of the spec", "sandboxContainerSpecOpts", "Controller.Start: generate the spec's options"),
            Step(
                "Snapshot and container",
                "client.NewContainer",
                "Controller.Start: create the snapshot and the container",
            ),
            Step("Root directory", _START, "Controller.Start: create the root directory"),
            Step("Volatile directory", _START, "Controller.Start: create the volatile directory"),
            Step(
                "hostname, hosts, resolv.conf",
                "setupSandboxFiles",
                "Controller.Start: write hostname, hosts and resolv.conf",
            ),
            Step("The task", "container.NewTask", "Controller.Start: create the task"),
            Step("Its exit is waited for", "task.Wait, waitSandboxExit", "Controller.Start: wait for the task's exit"),
            Step("It starts", "task.Start", "Controller.Start: start the task"),
            Step("NRI plugins are notified", "c.nri.RunPodSandbox", "NRI: RunPodSandbox"),
            Step("Event: created", "generateAndSendContainerEvent", "sends CONTAINER_CREATED_EVENT for the sandbox"),
            Step("The exit monitor", "startSandboxExitMonitor", "RunPodSandbox: watch for the sandbox' exit"),
            Step("Event: started", "generateAndSendContainerEvent", "sends CONTAINER_STARTED_EVENT for the sandbox"),
        ),
    ),
    Shown(
        "kubesim run -v scenarios/nodes/sandbox-fault.yaml",
        (Step("What fails is undone, last first", "deferred functions of Start", "failed to create containerd task"),),
    ),
    Shown(
        "kubesim run -v scenarios/nodes/evented-pleg.yaml",
        (Step("Container events feed the PLEG, with its gate", "evented.go", "CONTAINER_STARTED_EVENT"),),
    ),
)

CONTAINERS: Final = (
    Shown(
        "kubesim run -v --profile v1.30 scenarios/hello-pod.yaml",
        (
            Step(
                "startContainer: 1. the image",
                f"{_CONTAINER}, EnsureImageExists",
                'Pulled: Successfully pulled image "busybox:1.36"',
            ),
            Step("2. What managers add before creation", "PreCreateContainer", "startContainer: PreCreateContainer"),
            Step("The container is created", _CONTAINER, "CreateContainer returned"),
            Step("What managers do before the start", "PreStartContainer", "startContainer: PreStartContainer"),
            Step("Event Created", _CONTAINER, "Created: Created container main"),
            Step("3. It starts", _CONTAINER, "Started: Started container main"),
            Step(
                "The link to its log",
                "legacyLogSymlink",
                "startContainer: link /var/log/containers/hello_default_main-",
            ),
            Step("The PLEG sees it", "pleg/generic.go", "ContainerStarted — container main did not exist"),
        ),
    ),
    Shown(
        "kubesim run -v --profile v1.30 scenarios/nodes/static-cpus.yaml",
        (Step("The CPU manager gives a container its own CPUs", "PreCreateContainer", "PreCreateContainer — CPUs"),),
    ),
    Shown(
        "kubesim run -q --profile v1.30 scenarios/mounts.yaml",
        (Step("A configuration that cannot be made", "generateContainerConfig", "CreateContainerConfigError"),),
    ),
    Shown(
        "kubesim run -v --profile v1.30 tests/tools/walk/post-start.yaml",
        (Step("4. A postStart hook that fails ends the container", f"{_CONTAINER}, PostStart", "FailedPostStartHook"),),
    ),
)
