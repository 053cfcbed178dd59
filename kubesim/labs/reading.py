"""A learner's words -> a value: durations, numbers, ranges, lists, choices, yes and no, as people write them.

`10s`, `about 10 seconds`, `60-90s`, `a minute and a half`, `at once`; `3`, `three times`, `never`; `app, then proxy`.
Pure functions. An answer that cannot be read raises NoAnswer, which says what to write instead.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable

from kubesim.errors import UsageError
from kubesim.golang.durations import MAX_DURATION, parse_duration
from kubesim.labs.language import Question
from kubesim.labs.waits import AnswerRange

Given = AnswerRange | tuple[str, ...] | str | bool  # a time or a count, names, a value, yes or no


class NoAnswer(UsageError):
    """The answer cannot be read, or the run has no record that the question looks for."""


_UNITS = {
    "ms": 1_000, "millisecond": 1_000, "milliseconds": 1_000,
    "s": 1_000_000, "sec": 1_000_000, "secs": 1_000_000, "second": 1_000_000, "seconds": 1_000_000,
    "m": 60_000_000, "min": 60_000_000, "mins": 60_000_000, "minute": 60_000_000, "minutes": 60_000_000,
    "h": 3_600_000_000, "hour": 3_600_000_000, "hours": 3_600_000_000,
}  # fmt: skip
_SECONDS = _UNITS["s"]
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_WORDS = {word: str(value) for value, word in enumerate(_NUMBERS)} | {"a": "1", "an": "1"}
_WORDS |= {"twenty": "20", "thirty": "30", "forty": "40", "sixty": "60", "ninety": "90"}
_TIMES = {"once": "1", "twice": "2", "thrice": "3"}
_ROUGHLY = re.compile(
    r"^(?:~|≈|>=?|≥|(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|exactly|nearly|almost|after|it takes"
    r"|at least|(?:a (?:little|bit) )?(?:more|longer) than|just over|over|the)\b)\s*"
)
_AT_MOST = re.compile(r"^(?:<=?|≤|(?:at most|up to|less than|under|below|within|max|maximum|no more than)\b)\s*")
_BETWEEN = re.compile(r"^(?:between|from)\s+(.+?)\s+(?:and|to)\s+(.+)$")
_RANGE = re.compile(r"^(.*?[^\s-])\s*(?:-|–|—|\.\.+|…|\bto\b|\bor\b)\s*([^\s-].*)$")
_BETWEEN_NAMES = re.compile(
    r"->|=>|→|[<>,;:&+|\[\]()/]|\d+[.)]|\b(?:and|then|before|first|finally|last|both|only|an?)\b"
)
_NO_TIME = {
    "at once", "immediately", "instantly", "instant", "right away", "straight away", "without delay", "directly",
    "none", "nothing", "no", "no wait", "no waiting", "no delay", "no time", "no back-off", "no backoff", "zero",
    "not at all", "it does not wait", "it doesn't wait", "without back-off", "without backoff", "without waiting",
}  # fmt: skip
_NEVER = {"never", "none", "no", "not once", "not at all", "nothing", "no one", "not a single one", "not any"}
_YES = ("yes", "y", "yep", "yeah", "true", "it does", "it is", "it will", "they do", "sure", "correct")
_NO = ("no", "n", "nope", "false", "never", "not", "it does not", "it doesn't", "it is not", "it isn't", "it won't")
# A word that goes on with the answer before it: `10 seconds`, `60 to 90s`.
CONTINUES = {*_UNITS, "to", "or", "and", "-", "–", "then", "->", "times", "x"}


def read_answer(question: Question, answer: str) -> Given:
    """The answer as a value of the question's kind. Raises NoAnswer."""
    text = " ".join(answer.split()).strip("\"'`").rstrip(".!").strip()
    if question.time is not None:
        time = _span(text, _duration, _NO_TIME)
        return time or _refuse(text, "is not a duration; answer with one such as 10s or 1m20s")
    if question.count is not None:
        return _span(text, _number, _NEVER) or _refuse(text, "is not a number; answer with one such as 3")
    if question.order is not None:
        return _order(text, list(question.order))
    if question.values is not None:
        return _several(text, question.choices)
    if question.happens is not None:
        return _yes_or_no(text)
    if question.choices:
        return _choice(text, question.choices)
    return text or _refuse(text, "is empty; answer with a word")


def split_words(question: Question, words: list[str]) -> tuple[str, list[str]]:
    """The words of a command line that answer this question, as one text, and those that are left."""
    counts = range(1, len(words) + 1)
    for count in reversed(counts) if question.values is not None else counts:
        if count < len(words) and words[count].lower() in CONTINUES:
            continue
        answer = " ".join(words[:count])
        try:
            read_answer(question, answer)
        except NoAnswer:
            continue
        return answer, words[count:]
    return (words[0], words[1:]) if question.order is None else (" ".join(words), [])


def _refuse(text: str, problem: str) -> AnswerRange:
    raise NoAnswer(f"{text!r} {problem}")


# -- durations and numbers --------------------------------------------------------------------------------------


