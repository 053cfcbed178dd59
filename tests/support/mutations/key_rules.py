"""By scenario (its path below scenarios/ without the suffix): the rule that it shows, broken."""

from __future__ import annotations

from tests.support.mutations import Mutation, returns
from tests.support.mutations.incidents_a import INCIDENTS_A
from tests.support.mutations.incidents_b import INCIDENTS_B
from tests.support.mutations.language_rules import LANGUAGE_RULES

KEY_RULES = {
    **{f"incidents/{name}": rule for name, rule in INCIDENTS_A.items()},
    **LANGUAGE_RULES,
    **{f"incidents/{name}": rule for name, rule in INCIDENTS_B.items()},
    "crashloop": Mutation("kubesim.runtime.kuberuntime.act.manager:do_back_off", returns(None)),
}
