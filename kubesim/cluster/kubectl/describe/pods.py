"""Describes pods, and the pod templates of workloads.

Mirrors: kubectl/pkg/describe describe.go describePod, DescribePodTemplate
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import pod_qos_class
from kubesim.cluster.kubectl.describe.containers import describe_containers, describe_resources
from kubesim.cluster.kubectl.describe.page import DescriptionPage, date
from kubesim.cluster.kubectl.describe.volumes import describe_volumes
from kubesim.cluster.tables.ages import age
from kubesim.cluster.tables.table import JsonObject, condition, dig
from kubesim.cluster.tables.texts import NONE, format_selector

_KINDS = (("Init Containers", "initContainers", "initContainerStatuses"),
          ("Containers", "containers", "containerStatuses"),
          ("Ephemeral Containers", "ephemeralContainers", "ephemeralContainerStatuses"))  # fmt: skip


def describe_pod(page: DescriptionPage, pod: JsonObject, events: Sequence[JsonObject]) -> None:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    _head(page, pod, spec, status)
    if spec.get("resources") is not None:
        page.line("Resources:")
        describe_resources(page, spec["resources"], 1)
    for label, field, statuses in _KINDS:
        if spec.get(field) or field == "containers":
            describe_containers(page, label, spec.get(field) or (), statuses=status.get(statuses) or (), pod=pod)
    if spec.get("readinessGates"):
        page.line("Readiness Gates:\n  Type\tStatus")
    for gate in spec.get("readinessGates") or ():
        found = condition(pod, gate["conditionType"])
        page.line(f"{gate['conditionType']} \t{NONE if found is None else found.get('status', '')} ", 1)
    if status.get("conditions"):
        page.line("Conditions:\n  Type\tStatus")
    for each in status.get("conditions") or ():
        page.line(f"{each.get('type', '')} \t{each.get('status', '')} ", 1)
    describe_volumes(page, spec.get("volumes") or ())
    page.field("QoS Class", status.get("qosClass") or pod_qos_class(Pod.from_json(pod)))
    page.labels("Node-Selectors", spec.get("nodeSelector"))
    page.tolerations("Tolerations", spec.get("tolerations") or ())
    _spread(page, spec.get("topologySpreadConstraints") or (), "")
    page.events(events)


def _head(page: DescriptionPage, pod: JsonObject, spec: JsonObject, status: JsonObject) -> None:
    page.names(pod)
    page.optional("Priority", spec.get("priority"))
    page.optional("Priority Class Name", spec.get("priorityClassName"))
    page.optional("Runtime Class Name", spec.get("runtimeClassName"))
    page.optional("Service Account", spec.get("serviceAccountName"))
    node = spec.get("nodeName")
    page.field("Node", f"{node}/{status.get('hostIP', '')}" if node else NONE)
    if status.get("startTime"):
        page.field("Start Time", date(status["startTime"]))
    page.marks(pod)
    deleted = dig(pod, "metadata.deletionTimestamp")
    if deleted and status.get("phase") not in ("Failed", "Succeeded"):
        page.field("Status", f"Terminating (lasts {age(deleted, page.now)})")
        page.field("Termination Grace Period", f"{dig(pod, 'metadata.deletionGracePeriodSeconds', 0)}s")
    else:
        page.field("Status", status.get("phase", ""))
    page.optional("Reason", status.get("reason"))
    page.optional("Message", status.get("message"))
    profile = dig(spec, "securityContext.seccompProfile")
    if profile is not None:
        page.field("SeccompProfile", profile.get("type", ""))
        if profile.get("type") == "Localhost":
            page.field("LocalhostProfile", profile.get("localhostProfile", ""))
    page.field("IP", status.get("podIP", ""))
    addresses = status.get("podIPs") or ()
    page.line("IPs:" + ("" if addresses else f"\t{NONE}"))
    for each in addresses:
        page.field("IP", each.get("ip", ""), 1)
    page.controller(pod)
    page.optional("NominatedNodeName", status.get("nominatedNodeName"))


def _spread(page: DescriptionPage, constraints: Iterable[JsonObject], space: str) -> None:
    rows = []
    for each in sorted(constraints, key=lambda each: each.get("topologyKey", "")):
        text = f"{each.get('topologyKey', '')}:{each.get('whenUnsatisfiable', '')}"
        text += f" when max skew {each.get('maxSkew', 0)} is exceeded"
        if each.get("labelSelector") is not None:
            text += f" for selector {format_selector(each['labelSelector'])}"
        rows.append(text)
    if rows:
        page.rows(f"{space}Topology Spread Constraints", rows)


def describe_template(page: DescriptionPage, template: JsonObject) -> None:
    spec = template.get("spec") or {}
    page.line("Pod Template:")
    page.labels("  Labels", dig(template, "metadata.labels"))
    if dig(template, "metadata.annotations"):
        page.annotations("  Annotations", template["metadata"]["annotations"])
    page.optional("Service Account", spec.get("serviceAccountName"), 1)
    for label, field, _ in _KINDS[:2]:
        if spec.get(field) or field == "containers":
            describe_containers(page, label, spec.get(field) or (), space="  ")
    describe_volumes(page, spec.get("volumes") or (), "  ")
    _spread(page, spec.get("topologySpreadConstraints") or (), "  ")
    page.optional("Priority Class Name", spec.get("priorityClassName"), 1)
    page.labels("  Node-Selectors", spec.get("nodeSelector"))
    page.tolerations("  Tolerations", spec.get("tolerations") or ())
