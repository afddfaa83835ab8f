"""Options of a registered thing together with those of the parts that they select, without importing either."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfcore.base.errors import UnknownNameError
from perfcore.hooks.options import OptionField, build, describe
from perfcore.hooks.registry import Entry, registry


def option_fields(entry: Entry, given: Mapping[str, Any]) -> dict[str, list[OptionField]]:
    """Options by who takes them: the thing itself under ``""``, then each selected part under its name."""
    fields = list(describe(entry.load_options()))
    groups = {"": fields}
    for field in fields:
        name = given.get(field.name, field.default)
        if field.selects is not None and name in registry().entries(field.selects):
            groups[name] = list(describe(registry().entry(field.selects, name).load_options()))
    return groups


def build_options(entry: Entry, given: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[Entry, Any]]]:
    """Check what a user gave, and make the options of a thing and of the parts that they select."""
    options_class = entry.load_options()
    fields = {field.name: field for field in describe(options_class)}
    chosen = build(options_class, {name: value for name, value in given.items() if name in fields}, entry.name)
    remaining = {name: value for name, value in given.items() if name not in fields}
    parts, known = {}, set(fields)
    for field in fields.values():
        if field.selects is None:
            continue
        part = registry().entry(field.selects, getattr(chosen, field.name))
        options_of_part = part.load_options()
        names = {f.name for f in describe(options_of_part)}
        known |= names
        of_part = {name: remaining.pop(name) for name in list(remaining) if name in names}
        parts[field.name] = (part, build(options_of_part, of_part, part.name))
    for name in remaining:
        raise UnknownNameError(f"option of {entry.name}", name, known)
    return chosen, parts