def _span(text: str, one: Callable[[str], int | None], nothing: Iterable[str]) -> AnswerRange | None:
    """One value, or a range; None if it is neither."""
    text = re.sub(r"\s*\([^)]*\)", "", text.lower()).strip(" ,")
    while (shorter := _ROUGHLY.sub("", text)) != text:
        text = shorter
    if text in nothing:
        return AnswerRange(0, 0)
    most = _AT_MOST.sub("", text)
    if most != text:
        high = one(most)
        return None if high is None else AnswerRange(0, high)
    single = one(text)
    if single is not None:
        return AnswerRange(single, single)
    parts = _BETWEEN.match(text) or _RANGE.match(text)
    if parts is None:
        return None
    first, last = parts[1], _ROUGHLY.sub("", parts[2])
    unit = re.search(r"[a-z]+$", last)
    if unit is not None and re.fullmatch(r"[\d.]+|[a-z]+", first) and first not in _UNITS and unit[0] in _UNITS:
        first = f"{first} {unit[0]}"
    low, high = one(first), one(last)
    return None if low is None or high is None or low > high else AnswerRange(low, high)


def _duration(text: str) -> int | None:
    """Microseconds. Units must get smaller: `10s 11s` are two durations, not one."""
    if re.fullmatch(r"[\d.]+(ns|us|µs)", text):
        return parse_duration(text)
    text = re.sub(r"\bhalf an? (\w+)", r"0.5 \1", text)
    text = re.sub(r"\b(?:an?|one) (\w+) and a half\b", r"1.5 \1", text)
    text = re.sub(r"\b(\w+) and a half (\w+)", lambda m: f"{_WORDS.get(m[1], m[1])}.5 {m[2]}", text)
    words = " ".join(_WORDS.get(word, word) for word in text.replace(" and ", " ").split())
    total, largest, place = 0.0, MAX_DURATION + 1, 0
    for part in re.finditer(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)(?: later| after(?:wards)?)?", words):
        unit = _UNITS.get(part[2] or "s")
        if part.start() != place or unit is None or unit >= largest:
            return None
        total, largest, place = total + float(part[1]) * unit, unit, part.end()
    return round(total) if place == len(words) and place and total <= MAX_DURATION else None


def _number(text: str) -> int | None:
    """`3`, `three`, `3 times`, `3x`, `twice`; also with the things that are counted: `5 pods`."""
    parts = re.fullmatch(r"(\d{1,9}|[a-z]+)\s*(x|times?)?((?: [a-z-]+){0,3})", text)
    if parts is None or {*parts[3].split()} & {"or", "to", "and", *_WORDS}:
        return None
    number = _TIMES.get(parts[1], _WORDS.get(parts[1], parts[1]))
    return int(number) if number.isdecimal() else None


# -- names and choices ------------------------------------------------------------------------------------------


def _names(text: str, known: Iterable[str]) -> tuple[str, ...] | None:
    """The known names in a text, in its order; None if it has other words."""
    by_lower = {name.lower(): name for name in known}
    longest_first = sorted(by_lower, key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w.-]){re.escape(name)}(?![\w-])" for name in longest_first)
    found = tuple(by_lower[name] for name in re.findall(pattern, text.lower()))
    rest = re.sub(pattern, " ", text.lower())
    rest = _BETWEEN_NAMES.sub(" ", rest)
    return None if rest.strip(" .-") else found


def _order(text: str, names: list[str]) -> tuple[str, ...]:
    given = _names(text, names)
    if given is None or sorted(given) != sorted(names):
        raise NoAnswer(f"name each of {', '.join(sorted(names))} once, in their order: kubesim lab check A, B, C")
    return given


def _several(text: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Names in any order, each once."""
    given = _names(text, choices) if choices else tuple(part.strip() for part in text.split(",") if part.strip())
    if not given:
        raise NoAnswer(f"{text!r}: name one or more{' of ' if choices else ''}{', '.join(choices)}")
    return tuple(sorted({*given}))


def letter(place: int) -> str:
    """Choices have letters: numbers would be taken for values."""
    return chr(ord("a") + place)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    marked = re.fullmatch(r"\(?([a-z])[).]?", text.lower())
    if marked is not None and (place := ord(marked[1]) - ord("a")) < len(choices):
        return choices[place]
    wanted = _compact(text)
    for alike in (_equal, _same_duration, _part_of, _beginning_of):
        found = [choice for choice in choices if alike(wanted, _compact(choice))]
        if len(found) == 1:
            return found[0]
    words = [_compact(choice) for choice in choices if not choice[:1].isdigit()]
    near = difflib.get_close_matches(wanted, words, n=1, cutoff=0.85)
    if not near:
        raise NoAnswer(f"{text!r} is none of {', '.join(choices)}")
    return next(choice for choice in choices if _compact(choice) == near[0])


def _compact(text: str) -> str:
    return "".join(text.lower().split())


def _equal(wanted: str, choice: str) -> bool:
    return wanted == choice


def _same_duration(wanted: str, choice: str) -> bool:
    """`40`, `40 s` and `40s`; `5m` and `5m0s`; `20 seconds` and `20`."""
    given, meant = _duration(wanted), _duration(choice)
    return given is not None and given == meant


def _part_of(wanted: str, choice: str) -> bool:
    """`ContainerCreating` of waiting/ContainerCreating, `10.88.0.2` of 10.88.0.2/29, `.2` as well."""
    parts = choice.split("/")
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    return len(parts) > 1 and (wanted in (*parts, *tails) or (wanted[:1] == "." and parts[0].endswith(wanted)))


def _beginning_of(wanted: str, choice: str) -> bool:
    return len(wanted) >= 4 and any(part.startswith(wanted) for part in choice.split("/"))


def _yes_or_no(text: str) -> bool:
    said = re.split(r"[,;:.!]| because | since | - ", text.lower())[0].strip()
    if said in _YES or said in _NO:
        return said in _YES
    raise NoAnswer(f"{text!r} is neither yes nor no")
