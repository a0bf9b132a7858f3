"""Frozen dataclasses to JSON and back, by their types; the format of pods on disk."""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")


class CodecError(ValueError):
    """The text is not a value of this type."""


def dumps(value: Any) -> str:
    """Return a value as JSON text."""
    return json.dumps(_plain(value), separators=(",", ":"))


def loads(kind: type[T], text: str) -> T:
    """Return a value of this type from JSON text. Raises :class:`CodecError`."""
    try:
        value: T = _typed(kind, json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CodecError(f"not a {kind.__name__}: {error}") from None
    return value


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _typed(kind: Any, plain: Any) -> Any:  # noqa: C901, PLR0911  (one case for each kind of type)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if plain is None and type(None) in arguments:
            return None
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return _typed(inner, plain)
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return tuple(_typed(arguments[0], item) for item in plain)
        return tuple(_typed(inner, item) for inner, item in zip(arguments, plain, strict=True))
    if origin is typing.Literal:
        if plain not in arguments:
            raise CodecError(f"{plain!r} is none of {arguments}")
        return plain
    if dataclasses.is_dataclass(kind):
        hints = _hints(typing.cast("type", kind))
        return typing.cast("Any", kind)(**{name: _typed(hints[name], value) for name, value in plain.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(plain)
    if kind is bytes:
        return bytes.fromhex(plain)
    if type(plain) is not kind:
        raise CodecError(f"{plain!r} is not {kind}")
    return plain
