"""How kubelets chose their network while they called CNI themselves: the first file that loads, bad ones skipped.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/network/cni/cni.go getDefaultCNINetwork
"""

from __future__ import annotations

from dataclasses import dataclass

from kubesim.cni.conf import NetworkConfigList
from kubesim.cni.conf_files import EXTENSIONS, conf_files, conf_list_from_any_file
from kubesim.errors import CniError


@dataclass(frozen=True, slots=True)
class Pick:
    """The network chosen, and the files passed over with the reason; without a network, the error."""

    network: NetworkConfigList | None = None
    path: str = ""
    skipped: tuple[tuple[str, str], ...] = ()
    error: str = ""


def get_default_cni_network(conf_dir: str) -> Pick:
    try:
        files = conf_files(conf_dir, EXTENSIONS)
    except CniError as error:
        return Pick(error=str(error))
    if not files:
        return Pick(error=f"No networks found in {conf_dir}")
    skipped: list[tuple[str, str]] = []
    for path in files:
        try:
            return Pick(conf_list_from_any_file(path), path, tuple(skipped))
        except CniError as error:
            skipped.append((path, str(error)))
    return Pick(skipped=tuple(skipped), error=f"No valid networks found in {conf_dir}")
