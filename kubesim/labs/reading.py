"""Parses a learner's answer: durations, numbers, ranges, lists, choices, yes and no, in the forms that people write.

`10s`, `about 10 seconds`, `60-90s`, `a minute and a half`, `at once`; `3`, `three times`, `never`; `app, then proxy`.

Pure functions. An answer that cannot be parsed raises NoAnswer, whose text says what to write instead.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from kubesim.errors import UsageError
from kubesim.golang.durations import MAX_DURATION, parse_duration
from kubesim.labs import wording
from kubesim.labs.language import Question
from kubesim.labs.waits import AnswerRange

ParsedAnswer = AnswerRange | tuple[str, ...] | str | bool  # a time or a count, names, a value, yes or no


class NoAnswer(UsageError):
    """The answer cannot be parsed, or the run has no record that matches the question."""


_UNITS = {
    "ms": 1_000, "millisecond": 1_000, "milliseconds": 1_000,
    "s": 1_000_000, "sec": 1_000_000, "secs": 1_000_000, "second": 1_000_000, "seconds": 1_000_000,
    "m": 60_000_000, "min": 60_000_000, "mins": 60_000_000, "minute": 60_000_000, "minutes": 60_000_000,
    "h": 3_600_000_000, "hour": 3_600_000_000, "hours": 3_600_000_000,
}  # fmt: skip
_SECONDS = _UNITS["s"]
_WORDS = {word: str(value) for word, value in wording.NUMBER_WORDS.items()}
_ONE_UNIT = {"a": "1", "an": "1", "few": "3", "some": "3"}  # `a second`, `some milliseconds`
_TIMES = {"once": "1", "twice": "2", "thrice": "3"}
_ROUGHLY = re.compile(r"^(?:~|≈|(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|nearly|almost)\b)\s*")
_LEADING = re.compile(
    r"^(?:>=?|≥|(?:exactly|after|it takes|at least|(?:a (?:little|bit) )?(?:more|longer) than|just over|over|the|only"
    r"|just|somewhere|all)\b)\s*"
)
_AT_LEAST = re.compile(r"(?:\s+(?:or (?:more|longer)|at least|minimum)|(?<=\d)\+(?=\s*[a-z]|$))")
_AT_MOST = re.compile(r"^(?:<=?|≤|(?:at most|up to|less than|under|below|within|max|maximum|no more than)\b)\.?\s*")
_AT_MOST_BEHIND = re.compile(r"^(.+?)\s+(?:at (?:the )?most|or less|max(?:imum)?|tops)$")
_ROUGH_PART = 0.1  # `about 10s` is 9s to 11s
_JITTER = re.compile(r"^(?:(?:some |a bit of |its )?jitter|a random part.*|(?:up to )?50 ?%.*|half of it)$")
_PRODUCT = re.compile(r"^(\d+|[a-z]+)\s*(?:x|\*|×|times|\w+ of)\s*(.+)$")
_BETWEEN = re.compile(r"^(?:between|from)\s+(.+?)\s+(?:and|to)\s+(.+)$")
_RANGE = re.compile(r"^(.*?[^\s-])\s*(?:-|–|—|\.\.+|…|\bup to\b|\bto\b|\bor\b)\s*([^\s-].*)$")
_BETWEEN_NAMES = re.compile(
    r"->|=>|→|[<>,;:&+|\[\]()/]|\d+[.)]|\b(?:and|then|before|first|finally|last|both|only|an?)\b"
)
_NO_TIME = {
    "at once", "immediately", "instantly", "instant", "right away", "straight away", "without delay", "directly",
    "none", "nothing", "no", "no wait", "no waiting", "no delay", "no time", "no back-off", "no backoff", "zero",
    "not at all", "it does not wait", "it doesn't wait", "without back-off", "without backoff", "without waiting",
    "no wait at all", "no time at all", "does not wait", "doesn't wait", "not waiting",
}  # fmt: skip
_ALL = re.compile(
    r"^(?:all|every one|everything|each)(?: (?:of them|three|four|five|the \w+))?(?: (?:but|except(?: for)?) (.+))?$"
)
_AROUND_NAMES = re.compile(
    r"\b(?:for|the|of|old|new|one|ones|uid|pods?|containers?|only|just|is|are|it|also|too)\b", re.IGNORECASE
)
_AROUND_ORDER = re.compile(
    r"\s*\([^()]*\)|\b(?:(?:in|at) the (?:very )?end|after (?:that|it)|afterwards|followed by|next|later|the|starts?"
    r"|comes?|goes|is|are)\b",
    re.IGNORECASE,
)
_ALONE = {"none", "nothing", "no", "zero", "one", "a", "an"}  # not an answer inside a sentence
_NEVER = {
    "never",
    "none",
    "no",
    "not once",
    "not at all",
    "nothing",
    "no one",
    "not a single one",
    "not any",
    "neither",
}
_NOT_ANY = re.compile(
    r"^(?:(?:no|not one|not a single|none|nothing|neither)\b(?! (?:idea|clue|sure))|never\b"
    r"|(?:it|they) (?:never|does not|doesn't|do not|don't)\b)[^\d]*$"
)
_YES = re.compile(
    r"^(?:yes|y|yep|yeah|true|of course|sure|correct|i think so|there (?:is|are)(?! (?:no|not|none)\b)"
    r"|(?:it|they|both) (?:does|do|is|are|will|becomes)(?! not\b))\b"
)
_NO = re.compile(
    r"^(?:no|n|nope|false|never|not|none|neither|nothing|i (?:do not|don't) think so|there (?:is|are) (?:no|not|none)"
    r"|(?:it|they|both) (?:(?:does|do|is|are|will) not|doesn't|don't|isn't|aren't|won't|never))\b"
    r"(?! (?:idea|clue|sure)\b)"
)


def read_answer(question: Question, answer: str) -> ParsedAnswer:
    """The answer as a value of the question's kind, parsed from the whole text or else from a part of it. Raises
    NoAnswer."""
    text = _tidy(answer)
    whole = _readable(question, text)
    if whole is not None:
        return whole
    for meaning, phrases in question.accept.items():
        if any(re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) for phrase in phrases):
            return _read(question, meaning)
    if question.order is not None or question.values is not None:
        return _read(question, text)  # a part of a list is another list
    for parts in wording.parts(text):
        readings: set[ParsedAnswer] = {found for part in parts if (found := _readable(question, part)) is not None}
        if len(readings) == 1:
            return readings.pop()
    return wording.the_one_in(text, partial(_inside, question)) or _read(question, text)


_GOES_ON = {"it", "there", "they", "both", "because", "but", "not", "since", "the"}  # after `yes` or `no`


def _tidy(answer: str) -> str:
    return " ".join(answer.split()).strip("\"'`").rstrip(".!").strip()


def _readable(question: Question, text: str) -> ParsedAnswer | None:
    try:
        return _read(question, text)
    except NoAnswer:
        return None


def _inside(question: Question, words: str) -> ParsedAnswer | None:
    """The words that count as an answer inside a sentence: a single letter, `no` or `one` could mean anything there."""
    if not words or words in _ALONE or (len(words) == 1 and not words.isdigit()) or question.happens is not None:
        return None
    has_no_unit = words in _WORDS or words.isdigit()
    return None if question.time is not None and has_no_unit else _readable(question, words)


def _read(question: Question, text: str) -> ParsedAnswer:
    """Parse the whole text as an answer. Raises NoAnswer."""
    if question.time is not None:
        time = _span(text, _duration, _NO_TIME)
        return time or _refuse(text, "is not a duration; answer with one such as 10s or 1m20s")
    if question.count is not None:
        if _NOT_ANY.match(text.lower()):
            return AnswerRange(0, 0)
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


def split_words(questions: Sequence[Question], words: list[str]) -> tuple[str, list[str]]:
    """The words of a command line that answer the first question, as one text, and the remaining words for the next
    questions.

    All words are one answer if they can be parsed as one. Otherwise they are several answers, if no word remains.
    """
    if any(" " in word for word in words):
        return words[0], words[1:]  # quoted: each is one answer
    whole = " ".join(words)
    counts = _segments(questions, words) if len(words) > 1 else ()
    if len(counts) < 2 or (
        not _stands_alone(questions[0], words) and _readable(questions[0], _tidy(whole)) is not None
    ):
        return whole, []
    return " ".join(words[: counts[0]]), words[counts[0] :]


def _stands_alone(question: Question, words: list[str]) -> bool:
    """Whether the first word is an answer although the next words fit: in `5 label` and `no none`, but not in `no
    one`."""
    if question.count is not None:
        return _number(words[0].lower()) is not None
    return question.happens is not None and words[0].lower() in ("yes", "no") and words[1].lower() not in _GOES_ON


def _segments(questions: Sequence[Question], words: list[str]) -> tuple[int, ...]:
    """The number of words of each answer, as few as possible; () if the words cannot be split into answers."""
    if not questions:
        return ()
    for count in range(1, len(words) + 1):
        if _readable(questions[0], _tidy(" ".join(words[:count]))) is None:
            continue
        rest = _segments(questions[1:], words[count:]) if count < len(words) else ()
        if count == len(words) or rest:
            return (count, *rest)
    return ()


def _refuse(text: str, problem: str) -> AnswerRange:
    raise NoAnswer(f"{text!r} {problem}")


# -- durations and numbers --------------------------------------------------------------------------------------


def _span(text: str, one: Callable[[str], int | None], nothing: Iterable[str]) -> AnswerRange | None:
    """One value, a range, or a sum or a product of them; None if it is neither."""
    text = wording.as_digits(re.sub(r"\s*\([^)]*\)", "", text.lower()).strip(" ,"))
    total: AnswerRange | None = None
    terms = wording.terms(_AT_LEAST.sub("", text))
    for term in terms:
        if total is not None and _JITTER.match(term):
            total = AnswerRange(total.low, total.high + total.low // 2)
            continue
        found = _term(term, one, nothing if len(terms) == 1 else ())
        if found is None:
            return None
        total = found if total is None else total + found
    return total


def _term(text: str, one: Callable[[str], int | None], nothing: Iterable[str]) -> AnswerRange | None:
    while (shorter := _LEADING.sub("", text)) != text:
        text = shorter
    if text in nothing:
        return AnswerRange(0, 0)
    most = _AT_MOST_BEHIND.sub(r"\1", _AT_MOST.sub("", text))
    if most != text:
        high = one(most)
        return None if high is None else AnswerRange(0, high)
    about = _ROUGHLY.sub("", text)
    single = one(about)
    if single is not None:
        slack = round(single * _ROUGH_PART) if about != text and one is _duration else 0
        return AnswerRange(single - slack, single + slack)
    product = _PRODUCT.match(text)
    if product is not None and (factor := _WORDS.get(product[1], product[1])).isdecimal() and one is _duration:
        each = _term(product[2], one, ())
        return None if each is None else AnswerRange(int(factor) * each.low, int(factor) * each.high)
    return _range(about, one)


def _range(text: str, one: Callable[[str], int | None]) -> AnswerRange | None:
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
    """A duration in microseconds. Units must decrease: `10s 11s` are two durations, not one."""
    if re.fullmatch(r"[\d.]+(ns|us|µs)", text):
        return parse_duration(text)
    text = re.sub(r"^(\d+):(\d\d)$", r"\1m\2s", text)
    text = re.sub(r"\bhalf an? (\w+)", r"0.5 \1", text)
    text = re.sub(r"\b(?:an?|one) (\w+) and a half\b", r"1.5 \1", text)
    text = re.sub(r"\b(\w+) and a half (\w+)", lambda m: f"{_WORDS.get(m[1], m[1])}.5 {m[2]}", text)
    numbers = _ONE_UNIT | _WORDS
    text = text.replace(" and ", " ").replace("a few ", "few ")
    words = " ".join(numbers.get(word, word) for word in text.split())
    total, largest, end = 0.0, MAX_DURATION + 1, 0
    for part in re.finditer(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)(?: later| after(?:wards)?)?", words):
        unit = _UNITS.get(part[2] or "s")
        if part.start() != end or unit is None or unit >= largest:
            return None
        total, largest, end = total + float(part[1]) * unit, unit, part.end()
    return round(total) if end == len(words) and end and total <= MAX_DURATION else None


def _number(text: str) -> int | None:
    """A number: `3`, `three`, `3 times`, `3x`, `twice`; also with the counted things: `5 pods`, `5 of the 6`, `5/6`."""
    text = re.sub(r"^(\w+)(?: ?/ ?| out of | of (?:the )?)(?:\w+|them)$", r"\1", text)
    if text in ("a time", "a single time"):
        return 1
    parts = re.fullmatch(r"(\d{1,9}|[a-z]+)\s*(x|times?)?((?: [a-z-]+){0,3})", text)
    if parts is None or {*parts[3].split()} & {"or", "to", "and", *_WORDS}:
        return None
    number = _TIMES.get(parts[1], _WORDS.get(parts[1], parts[1]))
    return int(number) if number.isdecimal() else None


# -- names and choices ------------------------------------------------------------------------------------------


def _names(text: str, known: Iterable[str]) -> tuple[str, ...] | None:
    """The known names in a text, in the order of the text; None if it has other words."""
    by_lower = {name.lower(): name for name in known}
    longest_first = sorted(by_lower, key=len, reverse=True)
    pattern = "|".join(rf"(?<![\w.-]){re.escape(name)}(?![\w-])" for name in longest_first)
    found = tuple(by_lower[name] for name in re.findall(pattern, text.lower()))
    rest = re.sub(pattern, " ", text.lower())
    rest = _BETWEEN_NAMES.sub(" ", rest)
    return None if rest.strip(" .-") else found


def _order(text: str, names: list[str]) -> tuple[str, ...]:
    given = _names(_AROUND_ORDER.sub(" ", text), names)
    if given is None or sorted(given) != sorted(names):
        raise NoAnswer(f"name each of {', '.join(sorted(names))} once, in their order: kubesim lab check A, B, C")
    return given


def _several(text: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Names in any order, each once; `all`, `all but web`."""
    all_match = _ALL.match(text.lower())
    if all_match is not None and choices:
        excluded = _names(all_match[1] or "", choices)
        if excluded is not None and len(excluded) < len(choices) and bool(excluded) == bool(all_match[1]):
            return tuple(sorted({*choices} - {*excluded}))
    text = re.sub(r"\s*\([^()]*\)|,?\s*\b(?:but )?not [\w-]+|\bdefault/", "", text, flags=re.IGNORECASE)
    given = (
        _names(_AROUND_NAMES.sub(" ", text), choices)
        if choices
        else tuple(part.strip() for part in text.split(",") if part.strip())
    )
    if not given:
        raise NoAnswer(f"{text!r}: name one or more{' of ' if choices else ''}{', '.join(choices)}")
    return tuple(sorted({*given}))


