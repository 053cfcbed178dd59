"""Prints a random sample of the sentences that users read: `python -m tools.sentences --seed 1 --count 100`.

Sources are README, docs, scenarios, labs, `--help` of every command, and messages in the code; with `--code`
docstrings, comments and test names. Rewrite those that a colleague would not say.
"""

from __future__ import annotations

import argparse
import ast
import io
import random
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from kubesim.cli.main import make_parser
from tools.docs_pages import subparsers

ROOT = Path(__file__).parent.parent
_GENERATED = ("commands.md", "walk.md")  # generated from --help and traces
# Packages whose messages are those of Kubernetes, containerd and Linux.
_UPSTREAM = {"api", "golang", "cluster", "cni", "kubelet", "runtime", "kubeletconfig", "shell", "features", "klog"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--code", action="store_true", help="draw from docstrings, comments and names of tests")
    args = parser.parse_args()
    found = sorted(set(code_sentences() if args.code else sentences()))
    for location, text in random.Random(args.seed).sample(found, args.count):
        print(f"{location}: {text}")


def sentences() -> Iterator[tuple[str, str]]:
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if path.name not in _GENERATED:
            yield from ((str(path.relative_to(ROOT)), text) for text in _prose(path.read_text()))
    for path in sorted((ROOT / "labs").rglob("text.md")):
        yield from ((str(path.relative_to(ROOT)), text) for text in _prose(path.read_text()))
    for path in sorted((ROOT / "scenarios").rglob("*.yaml")):
        comments = " ".join(line[2:] for line in path.read_text().splitlines() if line.startswith("# "))
        yield from ((str(path.relative_to(ROOT)), text) for text in _split(comments))
    yield from _help("kubesim", make_parser())
    for path in sorted((ROOT / "kubesim").rglob("*.py")):
        if not {*path.relative_to(ROOT / "kubesim").parts[:2]} & _UPSTREAM:
            yield from ((str(path.relative_to(ROOT)), text) for text in _messages(path.read_text()))


def code_sentences() -> Iterator[tuple[str, str]]:
    for path in sorted(path for folder in ("kubesim", "tests", "tools") for path in (ROOT / folder).rglob("*.py")):
        source = path.read_text()
        name = str(path.relative_to(ROOT))
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield from ((name, text) for text in _split(ast.get_docstring(node) or "") if ".go " not in text)
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield name, node.name
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and len(token.string.split()) > 4 and "---" not in token.string:
                yield name, token.string


def _prose(text: str) -> Iterator[str]:
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(    |#).*$", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|*]|\d+\.)", text):
        cells = paragraph.split("|") if paragraph.startswith("|") else [paragraph]
        for cell in cells:
            yield from _split(cell)


def _split(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z`])", " ".join(text.split())):
        if len(sentence.split()) > 3:
            yield sentence


def _help(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield from ((f"{name} --help", text) for text in _split(parser.description or ""))
    for action in parser._actions:
        if (
            action.help
            and action.help != argparse.SUPPRESS
            and "-h" not in action.option_strings
            and len(action.help.split()) > 2
        ):
            yield f"{name} {'/'.join(action.option_strings) or action.dest}", action.help
    for sub, subparser in subparsers(parser):
        yield from _help(f"{name} {sub}", subparser)


def _messages(source: str) -> Iterator[str]:
    """String literals of several words that are not docstrings."""
    tree = ast.parse(source)
    skipped = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            skipped |= {id(part) for part in node.values}
            yield from _split("".join(map(str, parts)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield from _split(node.value)


if __name__ == "__main__":
    main()
