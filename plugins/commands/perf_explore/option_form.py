"""Options of an implementation as fields of a form, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perf_views.contents import Field, Form, Query, ViewPath
from perfcore.hooks.chosen_options import option_fields
from perfcore.hooks.options import OptionField
from perfcore.hooks.registry import registry


# Options stand in the address with this before their names, so that views of the fit have all other names.
_PREFIX = "fit."


def given_options(query: Query) -> tuple[dict[str, str], dict[str, str]]:
    """The options in a query, empty ones left out, and the rest of the query."""
    options = {name.removeprefix(_PREFIX): text for name, text in query.items() if name.startswith(_PREFIX) and text}
    return options, {name: text for name, text in query.items() if not name.startswith(_PREFIX)}


def as_query(options: Mapping[str, str]) -> dict[str, str]:
    """Options as an address has them."""
    return {_PREFIX + name: text for name, text in options.items()}


def shown_options(fitter: str, settings: Mapping[str, str], state: Query) -> dict[str, str]:
    """The options of the fit that a view shows: where its own state has an option's name, as a slider, that counts."""
    groups = option_fields(registry().entry("fitters", fitter), settings)
    names = {item.name for options in groups.values() for item in options}
    return {**settings, **{name: text for name, text in state.items() if name in names and text}}


def option_form(fitter: str, settings: Mapping[str, str], path: ViewPath, is_folded: bool = False) -> Form:
    """All options of a fitter, those of the parts that it selects included."""
    groups = option_fields(registry().entry("fitters", fitter), settings)
    fields = tuple(_field(item, settings.get(item.name, "")) for options in groups.values() for item in options)
    return Form(fields, path, "Fit", f"Fit {fitter} with other options", is_folded)


def _field(item: OptionField, setting: str) -> Field:
    facts: dict[str, Any] = {"name": _PREFIX + item.name, "label": item.name.replace("_", " "), "help": item.help}
    if item.type is bool:
        return Field(**facts, kind="choice", value=setting or item.default_text.lower(), choices=("true", "false"))
    if item.choices is not None and not item.many:
        empty = () if item.default_text in item.choices else ("",)
        return Field(**facts, kind="choice", value=setting or item.default_text, choices=(*empty, *item.choices))
    if item.choices is not None:
        facts["help"] += f" ({', '.join(item.choices[:12])}{', ...' if len(item.choices) > 12 else ''})"
    return Field(**facts, value=setting or item.default_text)
