"""`$(NAME)` in the values of variables and in commands; texts larger than a call to the runtime."""

from __future__ import annotations

import tracemalloc

import pytest

from kubesim.runtime.expansion import MAX_MESSAGE, MessageTooLarge, check_message, expand, references


@pytest.mark.parametrize(
    ("text", "expanded"),
    [("a$(A)b", "a1b"), ("$$(A) $$", "$(A) $"), ("$(B)$(", "$(B)$("), ("$(A)$(A)", "11"), ("$A", "$A")],
)
def test_references(text: str, expanded: str) -> None:
    assert expand(text, {"A": "1"}) == expanded
    assert references("$(A)$$(B)$(C)") == ["A", "C"]


def test_a_text_that_is_too_large_is_not_created() -> None:
    variables = {"A": "x" * (1 << 20)}
    tracemalloc.start()
    with pytest.raises(MessageTooLarge) as problem:
        expand("$(A)" * 100_000, variables)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_MESSAGE
    size = (1 << 20) * 100_000 + 400_000
    assert problem.value.message == f"grpc: received message larger than max ({size} vs. 16777216)"


def test_variables_and_command_lines_count_together() -> None:
    env = [("A", "x" * (8 << 20))]
    check_message(env)
    with pytest.raises(MessageTooLarge):
        check_message(env, ("echo", "$(A)", "$(A)"))
