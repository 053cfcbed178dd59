"""The shell parser: tokens to syntax tree, with busybox ash's error messages.

`parse` is the entry point. It caches results by text, as all pods of a workload run the same command.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kubesim.shell.language.lexer import Lexer, Token, make_word
from kubesim.shell.language.syntax import (
    Block,
    Case,
    Command,
    For,
    Function,
    Group,
    If,
    Literal,
    Loop,
    Pipeline,
    Redirect,
    Script,
    ShellStatement,
    ShellSyntaxError,
    Simple,
    Subshell,
    Word,
)
from kubesim.shell.limits import NESTING

RESERVED = frozenset("! case do done elif else esac fi for if in then until while { }".split())  # noqa: SIM905
# Each of these ends the block, even if it is not the expected one.
_CLOSING = frozenset({")", ";;", "do", "done", "elif", "else", "esac", "fi", "then", "}"})
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_LONGEST_KEPT = 16_384  # characters; results of longer texts would use too much memory


def parse(text: str) -> Script:
    """Parse a script. A syntax error is part of the result, as the lines before it run first."""
    return _parse_once(text) if len(text) <= _LONGEST_KEPT else _parse(text)


def _parse(text: str) -> Script:
    lines: list[Block] = []
    try:
        parser = Parser(text, 0)
        while (line := parser.line()) is not None:
            if line:
                lines.append(line)
    except ShellSyntaxError as error:
        return Script(tuple(lines), str(error))
    except RecursionError:  # hundreds of nested parameter expansions
        return Script(tuple(lines), "nested too deeply")
    return Script(tuple(lines))


_parse_once = lru_cache(maxsize=2048)(_parse)


def _parse_nested(text: str, start: int, depth: int) -> tuple[Script, int]:
    """The script of a command substitution that starts at `start`, and its end (after the parenthesis)."""
    parser = Parser(text, start, depth + 1)
    body = parser.block(frozenset({")"}))
    parser.expect_closing()
    return Script((body,) if body else ()), parser.closed_at


class Parser:
    """One pass over one text."""

    def __init__(self, text: str, start: int, depth: int = 0) -> None:
        self._depth = depth
        self._lexer = Lexer(text, start, lambda inner, position: _parse_nested(inner, position, self._depth))
        self.closed_at = -1
        self._token = self._lexer.next()

    # Tokens.

    def _advance(self) -> None:
        self._token = self._lexer.next()

    def _is(self, text: str) -> bool:
        """Whether the current token is this operator or reserved word."""
        return self._token.text == text and self._token.kind in ("operator", "word")

    def _take(self, text: str) -> bool:
        if self._is(text):
            self._advance()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(text)

    def expect_closing(self) -> None:
        """The parenthesis that ends a substitution; text after it is not read."""
        if not self._is(")"):
            raise self._unexpected(")")
        self.closed_at = self._lexer.position

    def _unexpected(self, expecting: str = "") -> ShellSyntaxError:
        token = self._token
        if token.kind == "end":
            name = "end of file"
        elif token.kind in ("newline", "redirection"):
            name = token.kind
        elif token.kind == "word" and token.text not in RESERVED:
            name = "word"
        else:
            name = f'"{token.text}"'
        suffix = f' (expecting "{expecting}")' if expecting else ""
        return ShellSyntaxError(f"unexpected {name}{suffix}")

    def _skip_newlines(self) -> None:
        while self._token.kind == "newline":
            self._advance()

    # Lists.

    def line(self) -> Block | None:
        """One complete command, up to the end of its line; None at the end of the text."""
        if self._token.kind == "end":
            return None
        statements: list[ShellStatement] = []
        while self._token.kind not in ("newline", "end"):
            statements.append(self._statement())
            if not statements[-1].background and not self._take(";") and self._token.kind not in ("newline", "end"):
                raise self._unexpected()
        if self._token.kind == "newline":
            self._advance()
        return tuple(statements)

    def block(self, ends: frozenset[str]) -> Block:
        """Commands up to a closing word, which is not consumed."""
        self._depth += 1
        if self._depth > NESTING:
            raise ShellSyntaxError("nested too deeply")
        statements: list[ShellStatement] = []
        self._skip_newlines()
        while self._token.kind != "end" and not self._closes(ends | _CLOSING if statements else ends):
            statements.append(self._statement())
            separated = statements[-1].background or self._take(";") or self._token.kind == "newline"
            self._skip_newlines()
            if not separated and self._token.text not in ends:
                break
        self._depth -= 1
        return tuple(statements)

    def _closes(self, ends: frozenset[str]) -> bool:
        return self._token.text in ends and self._token.kind in ("word", "operator")

    def _body(self, *ends: str) -> Block:
        """A block that must not be empty."""
        block = self.block(frozenset(ends))
        if not block and self._token.kind != "end":
            raise self._unexpected()
        if not any(self._is(end) for end in ends):
            raise self._unexpected(ends[-1])
        return block

    def _statement(self) -> ShellStatement:
        first = self._pipeline()
        rest: list[tuple[str, Pipeline]] = []
        while self._is("&&") or self._is("||"):
            operator = self._token.text
            self._advance()
            self._skip_newlines()
            rest.append((operator, self._pipeline()))
        return ShellStatement(first, tuple(rest), self._take("&"))

    def _pipeline(self) -> Pipeline:
        negated = False
        while self._take("!"):
            negated = not negated
        commands = [self._command()]
        while self._take("|"):
            self._skip_newlines()
            commands.append(self._command())
        return Pipeline(tuple(commands), negated)

    # Commands.

    def _command(self) -> Command:
        token = self._token
        if token.kind == "operator":
            if token.text == "(":
                self._advance()
                body = self._body(")")
                self._advance()
                return Subshell(body, self._redirects())
            raise self._unexpected()
        if token.kind == "word" and token.text in RESERVED:
            return self._compound(token.text)
        if token.kind not in ("word", "redirection"):
            raise self._unexpected()
        return self._simple()

    def _compound(self, keyword: str) -> Command:
        if keyword == "{":
            self._advance()
            body = self._body("}")
            self._advance()
            return Group(body, self._redirects())
        if keyword == "if":
            return self._if()
        if keyword in ("while", "until"):
            self._advance()
            condition = self._body("do")
            return Loop(keyword == "until", condition, self._do(), self._redirects())
        if keyword == "for":
            return self._for()
        if keyword == "case":
            return self._case()
        raise self._unexpected()

    def _if(self) -> Command:
        branches: list[tuple[Block, Block]] = []
        otherwise: Block = ()
        while self._take("if") or self._take("elif"):
            condition = self._body("then")
            self._advance()
            branches.append((condition, self._body("elif", "else", "fi")))
        if self._take("else"):
            otherwise = self._body("fi")
        self._expect("fi")
        return If(tuple(branches), otherwise, self._redirects())

    def _do(self) -> Block:
        self._expect("do")
        body = self._body("done")
        self._advance()
        return body

    def _for(self) -> Command:
        self._advance()
        name = self._token.text
        if self._token.kind != "word" or not _NAME.match(name):
            raise ShellSyntaxError("bad for loop variable")
        self._advance()
        self._skip_newlines()
        words: list[Word] | None = None
        if self._take("in"):
            words = []
            while self._token.kind == "word":
                assert self._token.word is not None
                words.append(self._token.word)
                self._advance()
            if not self._take(";") and self._token.kind != "newline":
                raise self._unexpected()
        else:
            self._take(";")
        self._skip_newlines()
        return For(name, None if words is None else tuple(words), self._do(), self._redirects())

    def _case(self) -> Command:
        self._advance()
        subject = self._any_word()
        self._skip_newlines()
        self._expect("in")
        self._skip_newlines()
        arms: list[tuple[tuple[Word, ...], Block]] = []
        while not self._is("esac"):
            self._take("(")
            patterns = [self._any_word(")")]
            while self._take("|"):
                patterns.append(self._any_word(")"))
            self._expect(")")
            arms.append((tuple(patterns), self.block(frozenset({";;", "esac"}))))
            if not self._take(";;"):
                break
            self._skip_newlines()
        self._expect("esac")
        return Case(subject, tuple(arms), self._redirects())

    def _any_word(self, expecting: str = "") -> Word:
        word = self._token.word
        if word is None:
            raise self._unexpected(expecting)
        self._advance()
        return word

    def _simple(self) -> Command:
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            token = self._token
            if token.kind == "redirection":
                redirects.append(self._redirect())
                continue
            if token.kind != "word":
                break
            assert token.word is not None
            assignment = None if words else split_assignment(token.word)
            self._advance()
            if assignment is not None:
                assignments.append(assignment)
                continue
            words.append(token.word)
            if len(words) == 1 and not assignments and not redirects and self._is("("):
                return self._function(token)
        return Simple(tuple(assignments), tuple(words), tuple(redirects))

    def _function(self, name: Token) -> Command:
        start = self._lexer.position
        self._advance()
        self._expect(")")
        if not _NAME.match(name.text):
            raise ShellSyntaxError("bad function name")
        self._skip_newlines()
        return Function(name.text, self._command(), self._lexer.position - start)

    def _redirects(self) -> tuple[Redirect, ...]:
        redirects: list[Redirect] = []
        while self._token.kind == "redirection":
            redirects.append(self._redirect())
        return tuple(redirects)

    def _redirect(self) -> Redirect:
        token = self._token
        operator = token.text
        descriptor = token.descriptor if token.descriptor >= 0 else int(not operator.startswith("<"))
        self._advance()
        target = self._token.word
        if target is None:
            raise self._unexpected()
        if operator in ("<<", "<<-"):
            target = self._lexer.here_document(target, operator == "<<-")
            operator = "<<"
        elif operator == "<<<":
            target = make_word([*target.parts, Literal("\n", True)])
            operator = "<<"
        self._advance()
        return Redirect(descriptor, operator, target)


def split_assignment(word: Word) -> tuple[str, Word] | None:
    """`NAME=value` as (name, value), or None if the word is no assignment."""
    first = word.parts[0] if word.parts else None
    if not isinstance(first, Literal) or first.quoted:
        return None
    match = _ASSIGNMENT.match(first.text)
    if match is None:
        return None
    remainder = first.text[match.end() :]
    value = [*([Literal(remainder, False)] if remainder else ()), *word.parts[1:]]
    # Values have no file name expansion, so a value of literals is plain.
    if all(isinstance(part, Literal) for part in value) and not remainder.startswith("~"):
        return match[1], Word(tuple(value), "".join(part.text for part in value if isinstance(part, Literal)))
    return match[1], make_word(value)
