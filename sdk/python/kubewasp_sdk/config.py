"""Plugin configuration: JSON text decoded to a dict, or to the dataclass of the plugin."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import json
import sys
import types
import typing
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Union

if TYPE_CHECKING:
    from collections.abc import Mapping


class ConfigError(ValueError):
    """Invalid configuration; the text names the field. A plugin may raise it in `__init__`."""


class MissingFieldError(ConfigError, KeyError):
    """A field that the plugin reads is not in its configuration."""

    __str__ = ValueError.__str__  # KeyError shows its text in quotes


class ConfigDict(dict[str, Any]):
    """Configuration without a type: a dict with errors that name the field."""

    def __missing__(self, key: str) -> Any:
        raise MissingFieldError(f"config.{key}: missing")


def parse(text: str) -> Any:
    """Plain values of a JSON text; an empty text is an empty object."""
    if not text.strip():
        return {}
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigError(f"config: not valid JSON: {error}") from None


def config_type(plugin: type) -> Any:
    """Configuration type of a plugin: the annotation of `config` in the class or in `__init__`, else Any."""
    for owner in plugin.__mro__:
        if owner.__module__.partition(".")[0] == __name__.partition(".")[0]:
            break
        for annotated in (vars(owner).get("__init__"), owner):
            found = _annotations(annotated).get("config")
            if isinstance(found, str):
                found = eval(found, vars(sys.modules[owner.__module__]), dict(vars(owner)))  # noqa: S307 - an annotation in the author's code
            if found is not None and found is not Any:
                return found
    return Any


def _annotations(of: Any) -> Mapping[str, Any]:
    """Unevaluated annotations, which may contain names known to type checkers only."""
    if of is None:
        return {}
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return get_annotations(of, format=Format.FORWARDREF)
    return inspect.get_annotations(of)


def decode(plugin: type, value: Any) -> Any:
    """A value, converted to the annotated type."""
    wanted = config_type(plugin)
    if dataclasses.is_dataclass(wanted) and isinstance(value, typing.cast("type", wanted)):
        return value
    decoded = _decoded(wanted, {} if value is None else value, "config")
    return ConfigDict(decoded) if type(decoded) is dict else decoded


def _decoded(wanted: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is object:
        return value
    if dataclasses.is_dataclass(wanted) and isinstance(wanted, type):
        return _dataclass(wanted, value, where)
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is Literal:
        if value not in arguments:
            raise ConfigError(f"{where}: expected one of {', '.join(map(repr, arguments))}, got {_shown(value)}")
        return value
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return _enum(wanted, value, where)
    kind = origin or wanted
    if kind in _COLLECTIONS:
        _expect(isinstance(value, list), "a list", value, where)
        inner = arguments[0] if arguments else Any
        return _COLLECTIONS[kind](_decoded(inner, item, f"{where}[{place}]") for place, item in enumerate(value))
    if kind in _MAPPINGS:
        _expect(isinstance(value, dict), "an object", value, where)
        inner = arguments[1] if arguments else Any
        return {key: _decoded(inner, item, f"{where}.{key}") for key, item in value.items()}
    return _scalar(kind, value, where)


def _dataclass(wanted: type, value: Any, where: str) -> Any:
    _expect(isinstance(value, dict), "an object", value, where)
    hints = typing.get_type_hints(wanted)
    fields = {field.name: field for field in dataclasses.fields(wanted) if field.init}
    names = {_camel_case(name): name for name in fields} | {name: name for name in fields}
    given: dict[str, Any] = {}
    for key, item in value.items():
        if key not in names:
            raise ConfigError(f"{where}.{key}: unknown field{_hint(key, names, fields)}")
        if names[key] in given:
            raise ConfigError(f"{where}.{key}: given twice")
        given[names[key]] = _decoded(hints[names[key]], item, f"{where}.{key}")
    for name, field in fields.items():
        if name not in given and field.default is field.default_factory is dataclasses.MISSING:
            raise ConfigError(f"{where}.{name}: missing")
    try:
        return wanted(**given)
    except ConfigError:
        raise
    except ValueError as error:  # from __post_init__
        raise ConfigError(f"{where}: {error}") from None


def _hint(key: str, names: dict[str, str], fields: dict[str, Any]) -> str:
    near = difflib.get_close_matches(key, names, 1)
    return f'; did you mean "{near[0]}"?' if near else f"; there are {', '.join(fields) or 'none'}"


def _one_of(choices: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in choices:
        return None
    errors = []
    for choice in choices:
        if choice is not type(None):
            try:
                return _decoded(choice, value, where)
            except ConfigError as error:
                errors.append(error)
    raise errors[-1]


def _enum(wanted: type[Enum], value: Any, where: str) -> Enum:
    for member in wanted:
        if value in (member.value, member.name):
            return member
    raise ConfigError(f"{where}: expected one of {', '.join(repr(m.value) for m in wanted)}, got {_shown(value)}")


def _scalar(kind: Any, value: Any, where: str) -> Any:
    if kind is type(None):
        _expect(value is None, "null", value, where)
    elif kind is bool:
        _expect(isinstance(value, bool), "true or false", value, where)
    elif kind is int:
        _expect(isinstance(value, int) and not isinstance(value, bool), "a whole number", value, where)
    elif kind is float:
        _expect(isinstance(value, int | float) and not isinstance(value, bool), "a number", value, where)
        return float(value)
    elif kind is str:
        _expect(isinstance(value, str), "a string", value, where)
    else:
        raise ConfigError(f"{where}: the plugin declares a type that cannot come from JSON: {kind}")
    return value


def _expect(is_right: bool, wanted: str, value: Any, where: str) -> None:
    if not is_right:
        raise ConfigError(f"{where}: expected {wanted}, got {_shown(value)}")


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


_COLLECTIONS: dict[Any, Any] = {list: list, tuple: tuple, set: set, frozenset: frozenset}
_MAPPINGS = (dict, typing.get_origin(typing.Mapping[str, str]))
