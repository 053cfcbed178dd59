"""Whether a kubelet of another version starts with what a scenario sets: checked when the file is loaded."""

from __future__ import annotations

from kubesim.errors import GateError
from kubesim.kubeletconfig.decode import ConfigurationProblem
from kubesim.scenario.language.document import Spec


def why_not_upgraded(spec: Spec, profile: str) -> str:
    """The reason why a kubelet of this version would not start with the gates and the configuration; empty: it does."""
    try:
        spec.kubelet_configuration.check(spec.gates_of(profile))
    except (GateError, ConfigurationProblem) as problem:
        return f"the kubelet {profile} would not start: {problem}"
    return ""
