"""The iteration order of a small Go map."""

from __future__ import annotations

from kubesim.conformance.lives.go_map import GoMap


def test_a_new_key_uses_the_slot_of_a_deleted_one() -> None:
    map: GoMap[str, int] = GoMap()
    for number, key in enumerate("abc"):
        map[key] = number
    map["a"] = 7
    assert (list(map), map.values()) == (["a", "b", "c"], [7, 1, 2])
    assert map.pop("a") == 7
    del map["b"]
    assert list(map) == ["c"]
    map["d"] = 3
    map["a"] = 4
    map["e"] = 5
    assert (list(map), map.values()) == (["d", "a", "c", "e"], [3, 4, 2, 5])
    assert (len(map), map.get("b")) == (4, None)
