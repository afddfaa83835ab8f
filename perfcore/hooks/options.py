"""Options declared once: Python keywords, command-line options, help, completion, validation, model files.

An implementation declares a frozen dataclass whose fields are made by `option`; everything else is derived here.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from perfcore.base.errors import OptionError, UnknownNameError

_METADATA = "perfcore"
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_type_hints = functools.cache(typing.get_type_hints)  # else a tenth of an operation on histograms


@dataclass(frozen=True)
class NoOptions:
    """For implementations without options."""


@dataclass(frozen=True)
class OptionField:
    """An option as help, completion and validation see it; `option` declares the fields before ``name``."""

    help: str  # one sentence, in ``--help`` and in ``perf plugins NAME``
    choices: Any = None  # accepted words, or what gives them when they are needed (names from the registry)
    minimum: float | None = None  # smallest accepted number
    above: float | None = None  # bound that the number must exceed
    metavar: str | None = None  # how the value is shown in help
    parse: Callable[[Any], Any] | None = None  # makes the value of a text or object; ValueError says what is accepted
    selects: str | None = None  # kind of what the value names (``"segmenters"``), whose options are then accepted too
    flag: str = ""  # on the command line, if the field's name cannot be it (``--with``)
    repeats: bool = False  # given several times; the field is then a tuple, whose items hold commas
    name: str = ""
    type: type = str
    optional: bool = False
    many: bool = False
    default: Any = None

    @property
    def default_text(self) -> str:
        """Return the default as a user would type it; empty if there is none."""
        if self.default in (None, ()):
            return ""
        return ",".join(map(str, self.default)) if isinstance(self.default, tuple) else str(self.default)

    def convert(self, value: Any, owner: str) -> Any:
        """Check one value and bring it to the field's type."""
        if value is None and (self.optional or self.default is None):
            return None
        try:
            if self.parse is not None:
                return self.parse(value)
            if self.many:
                if isinstance(value, str):
                    value = [value] if self.repeats else value.split(",")
                return tuple(self._one(part.strip() if isinstance(part, str) else part) for part in value)
            return self._one(value)
        except (TypeError, ValueError) as error:
            raise OptionError(f"{owner}: {self.flag} {value!r}: {error}") from None

    def _one(self, value: Any) -> Any:
        if self.type is bool:
            if str(value).lower() not in _BOOLEANS:
                raise ValueError("true or false is expected")
            return _BOOLEANS[str(value).lower()]
        if self.type is str:
            value = str(value)
        else:
            if isinstance(value, bool):
                raise ValueError(f"a number is expected ({self.type.__name__})")
            try:
                converted = self.type(value)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"a number is expected ({self.type.__name__})") from None
            if self.type is int and converted != value and isinstance(value, float):
                raise ValueError("a whole number is expected")
            value = converted
            if not -float("inf") < value < float("inf"):
                raise ValueError("expected a finite number")
        if self.choices is not None and value not in self.choices:
            raise ValueError(str(UnknownNameError("value", str(value), self.choices)))
        if self.minimum is not None and value < self.minimum:
            raise ValueError(f"must be at least {self.minimum:g}")
        if self.above is not None and not value > self.above:
            raise ValueError(f"must be greater than {self.above:g}")
        return value


def option(default: Any, help: str, **rules: Any) -> Any:
    """Declare one field of an options dataclass: its default, its help, and further rules (`OptionField`)."""
    return dataclasses.field(default=default, metadata={_METADATA: OptionField(help, **rules)})


def describe(options_class: type) -> tuple[OptionField, ...]:
    """The options of a dataclass, in order of declaration."""
    hints = _type_hints(options_class)
    fields = []
    for item in dataclasses.fields(options_class):
        if _METADATA not in item.metadata:
            raise TypeError(f"{options_class.__name__}.{item.name} must be declared with option(...)")
        declared: OptionField = item.metadata[_METADATA]
        choices = tuple(declared.choices()) if callable(declared.choices) else declared.choices
        named = {"name": item.name, "flag": declared.flag or f"--{item.name.replace('_', '-')}"}
        known = {**named, "default": item.default, "choices": choices, **_plain_type(hints[item.name])}
        fields.append(dataclasses.replace(declared, **known))
    return tuple(fields)


def _plain_type(hint: Any) -> dict[str, Any]:
    """Return the type of a field's values, and whether it may be None or is a tuple."""
    optional = False
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        optional, hint = len(members) < len(typing.get_args(hint)), members[0] if len(members) == 1 else str
    many = typing.get_origin(hint) is tuple
    hint = typing.get_args(hint)[0] if many else hint
    return {"type": hint if isinstance(hint, type) else str, "optional": optional, "many": many}


def build(options_class: type, values: Mapping[str, Any], owner: str) -> Any:
    """Make the options from what a user gave."""
    fields = {item.name: item for item in describe(options_class)}
    for name in values:
        if name not in fields:
            raise UnknownNameError(f"option of {owner}", name, fields)
    return options_class(**{name: fields[name].convert(value, owner) for name, value in values.items()})


def to_dict(options: Any) -> dict[str, Any]:
    """Options as JSON-ready values, in order of declaration."""
    return {
        item.name: list(value) if isinstance(value := getattr(options, item.name), tuple) else value
        for item in dataclasses.fields(options)
    }
