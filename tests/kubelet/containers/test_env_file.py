"""One variable of an env file.

Mirrors: pkg/kubelet/util/env/env_util_test.go TestParseEnv: all 48 rows. Rows with `KEY1='...'` before another
variable contain only the value here.
"""

from __future__ import annotations

import pytest

from kubesim.kubelet.containers.env_file import EnvFileError, parse_env


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("foo#notcomment", id="value with embedded #"),
        pytest.param("   foo bar   ", id="value with leading and trailing whitespace"),
        pytest.param("foo=bar=baz", id="multiple = in value"),
        pytest.param("$VAR", id="value contains $VAR, should not expand"),
        pytest.param("${VAR}", id="value contains ${VAR}, should not expand"),
        pytest.param("$HOME", id="value contains $HOME, should not expand"),
        pytest.param("foo$BAR-${HOME}_$", id="value contains mixed shell variable syntax, should not expand"),
        pytest.param("", id="empty quotes preserve literal content"),
        pytest.param("  foo  bar  ", id="quotes preserve all literal content including spaces"),
        pytest.param("!@#$%^&*()_+-=[]{}|;:,.<>?/", id="special characters in value"),
        pytest.param(r"line1\nline2\tline3", id="newlines and tabs in value"),
        pytest.param("中文 Español Français 🌍", id="unicode characters in value"),
        pytest.param(r"path\\to\\file", id="backslashes in value"),
        pytest.param('value with "nested" quotes', id="double quotes within value quotes"),
        pytest.param("   ", id="only whitespace in quotes"),
        pytest.param('{"name": "test", "value": 123, "nested": {"key": "val"}}', id="complex JSON-like value"),
        pytest.param("https://example.com/path?query=value&another=param", id="URL with special characters"),
        pytest.param('<root><element attr="value">content</element></root>', id="XML-like content"),
        pytest.param("SGVsbG8gV29ybGQh", id="base64 encoded data"),
        pytest.param(r"^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\\.[a-zA-Z]{2,}$", id="regex pattern"),
        pytest.param("one\n  two with spaces\n    three with more", id="multi-line value with spaces"),
        pytest.param("1: !@#$%^&*()\n2: []{}|;\n3: \\\\t", id="multi-line value with special characters"),
        pytest.param("First\nSecond $VAR ${HOME}\n3    and    \\\\t", id="multi-line value with mixed content"),
        pytest.param("line1\n\nline3\n\nline5", id="multi-line value with empty lines"),
        pytest.param("line1\nline2\nline3   ", id="multi-line value with trailing spaces"),
        pytest.param("中文 第一行\nFrançais 🌍\nчетвертая строка", id="multi-line value with unicode characters"),
        pytest.param('func main() {\n    fmt.Println(\\"Hi!\\")\n}', id="multi-line value with code-like content"),
        pytest.param('{\n  "name": "test",\n  "array": [1, 2]\n}', id="multi-line value with JSON content"),
        pytest.param("name: test\nnested:\n  array:\n    - 1", id="multi-line value with YAML content"),
        pytest.param("-----BEGIN A-----\nb3Blbn\n-----END A-----", id="multi-line value with Cert"),
    ],
)
def test_a_value_is_the_text_between_its_quotes(value: str) -> None:
    assert parse_env(f"KEY1='{value}'\nKEY2='bar'\n", "KEY1") == value


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        pytest.param("   KEY1='val1'\n\t\tKEY2='val2'\nKEY3='val3'\n", "KEY2", "val2", id="ignore leading whitespace"),
        pytest.param(
            "# comment\n\nKEY1='foo'\n   # another comment\n\nKEY2='bar'\n",
            "KEY2",
            "bar",
            id="ignore blank and comment lines",
        ),
        pytest.param("KEY1='foo'\nKEY2='bar'\n", "KEY3", "", id="key not found returns empty"),
        pytest.param(
            "# 1\n\n# 2\nKEY1='foo'\n\n# 3\nKEY2='bar'\n", "KEY2", "bar", id="multiple comments and blank lines"
        ),
        pytest.param("KEY1='foo'\nKEY2=''\nKEY3='bar'\n", "KEY2", "", id="empty value"),
        pytest.param("KEY1='foo'\nKEY2='bar' # comment\n", "KEY2", "bar", id="comment after key value pair"),
        pytest.param("KEY1=''\nKEY2=''\nKEY3='bar'\n", "KEY2", "", id="empty single quotes"),
        # Not in the table, but in upstream's code.
        pytest.param("KEY1= 'a'\nKEY2='b'\n", "KEY2", "b", id="whitespace after = makes a variable empty"),
        pytest.param("KEY1= 'a'\nKEY1='b'\n", "KEY1", "", id="an empty variable ends the search"),
        pytest.param("KEY1='a\r\nb'\r\nKEY2='c'\r\n", "KEY1", "a\nb", id="a carriage return belongs to the line's end"),
        pytest.param("KEY1='a'\nrubbish\n", "KEY1", "a", id="lines after the variable are not examined"),
        pytest.param("KEY1='a'\nKEY1='b'\n", "KEY1", "a", id="the first one counts"),
    ],
)
def test_the_line_of_a_variable(text: str, key: str, expected: str) -> None:
    assert parse_env(text, key) == expected


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        pytest.param(
            "KEY1 = 'val1'\nKEY2=   'val2'\n",
            "KEY2",
            "at line 1: whitespace before '=' is not allowed",
            id="whitespace around = and not allowed",
        ),
        pytest.param(
            "KEY1 ='foo'\n",
            "KEY1",
            "at line 1: whitespace before '=' is not allowed",
            id="key with whitespace (should error)",
        ),
        pytest.param(
            "='foo'\nKEY2='bar'\n", "KEY2", "at line 1: empty variable name", id="key is empty (should error)"
        ),
        pytest.param(
            "='foo'\nKEY2='bar'",
            "KEY2",
            "at line 1: empty variable name",
            id="missing key triggers error with line number",
        ),
        pytest.param(
            "KEY1='foo'\nINVALID_LINE\nKEY2='bar'\n",
            "KEY2",
            "at line 2: missing '='",
            id="invalid line triggers error with line number",
        ),
        pytest.param(
            "KEY1='foo'\nKEY2=bar\n",
            "KEY2",
            "at line 2: value must be enclosed in single quotes",
            id="unquoted value triggers error",
        ),
        pytest.param(
            "KEY1='foo'\nKEY2=\"bar\"\n",
            "KEY2",
            "at line 2: value must be enclosed in single quotes",
            id="double quoted value triggers error",
        ),
        pytest.param(
            "KEY1='foo''bar'",
            "KEY1",
            "at line 1: unexpected content after closing quote",
            id="value with multiple adjacent quoted strings",
        ),
        pytest.param(
            "KEY1='foo'\nKEY2='bar\nKEY3='baz'\n",
            "KEY2",
            "at line 3: unexpected content after closing quote",
            id="unclosed single quote triggers error",
        ),
        pytest.param(
            "KEY1='foo'\nKEY2='bar'baz\n",
            "KEY2",
            "at line 2: unexpected content after closing quote",
            id="content after closing quote triggers error",
        ),
        pytest.param(
            "KEY1='value with \\'nested\\' quotes'\n",
            "KEY1",
            "at line 1: unexpected content after closing quote",
            id="single quotes within value quotes",
        ),
        # Not in the table, but in the code.
        pytest.param("A='1'\nB='2\n3\n", "B", "starting at line 2: unclosed single quote", id="never closed"),
    ],
)
def test_invalid_env_files(text: str, key: str, message: str) -> None:
    with pytest.raises(EnvFileError) as refused:
        parse_env(text, key)
    assert str(refused.value) == f"invalid environment variable format {message}"


def test_a_line_has_at_most_64_kib_with_its_end() -> None:
    longest = 64 * 1024 - len("A=''") - 1
    assert parse_env(f"A='{'x' * longest}'\n", "A") == "x" * longest
    with pytest.raises(EnvFileError, match="token too long"):
        parse_env(f"A='{'x' * (longest + 1)}'\n", "A")