def letter(index: int) -> str:
    """The letter of a choice. Choices have letters because numbers could be values."""
    return chr(ord("a") + index)


def _choice(text: str, choices: tuple[str, ...]) -> str:
    marked = re.fullmatch(r"\(?([a-z])[).]?", text.lower())
    if marked is not None and (index := ord(marked[1]) - ord("a")) < len(choices):
        return choices[index]
    text = re.sub(r"^\(?[a-z][).]\s+", "", text, flags=re.IGNORECASE)
    wanted = _compact(wording.as_digits(text.lower()))
    for alike in (_equal, _same_duration, _same_number, _part_of, _beginning_of, _end_of):
        found = [choice for choice in choices if alike(wanted, _compact(choice))]
        if len(found) == 1:
            return found[0]
    words = [_compact(choice) for choice in choices if not choice[:1].isdigit()]
    near = difflib.get_close_matches(wanted, words, n=1, cutoff=0.85) if " " not in text else []
    if not near:
        raise NoAnswer(f"{text!r} is none of {', '.join(choices)}")
    return next(choice for choice in choices if _compact(choice) == near[0])


def _compact(text: str) -> str:
    return "".join(text.lower().split())


def _equal(wanted: str, choice: str) -> bool:
    return wanted == choice


def _same_duration(wanted: str, choice: str) -> bool:
    """Equal durations: `40`, `40 s` and `40s`; `5m` and `5m0s`; `20 seconds` and `20`."""
    given, meant = _duration(wanted), _duration(choice)
    return given is not None and given == meant


