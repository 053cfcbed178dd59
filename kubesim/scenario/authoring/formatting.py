"""A conservative formatter of scenario files: it changes the layout, but no values or comments.

- Two spaces for each level, also before the dash of a list in a mapping; one space after a dash.
- A document begins with apiVersion, kind, metadata and spec. All other fields keep their order.
- No spaces at the end of a line, one empty line at most, one newline at the end, `---` between documents only.

Flow-style values and multi-line texts and lists are only moved as a whole. The result is parsed again: if a value or a
comment differs, the text is returned unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kubesim.errors import InputError
from kubesim.golang.yaml_nodes import YamlNode, documents
from kubesim.scenario.load.yaml_source import MAX_DEPTH, read_documents
from kubesim.values import mutable, replace

FIRST_KEYS = ("apiVersion", "kind", "metadata", "spec")
STEP = 2
_SEPARATOR = re.compile(r"^---(\s.*)?$")
_DASH = re.compile(r"-( +|$)")


@mutable
class _Line:
    """A line of a document. `indent` is its new indentation; None if no block begins in the line: then it moves with
    the line before it. Literal lines belong to a block text, in which spaces matter."""

    text: str
    indent: int | None = None
    literal: bool = False

    @property
    def old_indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def is_comment(self) -> bool:
        return not self.literal and self.text.lstrip().startswith("#")

    @property
    def is_blank(self) -> bool:
        return not self.literal and not self.text.strip()


def format_text(text: str, source: str) -> str:
    """The text in the usual layout. Raises InputError if it is not YAML, or has a form that cannot be preserved."""
    read_documents(text, source, keep_last=True)  # raises InputError for invalid YAML
    if text.lstrip().startswith("{"):
        return text  # JSON is written by programs
    pieces = [_formatted(piece) for piece in _split(text.replace("\r\n", "\n"))]
    result = "\n---\n".join(piece for piece in pieces if piece.strip()) + "\n"
    if _content(result) != _content(text):
        raise InputError(source, "cannot be formatted without changing its content: leave it as it is")
    return result


def _content(text: str) -> tuple[list[object], list[str]]:
    """The values and the comments of a text."""
    values = [document.value for document in read_documents(text, "", keep_last=True)]
    return values, sorted(line.strip() for line in text.splitlines() if line.lstrip().startswith("#"))


def _split(text: str) -> Iterator[str]:
    """The documents, without the separator lines between them."""
    lines = text.split("\n")
    own: list[str] = []
    literal = _literal_lines(text)
    for number, line in enumerate(lines):
        found = None if number in literal else _SEPARATOR.match(line)
        if found is None:
            own.append(line)
            continue
        yield "\n".join(own)
        own = [found[1].strip()] if (found[1] or "").strip() else []
    yield "\n".join(own)


def _literal_lines(text: str) -> set[int]:
    """The numbers (from 0) of the lines inside block scalars and quoted texts."""
    found: set[int] = set()
    for root in documents(text, MAX_DEPTH):
        for node in _all(root):
            if node.kind == "scalar":
                begin, end = node.event.start_mark, node.event.end_mark
                # A block scalar ends at the beginning of the line after it.
                found.update(range(begin.line + 1, end.line + (1 if end.column else 0)))
    return found


def _all(node: YamlNode) -> Iterator[YamlNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _formatted(text: str) -> str:
    literal = _literal_lines(text)
    lines = [_Line(line, literal=number in literal) for number, line in enumerate(text.split("\n"))]
    for root in documents(text, MAX_DEPTH):
        _set_indents(root, 0, lines)
        lines = _ordered(root, _indented(lines))
    return "\n".join(_tidy(lines)).strip("\n")


def _set_indents(node: YamlNode, column: int, lines: list[_Line]) -> None:
    """Set the new indentation of each line in which a key or dash of a block collection begins."""
    if node.kind == "mapping" and not node.event.flow_style:
        for key, value in node.pairs():
            _begin(lines, (key.position[0] - 1, key.position[1] - 1), column)
            _set_indents(value, column + STEP, lines)
    elif node.kind == "sequence" and not node.event.flow_style:
        dash = node.event.start_mark.column
        for item in node.children:
            _begin(lines, _dash_of(item, dash, lines), column)
            _set_indents(item, column + STEP, lines)


def _dash_of(item: YamlNode, column: int, lines: list[_Line]) -> tuple[int, int]:
    """The position of an item's dash, which is in the line of the item or before it."""
    line = item.event.start_mark.line
    while line > 0 and lines[line].text[column : column + 1] != "-":
        line -= 1
    return line, column


def _begin(lines: list[_Line], position: tuple[int, int], column: int) -> None:
    """Set the indentation of the line that begins at `position` (line and column, from 0)."""
    line = lines[position[0]]
    if line.indent is None and line.old_indent == position[1]:
        line.indent = column


def _indented(lines: list[_Line]) -> list[_Line]:
    """The lines with their new indentation."""
    moved: list[_Line] = []
    pending: list[_Line] = []
    shift = 0
    for line in lines:
        if line.indent is not None:
            shift = line.indent - line.old_indent
            text = _one_space_after_dashes(line.text.strip(), line.indent)
            moved += [_Line(_comment_at(comment.text, line.indent)) for comment in pending] + [_Line(text)]
            pending = []
        elif line.is_comment or line.is_blank:
            pending.append(line)  # moves with the next line
        else:
            moved += pending
            pending = []
            moved.append(replace(line, text=_shifted(line.text, shift)))
    return moved + [_Line(_comment_at(line.text, min(line.old_indent, 0))) for line in pending]


def _comment_at(text: str, indent: int) -> str:
    return " " * indent + text.strip() if text.strip() else ""


def _one_space_after_dashes(text: str, indent: int) -> str:
    dashes = ""
    while (found := _DASH.match(text)) is not None and text != "-":
        dashes, text = dashes + "- ", text[found.end() :]
    return " " * indent + dashes + text


def _shifted(text: str, shift: int) -> str:
    if not text.strip():
        return text
    own = len(text) - len(text.lstrip(" "))
    return " " * max(0, own + shift) + text.lstrip(" ")


def _ordered(root: YamlNode, lines: list[_Line]) -> list[_Line]:
    """The keys of the document in the usual order, each with the comments above it."""
    if root.kind != "mapping" or root.event.flow_style:
        return lines
    starts = [number for number, line in enumerate(lines) if _is_key(line)]
    names = [lines[number].text.partition(":")[0].strip("\"'") for number in starts]
    wanted = sorted(range(len(names)), key=lambda n: FIRST_KEYS.index(names[n]) if names[n] in FIRST_KEYS else 99)
    if wanted == list(range(len(names))):
        return lines
    # The comment before the first key describes the whole document.
    begins = [starts[0], *(_with_comments(lines, start) for start in starts[1:])]
    ends = [*begins[1:], len(lines)]
    return lines[: starts[0]] + [line for n in wanted for line in lines[begins[n] : ends[n]]]


def _is_key(line: _Line) -> bool:
    return not line.literal and not line.is_comment and not line.is_blank and line.text[0] not in " -}]"


def _with_comments(lines: Sequence[_Line], start: int) -> int:
    while lines[start - 1].is_comment and not lines[start - 1].text.startswith(" "):
        start -= 1
    return start


def _tidy(lines: Sequence[_Line]) -> Iterator[str]:
    """The lines without trailing spaces and consecutive empty lines."""
    empty = False
    for line in lines:
        text = line.text if line.literal else line.text.rstrip()
        if text.strip() or line.literal or not empty:
            yield text
        empty = not text.strip()
