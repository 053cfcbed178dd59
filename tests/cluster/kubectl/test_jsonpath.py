"""JSONPath templates; the cases are adapted from client-go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.kubectl.jsonpath import JsonPath, JsonPathError

STORE: dict[str, Any] = {
    "name": "jsonpath",
    "book": [
        {"category": "reference", "author": "Rees", "price": 8.95},
        {"category": "fiction", "author": "Waugh", "price": 12.99},
        {"category": "fiction", "author": "Melville", "isbn": "0-553", "price": 8.99},
    ],
    "bicycle": [{"color": "red", "new": True}, {"color": "green", "new": False}],
    "labels": {"engineer.example.com/x": 10, "k8s-app": 20},
    "employees": [{"name": "a", "level": 1}, {"name": "b", "level": 2}, {"name": "c", "level": 3}],
    "none": None,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("hello {.name}!", "hello jsonpath!"),
        ("{@.name}", "jsonpath"),
        ('{"quote}"}', "quote}"),
        ("{'a\\'b'}", "a'b"),
        ("{$.book[0].author}", "Rees"),
        ("{.book[-1].author}", "Melville"),
        ("{.book[*].author}", "Rees Waugh Melville"),
        ("{.book[0:2].author}", "Rees Waugh"),
        ("{.book[0:3:2].author}", "Rees Melville"),
        ("{.book[:1].author}", "Rees"),
        ("{.book[-2:].author}", "Waugh Melville"),
        ("{.book[0,2].author}", "Rees Melville"),
        ("{.bicycle[0]['color','new']}", "red true"),
        ("{..author}", "Rees Waugh Melville"),
        ("{.book[?(@.isbn)].author}", "Melville"),
        ("{.book[?(@.price>8.98)].price}", "12.99 8.99"),
        ("{.book[?(@.category!='fiction')].author}", "Rees"),
        ('{.book[?(@.author=="Waugh")].price}', "12.99"),
        ("{.bicycle[?(@.new==true)].color}", "red"),
        ("{.employees[?(@.level>=2)].name}", "b c"),
        ("{.labels.engineer\\.example\\.com/x}", "10"),
        ("{.labels['k8s-app']}", "20"),
        ("{.bicycle[0]}", '{"color":"red","new":true}'),
        ("{.nope}{.nope[0]}{.nope.deeper}", ""),
        ("{.none}", "null"),
        ('{range .employees[*]}{.name}{"\\t"}{.level}{"\\n"}{end}', "a\t1\nb\t2\nc\t3\n"),
        ('{range .nope[*]}{.name}{end}after', "after"),
        ('{range .bicycle[*]}[{range .nope[*]}x{end}{.color}]{end}', "[red][green]"),
    ],
)  # fmt: skip
def test_a_template(template: str, text: str) -> None:

    assert JsonPath(template).text(STORE) == text


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{.book", "unclosed action"),
        ("{.book[0}", "unterminated array"),
        ("{.book[x]}", "invalid array index x"),
        ("{.book[5]}", "array index out of bounds: index 5, length 3"),
        ("{.book[2:1]}", "starting index 2 is greater than ending index 1"),
        ("{.name[0]}", "is not array or slice"),
        ("{nope .name}", "unrecognized identifier nope"),
        ("{end}", "not in range, nothing to end"),
        ('{"x}', "unterminated quoted string"),
        ("{.book[?(@.price>1]}", "unterminated filter"),
        ("{.book[?(@.author>1)]}", "incompatible types for comparison"),
        ("{.book[?(@.author=!1)]}", "unrecognized filter operator"),
        ("{*}", "unrecognized character in action"),
    ],
)
def test_an_error_in_a_template(template: str, problem: str) -> None:
    with pytest.raises(JsonPathError) as caught:
        JsonPath(template).text(STORE)
    assert problem in str(caught.value)
