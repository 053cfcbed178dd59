"""`reasons_in`: the reasons that the source code of a decision can give.

A text is a reason if the code gives it to something that is named `why`, `because`, `cause` or `reason`: a variable,
a parameter, a field, or a list of them. Its value may be chosen by a condition, come from a table or a constant, or be
returned by a function of the same modules. A text that is inserted into another one is no reason of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import Final

GAP: Final = "…"
SENTENCES: Final = frozenset(("why", "because", "cause"))
WITH_REASONS: Final = SENTENCES | {"reason"}

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def reasons_in(sources: Iterable[str], words: Collection[str], *, called: Iterable[str] = ()) -> list[str]:
    """The reasons in these modules, with `…` for inserted values. `words` are the names of what holds a reason;
    `called` are other modules, whose functions receive reasons."""
    code = _Code([ast.parse(source) for source in sources], [ast.parse(source) for source in called], words)
    return list(dict.fromkeys(part for text in code.reasons() for part in text.split("; ") if part.strip(GAP + " ")))


class _Code:
    """The definitions of some modules, by name."""

    def __init__(self, modules: list[ast.Module], called: list[ast.Module], words: Collection[str]) -> None:
        self._modules, self._words = modules, words
        nodes = [node for module in [*called, *modules] for node in ast.walk(module)]
        self._functions = {node.name: node for node in nodes if isinstance(node, _Function)}
        self._parameters = {name: _parameters(function) for name, function in self._functions.items()}
        self._parameters |= {node.name: _fields(node) for node in nodes if isinstance(node, ast.ClassDef)}
        self._constants = {name: value for module in modules for node in module.body for name, value in _assigned(node)}

    def reasons(self) -> Iterator[str]:
        for module in self._modules:
            for scope in [module, *(node for node in ast.walk(module) if isinstance(node, _Function))]:
                for node in _own_nodes(scope):
                    for value, position in self._given(node):
                        yield from self._texts(value, scope, position, frozenset())

    def _given(self, node: ast.AST) -> Iterator[tuple[ast.expr, int | None]]:
        """The values that a statement or call gives to a reason; with the position in a returned tuple."""
        if isinstance(node, ast.Call):
            function = _last_name(node.func)
            is_list = isinstance(node.func, ast.Attribute) and _last_name(node.func.value) in self._words
            if function in self._words or (is_list and function in ("append", "extend")):
                yield from ((argument, None) for argument in node.args)
            for name, argument in zip(self._parameters.get(function, ()), node.args, strict=False):
                if name in self._words:
                    yield argument, None
            yield from ((each.value, None) for each in node.keywords if each.arg in self._words)
        elif isinstance(node, ast.AugAssign) and _last_name(node.target) in self._words:
            yield node.value, None
        elif (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Call)
        ):
            for position, target in enumerate(node.targets[0].elts):
                if _last_name(target) in self._words:
                    yield node.value, position
        else:
            yield from ((value, None) for name, value in _assigned(node) if name in self._words)

    def _texts(self, node: ast.expr, scope: ast.AST, position: int | None, followed: frozenset[str]) -> Iterator[str]:
        """The texts that an expression can be; `followed` are the names that led to it."""
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield _text(node)
            return
        name = _last_name(node.func if isinstance(node, ast.Call) else node)
        if isinstance(node, ast.Name | ast.Attribute | ast.Call) and name not in followed:
            followed |= {name}
            if isinstance(node, ast.Call):
                function = self._functions.get(name)
                for value in _returned(function, position) if function is not None else ():
                    assert function is not None
                    yield from self._texts(value, function, None, followed)
                return
            local = [value for each in _own_nodes(scope) for known, value in _assigned(each) if known == name]
            constant = [self._constants[name]] if name in self._constants else []
            for value in (local if isinstance(node, ast.Name) else []) or constant:
                yield from self._texts(value, scope, None, followed)
            return
        for value in _alternatives(node):
            yield from self._texts(value, scope, position, followed)


def _alternatives(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.IfExp():
            return [node.body, node.orelse]
        case ast.BoolOp():
            return node.values
        case ast.Tuple() | ast.List():
            return node.elts
        case ast.Dict():
            return node.values
        case ast.GeneratorExp() | ast.ListComp():
            return [node.elt]
        case ast.Subscript():
            return [node.value]
    return []


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function or module, without those of functions in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, _Function):
            yield child
            yield from _own_nodes(child)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that a statement binds, with their values."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        yield _last_name(node.target), node.value
    for target in node.targets if isinstance(node, ast.Assign) else ():
        assert isinstance(node, ast.Assign)
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(map(_last_name, target.elts), node.value.elts, strict=False)
        else:
            yield _last_name(target), node.value


def _returned(function: _Function, position: int | None) -> Iterator[ast.expr]:
    for node in _own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if position is None:
                yield node.value
            elif isinstance(node.value, ast.Tuple):
                yield node.value.elts[position]


def _parameters(function: _Function) -> list[str]:
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    return names[1:] if names[:1] == ["self"] else names


def _fields(node: ast.ClassDef) -> list[str]:
    return [_last_name(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]


def _last_name(node: ast.expr) -> str:
    """`why` of `why`, `self.why` and `decision.actions.why`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
