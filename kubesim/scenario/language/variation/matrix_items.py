"""`matrix`: several runs of one file that differ in their seed, their version or any other value."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from kubesim.features.table import Profile
from kubesim.scenario.language.strict import Strict, as_list, problem_at

MOST_CELLS = 1000
_RANGE = re.compile(r"(\d{1,9})\.\.(\d{1,9})\Z")
_PATH = r"[^\s.\[\]]+(?:\.[^\s.\[\]]+|\[[^\[\]]+\])*"
_VALUE_PATH = re.compile(rf"(?:(?P<kind>[A-Za-z.]+)/(?P<name>\S+)\s+)?(?P<path>{_PATH})\Z")


def read_seeds(value: Any) -> Any:
    """Accept `0..4` as a list of seeds."""
    if isinstance(value, str) and (found := _RANGE.match(value)):
        first, last = int(found[1]), int(found[2])
        if last - first >= MOST_CELLS:
            raise PydanticCustomError("matrix", "at most {most} seeds", {"most": MOST_CELLS})
        return tuple(range(first, last + 1))
    if isinstance(value, str):
        raise PydanticCustomError("matrix", "must be a list of numbers, or a range such as 0..4")
    return as_list(value)


def is_value_path(text: str) -> str:
    found = _VALUE_PATH.match(text)
    if found is None or (found["kind"] is None and not text.startswith("spec.")):
        problem = "must be a field such as spec.profile, or of an object: pod/web spec.containers[0].image"
        raise PydanticCustomError("matrix", "{text} {problem}", {"text": repr(text), "problem": problem})
    return text


ValuePath = Annotated[str, AfterValidator(is_value_path)]
Values = Annotated[tuple[Any, ...], BeforeValidator(as_list)]


class Matrix(Strict):
    """A run for each combination. `values` maps paths to lists. A path is `spec.kubeletConfiguration.maxPods`, or for
    an object of the file `pod/web spec.containers[0].image`."""

    seeds: Annotated[tuple[int, ...], BeforeValidator(read_seeds)] = ()  # `[1, 2, 3]`, or `0..4`
    profiles: Annotated[tuple[Profile, ...], BeforeValidator(as_list)] = ()  # versions of the kubelet: `[v1.30, v1.36]`
    # `{pod/web spec.containers[0].image: [nginx:1, nginx:2]}`
    values: dict[
        Annotated[str, AfterValidator(is_value_path)], Annotated[tuple[Any, ...], BeforeValidator(as_list)]
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _some_cells(self) -> Matrix:
        if not self.seeds and not self.profiles and not self.values and not self.model_fields_set:
            raise PydanticCustomError("matrix", "give seeds, profiles or values")
        for field in self.model_fields_set - {"values"}:
            self._check_values((field,), field, getattr(self, field))
        for path, values in self.values.items():
            self._check_values(("values", path), path, values)
        for path, own in (("spec.seed", self.seeds), ("spec.profile", self.profiles)):
            if path in self.values and own:
                problem = f"{path} is also given by {path.removeprefix('spec.')}s: leave one out"
                raise problem_at(("values", path), problem)
        cells = max(1, len(self.seeds)) * max(1, len(self.profiles))
        for values in self.values.values():
            cells *= len(values)
        if cells > MOST_CELLS:
            problem = "{cells} runs; a matrix has at most {most}"
            raise PydanticCustomError("matrix", problem, {"cells": cells, "most": MOST_CELLS})
        return self

    def _check_values(self, path: tuple[str, ...], name: str, values: tuple[Any, ...]) -> None:
        if not values:
            raise problem_at(path, f"{name} has no values")
        written = [repr(value) for value in values]
        twice = next((value for number, value in enumerate(written) if value in written[:number]), None)
        if twice is not None:
            raise problem_at(path, f"{name} has {twice} twice")
