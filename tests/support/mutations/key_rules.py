"""By scenario (its path below scenarios/ without the suffix): the rule that it shows, broken."""

from __future__ import annotations

from tests.support.mutations import Mutation, returns

KEY_RULES = {
    "crashloop": Mutation("kubesim.runtime.kuberuntime.act.manager:do_back_off", returns(None)),
}
