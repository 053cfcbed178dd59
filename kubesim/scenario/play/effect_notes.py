"""`EffectNotes`: records fields and kinds that have no effect in kubesim as notes of the trace, each once per run.

The objects of the scenario are examined when a run begins. Static pods, and the pods of a live node, are examined when
the kubelet reads them. Pods of controllers are not examined, because their template was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from kubesim.api.effects.findings import Findings, object_named
from kubesim.api.effects.scan import fields_without_effect
from kubesim.api.pod import Pod
from kubesim.scenario.language.document import Spec
from kubesim.scenario.load.without_effect import STORED, configuration_line, survey
from kubesim.trace import Recorder
from kubesim.trace.records import Note
from kubesim.values import part


@part
class EffectNotes:
    recorder: Recorder
    lines: list[str] = field(default_factory=list)
    _known: dict[str, None] = field(default_factory=dict)  # path patterns that were reported
    _pods: dict[str, None] = field(default_factory=dict)  # uids of the examined objects

    def begin(self, spec: Spec, *, has_port: bool) -> None:
        """Report the objects of the scenario. `has_port`: its kubelets serve their port."""
        stored, findings = survey(spec)
        if stored:
            self._note([STORED + ", ".join(stored)])
        self._found(findings)
        self._note(configuration_line(spec, has_port=has_port))

    def received(self, pods: Iterable[Pod]) -> None:
        """Report pods that a kubelet has read from another source."""
        findings = Findings(self._known)
        for pod in pods:
            if pod.metadata.uid not in self._pods:
                self._pods[pod.metadata.uid] = None
                named = object_named("Pod", pod.metadata.namespace, pod.metadata.name)
                findings.add(fields_without_effect("Pod", pod.to_json()), named)
        self._found(findings)

    def _found(self, findings: Findings) -> None:
        self._known.update(dict.fromkeys(findings.patterns()))
        self._note(findings.lines())

    def _note(self, lines: list[str]) -> None:
        self.lines += lines
        if self.recorder.on:
            for line in lines:
                self.recorder.record(Note(text=line))
