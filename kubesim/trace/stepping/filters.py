"""A filter of the stepper, to show only the records of some pods or of a node.

A filter consists of words: `web`, `pod=kube-system/dns*` (a name may be a glob; without a namespace it is in
`default`), `node=node-1`. All words must match.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from kubesim.errors import UsageError
from kubesim.trace.records import Record
from kubesim.values import value_object


@value_object
class RecordFilter:
    """A filter; `text` is the original text, and an empty pattern matches everything."""

    text: str
    pod: str = ""
    node: str = ""

    @staticmethod
    def parse(text: str) -> RecordFilter:
        """Parse a filter. Raises UsageError."""
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
        """Whether the filter matches. `node` is the record's node, even if the record itself does not name it."""
        if self.node and not fnmatchcase(node, self.node):
            return False
        if not self.pod:
            return True
        several = getattr(record, "pods", ())  # a snapshot records only the number of its pods
        pods = (record.pod, *several) if isinstance(several, tuple) else (record.pod,)
        return any(fnmatchcase(pod, self.pod) for pod in pods)
