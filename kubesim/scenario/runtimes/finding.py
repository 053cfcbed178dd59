"""Which runtimes there are: bundled ones, and plugins in the entry points of other distributions.

Entry points are only read for a name that is not bundled, because that takes 20 ms.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from kubesim.errors import KubesimError, UsageError

if TYPE_CHECKING:
    from kubesim.scenario.language.document import Spec
    from kubesim.scenario.runtimes.plugin import RuntimePlugin

GROUP = "kubesim.runtimes"
BUNDLED = ("simulated", "cni", "cri")
_IN_THE_NODE = ("simulated", "cni")  # parts of a simulated node, not plugins


def installed() -> dict[str, EntryPoint]:
    """Third-party runtimes, by name. A name that is bundled cannot be taken."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUNDLED}


def runtime_names() -> tuple[str, ...]:
    return (*BUNDLED, *sorted(installed()))


def unknown_runtime(name: str) -> str:
    """The problem with the name of a runtime; empty if there is none."""
    if name in BUNDLED:
        return ""
    if name in BUNDLED or name in (names := runtime_names()):
        return ""
    return f"there is no runtime {name}: use one of {', '.join(names)}, or install a distribution that provides it"


def is_in_the_node(name: str) -> bool:
    """Whether this runtime is a part of a simulated node, and not a plugin."""
    return name in _IN_THE_NODE


def plugin_class(name: str) -> type[RuntimePlugin]:
    """The plugin with this name. Raises UsageError."""
    if name == "cri":
        from kubesim.scenario.runtimes.cri import CriPlugin

        return CriPlugin
    entry = installed().get(name)
    if entry is None:
        raise UsageError(unknown_runtime(name))
    return _loaded(entry)


def _loaded(entry: EntryPoint) -> type[RuntimePlugin]:
    from kubesim.scenario.runtimes.plugin import RuntimePlugin

    try:
        found = entry.load()
    except Exception as error:  # third-party code
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"runtime {entry.name} ({entry.value}) cannot be loaded: {why}") from error
    if not (isinstance(found, type) and issubclass(found, RuntimePlugin)):
        wanted = "a subclass of kubesim.scenario.runtimes.RuntimePlugin"
        raise UsageError(f"runtime {entry.name} ({entry.value}) is not {wanted}")
    return found


def made_plugin(plugin: type[RuntimePlugin], spec: Spec) -> RuntimePlugin:
    """One for a run. Raises UsageError."""
    try:
        return plugin(spec)
    except KubesimError:
        raise
    except Exception as error:  # third-party code
        raise UsageError(f"runtime {spec.runtime} cannot be started: {type(error).__name__}: {error}") from error
