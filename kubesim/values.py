"""Dataclasses with slots, optimized for cheap declaration and creation.

`@value_object`: an immutable value; `replace` makes a copy with other values. The type checker enforces this, as it
does for `@dataclass(frozen=True)`. No check at run time prevents assignments, because such a check makes construction
three times slower, and a run constructs some two hundred value objects for every pod. `@mutable`: an object whose
fields may change. `@part`: an object that keeps the arguments of its constructor, and is compared by identity.

A class gets its `__init__` only after its first few objects. `dataclass` instead compiles four methods for each class:
0.5 ms for each of three hundred classes, most of which a run never uses. Even without methods, `dataclass` takes 5 % of
the start of a run, so `_with_slots` creates the class itself, in a form that `dataclasses.fields` can read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import _FIELD, MISSING, Field, field, fields  # type: ignore[attr-defined]
from functools import cache
from inspect import get_annotations
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")
_FIELDS = "__dataclass_fields__"
_OF_THE_OLD_CLASS = ("__dict__", "__weakref__")
_FEW = 8
_made: dict[type, int] = {}  # the number of objects of a class that were created without a compiled `__init__`


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_object(cls: type[T]) -> type[T]:
    """Declare an immutable dataclass with slots; objects are equal, with the same hash, if all fields are."""
    cls = _with_slots(cls, kw_only=False)
    read = _reader(cls)
    if "__eq__" not in vars(cls):
        cls.__eq__ = _equality(read)  # type: ignore[method-assign]
    cls.__hash__ = lambda self: hash(read(self))  # type: ignore[method-assign]
    return cls


@overload
def mutable(cls: type[T], /) -> type[T]: ...
@overload
def mutable(*, kw_only: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def mutable(cls: Any = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """Declare a mutable dataclass with slots; with `eq`, objects are equal if all fields are, and have no hash."""

    def made(cls: type[T]) -> type[T]:
        cls = _with_slots(cls, kw_only=kw_only)
        if eq and "__eq__" not in vars(cls):
            cls.__eq__ = _equality(_reader(cls))  # type: ignore[method-assign]
            cls.__hash__ = None  # type: ignore[assignment]
        return cls

    return made if cls is None else made(cls)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def part(cls: type[T]) -> type[T]:
    """Declare a class whose fields are the parameters of its constructor. A field that begins with an underscore is
    internal state: it has a default, and no caller passes it.
    """
    return _with_slots(cls, kw_only=False, shows_fields=False)  # no fields in repr: parts refer to each other in cycles


def _with_slots(cls: type[T], *, kw_only: bool, shows_fields: bool = True) -> type[T]:
    own = _own_fields(cls, kw_only)
    inherited = {name: each for base in cls.__mro__[-1:0:-1] for name, each in vars(base).get(_FIELDS, {}).items()}
    members = {name: value for name, value in vars(cls).items() if name not in own and name not in _OF_THE_OLD_CLASS}
    members["__slots__"] = tuple(name for name in own if name not in inherited)
    members[_FIELDS] = inherited | own
    members["__match_args__"] = tuple(name for name, each in members[_FIELDS].items() if each.init and not each.kw_only)
    members.setdefault("__init__", _first_init)
    if shows_fields:
        members.setdefault("__repr__", _repr)
    made: type[T] = type(cls)(cls.__name__, cls.__bases__, members)  # type: ignore[misc]
    made.__qualname__ = cls.__qualname__
    return made


def _own_fields(cls: type, kw_only: bool) -> dict[str, Field[Any]]:
    """The fields that the class itself declares, as `dataclasses.fields` returns them."""
    declared: dict[str, Field[Any]] = {}
    for name, type in get_annotations(cls).items():
        if type.startswith("ClassVar"):
            continue
        default = vars(cls).get(name, MISSING)
        if default.__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: objects would share {default!r}; use field(default_factory=...)")
        each = default if isinstance(default, Field) else field(default=default)
        each.name, each.type, each.kw_only = name, type, kw_only
        each._field_type = _FIELD  # type: ignore[union-attr]
        declared[name] = each
    return declared


def _reader(cls: type) -> Callable[[Any], Any]:
    """A function that returns the values of all compared fields."""
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda self: ()


def _equality(read: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def equal(self: Any, other: object) -> bool:
        return bool(read(self) == read(other)) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _repr(self: Any) -> str:
    shown = ", ".join([f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr])
    return f"{type(self).__qualname__}({shown})"


def _first_init(self: Any, *args: Any, **kwargs: Any) -> None:
    """Set the fields of the first objects of a class; compile its `__init__` after several of them, or for an invalid
    call.

    Compiling takes as long as creating twenty objects, and three quarters of the classes in a short run have fewer than
    nine: this saves 5 % of its time.
    """
    owner = next(cls for cls in type(self).__mro__ if vars(cls).get("__init__") is _first_init)
    _made[owner] = _made.get(owner, 0) + 1
    if _made[owner] > _FEW or not _set_fields(self, owner, args, kwargs):
        owner.__init__ = _compile_init(owner)  # type: ignore[misc]
        owner.__init__(self, *args, **kwargs)  # type: ignore[misc]
    elif hasattr(owner, "__post_init__"):
        self.__post_init__()


def _set_fields(self: Any, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Set the fields from the arguments. Returns False if an argument is missing, unknown or given twice."""
    declared: list[Field[Any]] = [*vars(cls)[_FIELDS].values()]
    names = [each.name for each in declared if each.init and not (args and each.kw_only)]
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(given) < len(args) + len(kwargs) or not given.keys() <= {*names}:
        return False
    for each in declared:
        if each.name in given:
            setattr(self, each.name, given[each.name])
        elif each.default_factory is not MISSING:
            setattr(self, each.name, each.default_factory())
        elif each.default is not MISSING:
            setattr(self, each.name, each.default)
        elif each.init:
            return False
    return True


