"""The table rules of each kind. A kind without rules has name and age, like a custom resource."""

from __future__ import annotations

from kubesim.cluster.tables.cluster_kinds import CLUSTER_KINDS, NAME_AND_AGE
from kubesim.cluster.tables.data_kinds import DATA_KINDS
from kubesim.cluster.tables.pods import POD
from kubesim.cluster.tables.policy_kinds import POLICY_KINDS
from kubesim.cluster.tables.table import TableRules
from kubesim.cluster.tables.workloads import WORKLOADS

_RULES = {"Pod": POD, **WORKLOADS, **CLUSTER_KINDS, **DATA_KINDS, **POLICY_KINDS}


def table_of(kind: str) -> TableRules:
    return _RULES.get(kind, NAME_AND_AGE)
