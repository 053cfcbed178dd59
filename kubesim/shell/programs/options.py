"""getopt-style command lines: short options, clustered or separate, long options, operands."""

from __future__ import annotations

from dataclasses import field

from kubesim.values import mutable


@mutable
class ParsedOptions:
    """The given options, with the last value of each (empty if it takes none)."""

    values: dict[str, str] = field(default_factory=dict)
    operands: list[str] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)


def parse_options(
    argv: list[str], with_value: str = "", long_with_value: tuple[str, ...] = (), *, mixed: bool = True
) -> ParsedOptions:
    """Parse a command line without its first word. Without `mixed`, the first operand ends the options."""
    options = ParsedOptions()
    words = iter(argv[1:])
    for word in words:
        if word == "--":
            options.operands.extend(words)
        elif word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name in long_with_value:
                value = next(words, "")
            options.values[name] = value
        elif word.startswith("-") and len(word) > 1:
            for index, letter in enumerate(word[1:], 2):
                if letter in with_value:
                    options.values[letter] = word[index:] or next(words, "")
                    break
                options.values[letter] = ""
        else:
            options.operands.append(word)
            if not mixed:
                options.operands.extend(words)
    return options


def number(text: str) -> int | None:
    """An integer, with busybox's size suffixes; None if invalid."""
    factors = {"b": 512, "k": 1 << 10, "K": 1 << 10, "m": 1 << 20, "M": 1 << 20, "g": 1 << 30, "G": 1 << 30}
    factor = factors.get(text[-1:], 1)
    digits = text[:-1] if factor != 1 else text
    return int(digits) * factor if digits.lstrip("-+").isdigit() else None
