"""Table rows of Services, EndpointSlices, ConfigMaps, Secrets, claims and volumes.

Mirrors: pkg/printers/internalversion printers.go printService, printEndpointSlice, printPersistentVolumeClaim, ...
"""

from __future__ import annotations

from kubesim.cluster.tables.table import Cell, JsonObject, TableContext, TableRules, columns, dig
from kubesim.cluster.tables.texts import NONE, UNSET, access_modes, few, format_labels

_LOAD_BALANCER_WIDTH = 16
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_IS_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _service(obj: JsonObject, context: TableContext) -> list[Cell]:
    addresses = dig(obj, "spec.clusterIPs", ())
    ports = ",".join(_port(port) for port in dig(obj, "spec.ports", ()))
    return [
        _name(obj),
        dig(obj, "spec.type", ""),
        addresses[0] if addresses else NONE,
        _external_address(obj, context.wide),
        ports or NONE,
        context.age(obj),
        format_labels(dig(obj, "spec.selector")),
    ]


def _port(port: JsonObject) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _external_address(obj: JsonObject, wide: bool) -> str:
    external = dig(obj, "spec.externalIPs", ())
    match dig(obj, "spec.type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            balancers = {
                each.get("ip") or each.get("hostname", "") for each in dig(obj, "status.loadBalancer.ingress", ())
            }
            text = ",".join(sorted(balancers - {""}))
            if not wide and len(text) > _LOAD_BALANCER_WIDTH:
                text = text[: _LOAD_BALANCER_WIDTH - 3] + "..."
            return ",".join([*([text] if text else []), *external]) or "<pending>"
        case "ExternalName":
            return str(dig(obj, "spec.externalName", ""))
    return "<unknown>"


def _endpoint_slice(obj: JsonObject, context: TableContext) -> list[Cell]:
    ports = [str(each["port"] if each.get("port") is not None else each.get("name", "*"))
             for each in obj.get("ports") or ()]  # fmt: skip
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    return [_name(obj), obj.get("addressType", ""), few(ports), few(addresses), context.age(obj)]


def _config_map(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), context.age(obj)]


def _secret(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or {}), context.age(obj)]


def class_of(obj: JsonObject) -> str:
    annotations = dig(obj, "metadata.annotations", {})
    return str(annotations[_BETA_CLASS] if _BETA_CLASS in annotations else dig(obj, "spec.storageClassName", ""))


def _phase(obj: JsonObject) -> str:
    return "Terminating" if dig(obj, "metadata.deletionTimestamp") else dig(obj, "status.phase", "")


def _claim(obj: JsonObject, context: TableContext) -> list[Cell]:
    volume = dig(obj, "spec.volumeName", "")
    bound = [dig(obj, "status.capacity.storage", "0"), access_modes(dig(obj, "status.accessModes"))]
    return [
        _name(obj),
        _phase(obj),
        volume,
        *(bound if volume else ("", "")),
        class_of(obj),
        dig(obj, "spec.volumeAttributesClassName", UNSET),
        context.age(obj),
        dig(obj, "spec.volumeMode", UNSET),
    ]


def _volume(obj: JsonObject, context: TableContext) -> list[Cell]:
    claim = dig(obj, "spec.claimRef")
    return [
        _name(obj),
        dig(obj, "spec.capacity.storage", "0"),
        access_modes(dig(obj, "spec.accessModes")),
        dig(obj, "spec.persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        class_of(obj),
        dig(obj, "spec.volumeAttributesClassName", UNSET),
        dig(obj, "status.reason", ""),
        context.age(obj),
        dig(obj, "spec.volumeMode", UNSET),
    ]


def is_default_class(obj: JsonObject) -> bool:
    annotations = dig(obj, "metadata.annotations", {})
    return any(annotations.get(name) == "true" for name in _IS_DEFAULT)


def _storage_class(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [
        _name(obj) + (" (default)" if is_default_class(obj) else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        context.age(obj),
    ]


def _attachment(obj: JsonObject, context: TableContext) -> list[Cell]:
    fields = [dig(obj, f"spec.{path}", "") for path in ("attacher", "source.persistentVolumeName", "nodeName")]
    return [_name(obj), *fields, dig(obj, "status.attached", False), context.age(obj)]


def _csi_node(obj: JsonObject, context: TableContext) -> list[Cell]:
    return [_name(obj), len(dig(obj, "spec.drivers", ())), context.age(obj)]


def _csi_driver(obj: JsonObject, context: TableContext) -> list[Cell]:
    tokens = dig(obj, "spec.tokenRequests")
    return [
        _name(obj),
        dig(obj, "spec.attachRequired", True),
        dig(obj, "spec.podInfoOnMount", False),
        dig(obj, "spec.storageCapacity", False),
        UNSET if tokens is None else ",".join(each.get("audience", "") for each in tokens),
        dig(obj, "spec.requiresRepublish", False),
        ",".join(dig(obj, "spec.volumeLifecycleModes", ())) or NONE,
        context.age(obj),
    ]


DATA_KINDS = {
    "Service": TableRules(columns("Name,Type,Cluster-IP,External-IP,Port(s),Age", "Selector"), _service),
    "EndpointSlice": TableRules(columns("Name,AddressType,Ports,Endpoints,Age"), _endpoint_slice),
    "ConfigMap": TableRules(columns("Name,Data,Age"), _config_map),
    "Secret": TableRules(columns("Name,Type,Data,Age"), _secret),
    "PersistentVolumeClaim": TableRules(
        columns("Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age", "VolumeMode"), _claim
    ),
    "PersistentVolume": TableRules(
        columns(
            "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age",
            "VolumeMode",
        ),
        _volume,
    ),
    "StorageClass": TableRules(
        columns("Name,Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"), _storage_class
    ),
    "VolumeAttachment": TableRules(columns("Name,Attacher,PV,Node,Attached:boolean,Age"), _attachment),
    "CSINode": TableRules(columns("Name,Drivers:integer,Age"), _csi_node),
    "CSIDriver": TableRules(
        columns(
            "Name,AttachRequired:boolean,PodInfoOnMount:boolean,StorageCapacity:boolean,TokenRequests,"
            "RequiresRepublish:boolean,Modes,Age"
        ),
        _csi_driver,
    ),
}