def _same_number(wanted: str, choice: str) -> bool:
    """Equal numbers: `twenty seconds` and `20`, `once` and `1`."""
    return choice.isdecimal() and wanted in (word for word, value in (_WORDS | _TIMES).items() if value == choice)


def _part_of(wanted: str, choice: str) -> bool:
    """Whether the answer is a part of the value: `ContainerCreating` of waiting/ContainerCreating, `10.88.0.2` or `.2`
    of 10.88.0.2/29."""
    parts = choice.split("/")
    tails = ["/".join(parts[start:]) for start in range(len(parts))]
    return len(parts) > 1 and (wanted in (*parts, *tails) or (wanted[:1] == "." and parts[0].endswith(wanted)))


def _beginning_of(wanted: str, choice: str) -> bool:
    return len(wanted) >= 4 and any(part.startswith(wanted) for part in choice.split("/"))


def _end_of(wanted: str, choice: str) -> bool:
    """Whether the answer is the end of the value: `deferred` of ResizeDeferred."""
    return len(wanted) >= 6 and choice.endswith(wanted)


def _yes_or_no(text: str) -> bool:
    """Yes or no, by the first words: `yes, because ...`, `it does not`."""
    if _NO.match(text.lower()):
        return False
    if _YES.match(text.lower()) and not re.search(r"\bno\b", text.lower()):
        return True
    raise NoAnswer(f"{text!r} is neither yes nor no")
