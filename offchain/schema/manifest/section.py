"""The base of the models of a manifest: a pydantic model of one mapping, which reports every problem in it.

A wrong value is reported with its place and replaced by the default of its field, so that the remaining values, and the
rules between them, are checked too. The caller must therefore check the problems after the validation. The
validation context is the :class:`Problems` of the file.

Scalars are read as they are written (`1.50` stays "1.50"), by the functions of this file, and not by YAML's types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar, cast

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from offchain.schema.manifest.yaml_reader import InvalidValueError, Problems, YamlValue

T = TypeVar("T")
NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}", re.ASCII)
"""The name of a service, volume, secret or input."""
MAX_TEXT_BYTES = 16_384
_NO_WORDS: Mapping[str, str] = {}
_NOWHERE = YamlValue(yaml.ScalarNode("tag:yaml.org,2002:null", ""), 1, "")


def problems_of(info: ValidationInfo) -> Problems:
    """Return the problems of the file."""
    return cast("Problems", info.context)


class Section(BaseModel):
    """A mapping with known keys. Every field has a default, which stands for a missing or wrong value."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    unsupported: ClassVar[Mapping[str, str]] = {}
    """Keys that Compose has and Gantry refuses, with what to do instead."""
    required: ClassVar[Mapping[str, str]] = {}
    """Keys that must be there, with what to add."""
    short_for: ClassVar[str | None] = None
    """The key for which a value stands that is not a mapping."""
    extensions: ClassVar[bool] = False
    """Whether keys that begin with x- are left to the user."""
    _at: YamlValue = PrivateAttr(default=_NOWHERE)
    _entries: dict[str, YamlValue] = PrivateAttr(default_factory=dict)

    def place(self, *keys: str) -> YamlValue:
        """Return the place of the first key that is written, or of the section."""
        return next((self._entries[key] for key in keys if key in self._entries), self._at)

    @property
    def written(self) -> Collection[str]:
        """The known keys that the file has, in its order."""
        return self._entries.keys()

    def check(self, problems: Problems) -> None:
        """Check the values of the section against each other."""

    @model_validator(mode="wrap")
    @classmethod
    def _read_mapping(cls, value: YamlValue, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        problems = problems_of(info)
        if cls.short_for is not None and not value.is_mapping:
            entries = {cls.short_for: value}
        else:
            entries = cls._check_keys(value, problems)
        section = handler(entries)
        section._at, section._entries = value, entries  # noqa: SLF001  (of this very class)
        section.check(problems)
        return section

    @classmethod
    def _check_keys(cls, value: YamlValue, problems: Problems) -> dict[str, YamlValue]:
        known = {field.alias or name for name, field in cls.model_fields.items()}
        entries: dict[str, YamlValue] = {}
        for key, entry in problems.entries(value).items():
            if key in known:
                entries[key] = entry
            elif key in cls.unsupported:
                problems.add(entry, f'Gantry does not support "{key}" here', cls.unsupported[key])
            elif not (cls.extensions and key.startswith("x-") and not problems.similar(key, known)):
                similar = problems.similar(key, known | cls.unsupported.keys())
                hint = f"Remove it; known here: {', '.join(sorted(known))}"
                if similar:
                    hint = f'Did you mean "{similar}"? Otherwise remove it'
                problems.add(entry, f'unknown key "{key}"', hint)
        for key, hint in cls.required.items():
            if key not in entries:
                problems.add(value, f"{key} is missing", hint)
        return entries

    @field_validator("*", mode="wrap")
    @classmethod
    def _report_problems(cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            _add_errors(error, value, problems_of(info))
            return cls.model_fields[info.field_name or ""].get_default(call_default_factory=True)


S = TypeVar("S", bound=Section)


def validate(model: type[S], value: YamlValue, problems: Problems) -> S | None:
    """Return the section, None if the value is not even a mapping."""
    try:
        return model.model_validate(value, context=problems)
    except ValidationError as error:
        _add_errors(error, value, problems)
        return None


def _add_errors(error: ValidationError, value: YamlValue, problems: Problems) -> None:
    for line in error.errors(include_url=False):
        reason = line.get("ctx", {}).get("error")
        if not isinstance(reason, InvalidValueError):
            raise error
        problems.add_error(reason, line["input"] if isinstance(line["input"], YamlValue) else value)


def text(value: YamlValue, *, max_bytes: int = 4096, empty: bool = False) -> str:
    """Return a text. Numbers are taken as they are written; true, false and null must be quoted to be text."""
    if value.kind in ("bool", "null") or value.is_mapping or value.is_list:
        raise InvalidValueError(f"expected text, found {value.shape}", "Quote it if it is meant as text", value)
    size = len(value.raw.encode())
    if "\0" in value.raw:
        raise InvalidValueError("the text has a NUL character in it", "Remove it", value)
    if not size and not empty:
        raise InvalidValueError("the text is empty", "Write a value or remove the key", value)
    if size > max_bytes:
        raise InvalidValueError(f"the text is {size} bytes long", f"Keep it to {max_bytes} bytes", value)
    return value.raw


def notation(value: YamlValue, parse: Callable[[str], T], hint: str) -> T:
    """Return what `parse` makes of a text; its ValueError says what is wrong."""
    written = text(value)
    try:
        return parse(written)
    except ValueError as error:
        raise InvalidValueError(str(error), getattr(error, "hint", hint), value) from None


def integer(value: YamlValue, low: int, high: int, written: str | None = None) -> int:
    """Return a whole number within bounds, quoted or not. `written`: the part of the value that is the number."""
    digits = value.raw if written is None else written
    hint = f"Write a whole number from {low} to {high}"
    unsigned = digits[1:] if digits[:1] in ("-", "+") else digits
    if not (unsigned.isascii() and unsigned.isdigit()) or len(unsigned) > 20:
        found = f'"{digits}"' if digits else value.shape
        raise InvalidValueError(f"expected a whole number, found {found}", hint, value)
    if not low <= int(digits) <= high:
        raise InvalidValueError(f"{int(digits)} is out of range", hint, value)
    return int(digits)


def boolean(value: YamlValue) -> bool:
    """Return true or false."""
    if value.raw.lower() not in ("true", "false"):
        raise InvalidValueError(
            f"expected true or false, found {value.raw or value.shape}", "Write true or false", value
        )
    return value.raw.lower() == "true"


def choice(value: YamlValue, problems: Problems, words: Sequence[str], refused: Mapping[str, str] = _NO_WORDS) -> str:
    """Return one of some words. `refused`: words that are known, but not supported, with a hint."""
    word = text(value)
    if word in words:
        return word
    if word in refused:
        raise InvalidValueError(f'"{word}" is not supported', refused[word], value)
    similar = problems.similar(word, [*words, *refused])
    hint = f'Did you mean "{similar}"?' if similar else f"Write {' or '.join(words)}"
    raise InvalidValueError(f'unknown value "{word}"', hint, value)


def bounded(value: YamlValue, parse: Callable[[str], int], hint: str, low: int, high: int) -> int:
    """Return a duration in ms within bounds."""
    found = notation(value, parse, hint)
    if not low <= found <= high:
        raise InvalidValueError(
            f"{found / 1000:g}s is out of range", f"Write a time from {low / 1000:g}s to {high / 1000:g}s", value
        )
    return found


@dataclass(frozen=True, slots=True)
class Placed(Generic[T]):
    """A value of the manifest with its place, and with the place of the name that it refers to."""

    value: T
    at: YamlValue
    name_at: YamlValue


def Word(*words: str, refused: Mapping[str, str] | None = None) -> PlainValidator:  # noqa: N802  (an annotation)
    """Accept one of some words. `refused`: words that have a meaning, but are not supported, with a hint."""
    return PlainValidator(lambda value, info: choice(value, info.context, words, refused or {}))


def Notation(parse: Callable[[str], Any], hint: str) -> PlainValidator:  # noqa: N802  (an annotation)
    """Accept a text that `parse` takes."""
    return PlainValidator(lambda value: notation(value, parse, hint))


def Whole(low: int, high: int) -> PlainValidator:  # noqa: N802  (an annotation)
    """Accept a whole number within bounds."""
    return PlainValidator(lambda value: integer(value, low, high))


def Bytes(limit: int) -> PlainValidator:  # noqa: N802  (an annotation)
    """Accept a text of at most this size."""
    return PlainValidator(lambda value: text(value, max_bytes=limit))


def Items(limit: int | None = None, what: str = "entries", more: str = "") -> BeforeValidator:  # noqa: N802
    """Accept a list of at most this length. `what` its items are; `more`: how else to say them."""

    def read(value: YamlValue) -> Sequence[YamlValue]:
        items = value.items()
        if limit is not None and len(items) > limit:
            raise InvalidValueError(f"{len(items)} {what} are too many", f"Keep it to {limit}{more}", items[limit])
        return items

    return BeforeValidator(read)


Entries = BeforeValidator(lambda value, info: info.context.entries(value))
"""Accept a mapping with keys of the user's choice."""


def Named(what: str, limit: int, more: str = "") -> BeforeValidator:  # noqa: N802  (an annotation)
    """Accept a mapping with names of the user's choice, or nothing."""

    def read(value: YamlValue, info: ValidationInfo) -> dict[str, YamlValue]:
        entries: dict[str, YamlValue] = {} if value.kind == "null" else problems_of(info).entries(value)
        for number, (name, at) in enumerate(entries.items()):
            if NAME.fullmatch(name) is None:
                message = f'"{name[:80]}" is not the name of a {what}'
                problems_of(info).add(at, message, "Use letters, digits, dots, dashes and underscores")
            if number == limit:
                problems_of(info).add(at, f"{len(entries)} {what}s are too many", f"Keep it to {limit}{more}")
        return entries

    return BeforeValidator(read)


NullAllowed = BeforeValidator(lambda value: None if value.kind == "null" else value)
Text = Annotated[str, PlainValidator(text)]
Flag = Annotated[bool, PlainValidator(boolean)]
