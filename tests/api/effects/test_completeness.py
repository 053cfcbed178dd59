"""The tables of fields without effect are complete and correct.

Objects with every field are run, and every read of a field is recorded. A field that is never read must be in a table,
and a field in a table must not be read by code that acts on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.api.effects import object_rows, pod_rows
from kubesim.api.effects.scan import ROWS
from kubesim.api.schema.types import parse_type, struct_fields
from kubesim.app import run_scenario
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.scenario.load.loader import load_scenario
from kubesim.scenario.load.objects import has_effect
from kubesim.trace import MemorySink
from tests.support.field_reads import Reads, recorded_reads

ROOT = Path(__file__).parent.parent.parent.parent
EVERY_FIELD = sorted((ROOT / "tests/scenario/every_field").glob("*.yaml"))
PLAYED = (*EVERY_FIELD, ROOT / "scenarios/workloads/endpoints-prestop.yaml")
INERT = {**pod_rows.INERT, **object_rows.INERT}
KINDS = [kind for kind in RESOURCES if has_effect({"apiVersion": RESOURCES[kind].api_version, "kind": kind})]

# Fields that the API server uses as JSON, with the module.
AT_THE_API_SERVER = {
    "ObjectMeta.generateName": "kubesim/cluster/registry/registry.py",
    "PodSpec.serviceAccount": "kubesim/cluster/registry/admission.py",
    "PodSpec.automountServiceAccountToken": "kubesim/cluster/registry/admission.py",
    "PodSpec.priorityClassName": "kubesim/cluster/registry/admission.py",
    "PodSpec.runtimeClassName": "kubesim/cluster/registry/admission.py",
    "JobSpec.manualSelector": "kubesim/api/workloads/rules/batch.py",
    "ConfigMap.immutable": "kubesim/cluster/registry/kind_rules.py",
    "Secret.immutable": "kubesim/cluster/registry/kind_rules.py",
    "Secret.stringData": "kubesim/cluster/registry/strategies.py",
    "ServiceSpec.clusterIPs": "kubesim/cluster/registry/services/cluster_ips.py",
    "LimitRange.spec": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeSpec.limits": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.type": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.max": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.min": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.default": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.defaultRequest": "kubesim/cluster/registry/limits/limit_ranges.py",
    "LimitRangeItem.maxLimitRequestRatio": "kubesim/cluster/registry/limits/limit_ranges.py",
    "ResourceQuota.spec": "kubesim/cluster/registry/limits/quotas.py",
    "ResourceQuotaSpec.hard": "kubesim/cluster/registry/limits/quotas.py",
    "ResourceQuotaSpec.scopes": "kubesim/cluster/registry/limits/usage.py",
    "ResourceQuotaSpec.scopeSelector": "kubesim/cluster/registry/limits/usage.py",
    "ScopeSelector.matchExpressions": "kubesim/cluster/registry/limits/usage.py",
    "ScopedResourceSelectorRequirement.scopeName": "kubesim/cluster/registry/limits/usage.py",
    "ScopedResourceSelectorRequirement.operator": "kubesim/cluster/registry/limits/usage.py",
    "ScopedResourceSelectorRequirement.values": "kubesim/cluster/registry/limits/usage.py",
}
_SECRETS = {"kubesim.kubelet.volumes.object_manager"}
_NODE_PORTS = {"kubesim.cluster.registry.services.node_ports"}
# Readers without effect: they only reject objects, as validation does (node ports: of another Service), fetch a Secret
# that is not used, or pass a value to the runtime, which ignores it.
DO_NOT_ACT = {
    "ISCSIVolumeSource.secretRef": _SECRETS,
    "CSIVolumeSource.nodePublishSecretRef": _SECRETS,
    "CinderVolumeSource.secretRef": _SECRETS,
    "AzureFileVolumeSource.secretName": _SECRETS,
    "PodSpec.hostIPC": {"kubesim.kubelet.admission.sysctls", "kubesim.runtime.kuberuntime.sandbox_config"},
    "ServicePort.nodePort": _NODE_PORTS,
    "ServiceSpec.healthCheckNodePort": _NODE_PORTS,
    "SecurityContext.privileged": {"kubesim.runtime.kuberuntime.decide.security_profiles"},
    "VolumeDevice.devicePath": {"kubesim.kubelet.volumes.mounts"},
    "VolumeMount.mountPropagation": {"kubesim.kubelet.volumes.mounts"},
    "PodSecurityContext.supplementalGroupsPolicy": {"kubesim.kubelet.admission.predicates"},
}


@pytest.fixture(scope="module")
def reads() -> Reads:
    with recorded_reads() as found:
        for path in PLAYED:
            run_scenario(load_scenario(str(path)), sinks=(MemorySink(),))
    return found


def fields_of(kind: str) -> Iterator[str]:
    """Every field that a client can set, except inside fields without effect."""
    seen, queue = set(), [parse_type(kind).struct]
    while queue:
        struct = queue.pop(0)
        if struct in seen:
            continue
        seen.add(struct)
        for name, field in struct_fields(struct).items():
            full = (
                f"{'Container' if struct == 'EphemeralContainer' and name != 'targetContainerName' else struct}.{name}"
            )
            if name in ("kind", "apiVersion", "metadata", "status") and struct in RESOURCES:
                continue
            yield full
            inner = field.type
            while inner.element is not None:
                inner = inner.element
            if inner.struct and full not in ROWS and full not in INERT:
                queue.append(inner.struct)


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_is_never_read_is_in_the_table(kind: str, reads: Reads) -> None:
    known = {*reads, *ROWS, *INERT, *AT_THE_API_SERVER}
    assert [name for name in dict.fromkeys(fields_of(kind)) if name not in known] == []


@pytest.mark.parametrize("name", ROWS)
def test_no_code_acts_on_a_field_of_the_table(name: str, reads: Reads) -> None:
    assert reads.get(name, set()) - DO_NOT_ACT.get(name, set()) == set()


@pytest.mark.parametrize("name", [*ROWS, *INERT, *AT_THE_API_SERVER])
def test_every_name_is_a_declared_field(name: str) -> None:
    for kind in KINDS:
        parse_type(kind)
    struct, _, field = name.partition(".")
    assert field in struct_fields(struct)


@pytest.mark.parametrize(("name", "module"), AT_THE_API_SERVER.items())
def test_the_api_server_reads_the_others(name: str, module: str) -> None:
    assert f'"{name.partition(".")[2]}"' in (ROOT / module).read_text()
