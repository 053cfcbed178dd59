"""A filter of the stepper: only the records of some pods, or of a node.

Written as words: `web`, `pod=kube-system/dns*` (a name may be a glob; one without a namespace is of `default`),
`node=node-1`. Several words must all hold.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from kubesim.errors import UsageError
from kubesim.trace.records import Record
from kubesim.values import value_object


@value_object
class RecordFilter:
    """`text` as it was written; an empty pattern lets everything through."""

    text: str
    pod: str = ""
    node: str = ""

    @staticmethod
    def parse(text: str) -> RecordFilter:
        """Raises UsageError."""
        parts = {"pod": "", "node": ""}
        for word in text.split():
            field, equals, value = word.partition("=")
            if not equals:
                field, value = "pod", word
            if field not in parts or not value:
                raise UsageError(f"filter {text!r}: write a pod, pod=NAME or node=NAME")
            parts[field] = value
        pod = parts["pod"]
        return RecordFilter(" ".join(text.split()), pod if "/" in pod or not pod else f"default/{pod}", parts["node"])

    def lets_through(self, record: Record, node: str) -> bool:
        """`node` is the one that the record is about, also if the record itself does not name it."""
        if self.node and not fnmatchcase(node, self.node):
            return False
        if not self.pod:
            return True
        several = getattr(record, "pods", ())  # a snapshot has only their number
        pods = (record.pod, *several) if isinstance(several, tuple) else (record.pod,)
        return any(fnmatchcase(pod, self.pod) for pod in pods)
