"""A sink that writes the log of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubesim.trace.klog.causes import Causes
from kubesim.trace.klog.line import Ref
from kubesim.trace.klog.lines import lines
from kubesim.trace.records import Record
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.trace.klog.logger import KubeletLogger


class KlogSink:
    """Logs the lines of every record at its virtual time. With several nodes, each line names its node."""

    def __init__(self, logger: KubeletLogger, start: int, *, several_nodes: bool = False) -> None:
        self._logger = logger
        self._start = start
        self._several_nodes = several_nodes
        self._causes = Causes()

    def record(self, record: Record) -> None:
        causes = self._causes
        causes.see(record)
        for line in lines(record, causes):
            if self._several_nodes and "node" not in line.pairs and (node := causes.node(record)):
                line = replace(line, pairs={**line.pairs, "node": Ref(node)})
            self._logger.put(line, self._start + record.t)