def _compile_init(cls: type) -> Callable[..., None]:
    given: list[Field[Any]] = [each for each in fields(cls) if each.init]
    by_name = [each for each in given if each.kw_only]
    parameters = [_parameter(each) for each in given if not each.kw_only]
    parameters += ["*", *map(_parameter, by_name)] if by_name else []
    body = [f"self.{each.name} = {value}" for each in fields(cls) if (value := _value(each))]
    body += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    scope: dict[str, Any] = {"_absent": MISSING}
    scope |= {f"_default_{each.name}": each.default for each in fields(cls)}
    scope |= {f"_make_{each.name}": each.default_factory for each in fields(cls)}
    exec(f"def __init__(self, {', '.join(parameters)}): {'; '.join(body) or 'pass'}", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init


def _parameter(each: Field[Any]) -> str:
    if each.default_factory is not MISSING:
        return f"{each.name}=_absent"
    return each.name if each.default is MISSING else f"{each.name}=_default_{each.name}"


def _value(each: Field[Any]) -> str:
    """The source expression for the value of a field; empty if `__post_init__` sets the field."""
    if each.default_factory is not MISSING:
        made = f"_make_{each.name}()"
        return f"{made} if {each.name} is _absent else {each.name}" if each.init else made
    if each.init:
        return each.name
    return "" if each.default is MISSING else f"_default_{each.name}"


if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(value: T, /, **changes: Any) -> T:
        """A copy with some values replaced, like `dataclasses.replace`, in a third of the time."""
        cls = value.__class__
        indexes, read = _layout(cls)
        values = [*read(value)]
        for name in changes:
            values[indexes[name]] = changes[name]
        return cls(*values)


@cache
def _layout(cls: type) -> tuple[dict[str, int], attrgetter[Any]]:
    names = [each.name for each in fields(cls)]
    assert len(names) > 1, f"{cls.__name__} has only its one field"
    return {name: index for index, name in enumerate(names)}, attrgetter(*names)


__all__ = ["mutable", "part", "replace", "value_object"]
