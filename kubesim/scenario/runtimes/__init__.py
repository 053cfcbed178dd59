"""Runtimes beside the simulated one: the interface of a third-party runtime, how it is found, and runtime `cri`."""

from kubesim.scenario.runtimes.plugin import NodeSetting, NodeSupplies, RuntimePlugin

__all__ = ["NodeSetting", "NodeSupplies", "RuntimePlugin"]
