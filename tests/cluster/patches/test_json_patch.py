"""The three kinds of patches, as functions on JSON."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.cluster.patches.json_patch import PatchError, equal_json, json_patch, merge_patch
from kubesim.cluster.patches.strategic_merge import StrategicPatchError, strategic_merge_patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


class TestMergePatch:
    def test_merges_objects_and_replaces_other_values(self) -> None:
        document = {"a": {"x": 1, "y": 2}, "l": [1, 2]}
        assert merge_patch(document, {"a": {"y": None, "z": 3}, "l": [3]}) == {"a": {"x": 1, "z": 3}, "l": [3]}
        assert document == {"a": {"x": 1, "y": 2}, "l": [1, 2]}

    def test_nulls_inside_new_objects_are_dropped(self) -> None:
        assert merge_patch({}, {"a": {"b": None, "c": 1}}) == {"a": {"c": 1}}

    @given(OBJECTS, OBJECTS)
    def test_a_merge_patch_is_idempotent(self, document: dict[str, Any], patch: dict[str, Any]) -> None:
        once = merge_patch(document, patch)
        assert equal_json(merge_patch(once, patch), once)


class TestJsonPatch:
    def test_operations(self) -> None:
        document = {"a": {"b/c": 1}, "l": ["x", "y"]}
        operations: list[dict[str, Any]] = [
            {"op": "test", "path": "/a/b~1c", "value": 1},
            {"op": "add", "path": "/l/1", "value": "new"},
            {"op": "add", "path": "/l/-", "value": "last"},
            {"op": "remove", "path": "/l/0"},
            {"op": "copy", "from": "/a", "path": "/copy"},
            {"op": "move", "from": "/a/b~1c", "path": "/moved"},
            {"op": "replace", "path": "/missing", "value": "is added"},
        ]
        assert json_patch(document, operations) == {
            "a": {},
            "l": ["new", "y", "last"],
            "copy": {"b/c": 1},
            "moved": 1,
            "missing": "is added",
        }
        assert document == {"a": {"b/c": 1}, "l": ["x", "y"]}

    @pytest.mark.parametrize(
        "operation",
        [
            {"op": "remove", "path": "/none"},
            {"op": "test", "path": "/a", "value": True},
            {"op": "replace", "path": "/l/7", "value": 0},
            {"op": "add", "path": "/l/x", "value": 0},
            {"op": "add", "path": "/none/x", "value": 0},
            {"op": "frob", "path": "/a"},
            {"op": "add", "value": 0},
            {"op": "copy", "path": "/x"},
        ],
    )
    def test_patches_that_cannot_be_applied(self, operation: dict[str, Any]) -> None:
        with pytest.raises(PatchError):
            json_patch({"a": 1, "l": [1]}, [operation])

    @given(OBJECTS, OBJECTS)
    def test_a_patch_between_any_two_objects(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        operations = [{"op": "remove", "path": f"/{key}"} for key in old]
        operations += [{"op": "add", "path": f"/{key}", "value": value} for key, value in new.items()]
        assert equal_json(json_patch(old, operations), new)


def conditions(*types: str) -> list[dict[str, str]]:
    return [{"type": name, "status": "False"} for name in types]


class TestStrategicMergePatch:
    def patched(self, document: dict[str, Any], patch: dict[str, Any]) -> Any:
        return strategic_merge_patch("Pod", document, patch)

    def test_conditions_merge_by_type(self) -> None:
        pod = {"status": {"conditions": conditions("A", "B")}}
        patch = {"status": {"conditions": [{"type": "B", "status": "True"}]}}
        merged = self.patched(pod, patch)["status"]["conditions"]
        assert merged == [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]

    def test_the_order_in_the_patch_wins_and_other_items_keep_their_place(self) -> None:
        pod = {"status": {"conditions": conditions("Server", "A", "B")}}
        patch = {
            "status": {
                "$setElementOrder/conditions": [{"type": "B"}, {"type": "New"}, {"type": "A"}],
                "conditions": [{"type": "New", "status": "True"}],
            }
        }
        merged = self.patched(pod, patch)["status"]["conditions"]
        assert [condition["type"] for condition in merged] == ["Server", "B", "New", "A"]

    def test_an_order_without_a_patched_item_is_rejected(self) -> None:
        patch = {"status": {"$setElementOrder/conditions": [{"type": "A"}], "conditions": conditions("B")}}
        with pytest.raises(StrategicPatchError, match="doesn't match"):
            self.patched({"status": {"conditions": conditions("A")}}, patch)

    def test_directives_delete_items_and_replace_lists(self) -> None:
        pod = {"spec": {"volumes": [{"name": "a"}, {"name": "b"}]}}
        delete = {"spec": {"volumes": [{"name": "a", "$patch": "delete"}]}}
        assert self.patched(pod, delete) == {"spec": {"volumes": [{"name": "b"}]}}
        replace = {"spec": {"volumes": [{"$patch": "replace"}, {"name": "c"}]}}
        assert self.patched(pod, replace) == {"spec": {"volumes": [{"name": "c"}]}}

    def test_keys_that_are_not_retained_are_removed(self) -> None:
        pod = {"spec": {"volumes": [{"name": "a", "emptyDir": {}}]}}
        patch = {"spec": {"volumes": [{"name": "a", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]}}
        assert self.patched(pod, patch) == {"spec": {"volumes": [{"name": "a", "secret": {"secretName": "s"}}]}}

    def test_lists_without_a_merge_key_are_replaced(self) -> None:
        pod = {"status": {"containerStatuses": [{"name": "a"}, {"name": "b"}]}}
        patch = {"status": {"containerStatuses": [{"name": "b", "ready": True}]}}
        assert self.patched(pod, patch) == patch

    def test_node_addresses_merge_and_taints_do_not(self) -> None:
        node = {
            "spec": {"taints": [{"key": "a"}]},
            "status": {"addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "1"}]},
        }
        patch = {
            "spec": {"taints": [{"key": "b"}]},
            "status": {"addresses": [{"type": "InternalIP", "address": "2"}]},
        }
        assert strategic_merge_patch("Node", node, patch) == {
            "spec": {"taints": [{"key": "b"}]},
            "status": {"addresses": [{"type": "Hostname", "address": "n"}, {"type": "InternalIP", "address": "2"}]},
        }

    @given(st.permutations("abcd"), st.permutations("abcd"), st.integers(0, 4))
    def test_a_complete_order_is_followed_exactly(self, old: list[str], new: list[str], given: int) -> None:
        order = [{"type": name} for name in new]
        patch = {"status": {"$setElementOrder/conditions": order, "conditions": conditions(*new[:given])}}
        merged = self.patched({"status": {"conditions": conditions(*old)}}, patch)["status"]["conditions"]
        assert [condition["type"] for condition in merged] == list(new)
