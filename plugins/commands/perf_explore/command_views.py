"""What commands answer about data, as views: each is the report of the command's public function.

A command with ``default_for=(kind,)`` is on the page of data of that kind, ``"several KIND"`` on that of several
files, and ``"versions"`` on that of two tables of measurements.
"""

from __future__ import annotations

import contextlib
import functools
import typing
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import typer

from perf_views import contents as page
from perf_views.contents import views_of
from perfcore.base.errors import OptionError, PerfError
from perfcore.hooks.parameters import parameters_of, rules_of, value_type
from perfcore.hooks.registry import Entry, registry
from perfcore.report import Result

# Titles of commands in the order of the menu; others follow by their names.
_TITLES = {
    "overheads": "Lost time", "profile": "Profile", "whatif": "What-if", "messages": "Messages",
    "iterations": "Iterations", "project": "Project", "gate": "Versions",
}  # fmt: skip
_MOST_ANSWERS = 16  # that are remembered
# Sliders of the questions that a result says that it answers: label, limits, step, and the value that asks nothing.
_SLIDERS = {
    "network": ("network, times as fast", "1", "16", "0.5", "1"),
    "computing": ("computation, times as fast", "1", "10", "0.25", "1"),
    "noise": ("noise of computation [%]", "0", "30", "1", "0"),
    "gpu": ("GPU, times as fast", "1", "10", "0.25", "1"),
    "host": ("host, times as fast", "1", "10", "0.25", "1"),
    "collectives": ("collectives, times as fast", "1", "10", "0.25", "1"),
    "balance": ("balance", "0", "1", "1", "0"),
}
_ASK = "ask."  # before the name of a slider in the address


class CommandViews(page.Viewable):
    """The report of a command about data; its options stand in the address."""

    def __init__(
        self, entry: Entry, kind: str, subjects: tuple[Any, ...], files: tuple[Any, ...], options: Mapping[str, Any]
    ) -> None:
        # Of a command with several functions that of the kind of data, such as a history, or else the first.
        name = next((name for name in entry.functions if name.endswith(f"_{kind}")), next(iter(entry.functions)))
        self._function = functools.partial(entry.load_function, name)
        self._subjects, self._files, self._given = subjects, files, options
        self.title, self.help = _TITLES.get(entry.name, entry.name.capitalize()), entry.help
        self._answers: OrderedDict[tuple[tuple[str, str], ...], tuple[Result, page.Viewable]] = OrderedDict()
        self.failed = False  # whether it answers nothing about these data

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the report with the options that the address names; see `Viewable.view`."""
        forms = self._forms(query)
        try:
            result, views = self.answer(query)
        except PerfError as error:
            self.failed = self.failed or not any(query.values())
            return page.View(self.title, (page.Notice(str(error), "error"), *forms))
        inner = views.view(path, query)
        blocks = (*inner.blocks[:1], *self._sliders(result, query), *inner.blocks[1:], *forms)
        if path:
            return replace(inner, trail=(page.Link(self.title, ()),))
        return replace(inner, title=self.title, blocks=blocks)

    def paths(self) -> list[page.ViewPath]:
        """Return the view, if the command answers anything."""
        try:
            self.answer({})
        except PerfError:
            self.failed = True
            return []
        return [()]

    def answer(self, query: page.Query) -> tuple[Result, page.Viewable]:
        """Return what the command finds with the options of a query, and its views."""
        key = tuple(sorted((name, text) for name, text in query.items() if text))
        if key not in self._answers:
            function, options = self._function(), {**self._given, **self._options(query)}
            try:
                result: Result = function(*self._subjects, **options)
            except PerfError:
                if not self._files:  # some answers need more of a file than data that were read hold
                    raise
                result = function(*self._files, **options)
            self._answers[key] = result, views_of(result)
            if len(self._answers) > _MOST_ANSWERS:
                self._answers.popitem(last=False)
        self._answers.move_to_end(key)
        return self._answers[key]

    def parameters(self) -> dict[str, tuple[Any, Any, str]]:
        """Return the options of the command by name: the default, the type of the value, and the help."""
        found = {}
        for name, (parameter, kind, notes) in parameters_of(self._function()).items():
            value = value_type(kind)
            option = next((note for note in notes if isinstance(note, typer.models.OptionInfo)), None)
            of_python = not notes and parameter.kind is parameter.KEYWORD_ONLY and value in (str, int, float)
            # A page only looks: switches, such as that which runs programs, and files to write are no part of it. What
            # is needed for another option, such as the name of a file to write, is of the command line alone.
            writes = option is not None and (option.metavar or "").startswith("FILE")
            if (option is not None or of_python) and not (writes or rules_of(notes).needs or value is bool):
                found[name] = parameter.default, value, "" if option is None else option.help or ""
        return found

    def _options(self, query: page.Query) -> dict[str, Any]:
        """Return values of the options that a query names, and of the sliders."""
        options: dict[str, Any] = {}
        for name, (_, kind, _) in self.parameters().items():
            if text := query.get(name, "").strip():
                options[name] = _value(name, text, kind)
        factors = {}
        for name in _SLIDERS:
            text = query.get(_ASK + name, "")
            if not text or float(text) == float(_SLIDERS[name][4]):
                continue
            if name == "network":
                options["network"] = f"{text}x"
            elif name == "noise":
                options["noise"] = f"{text}%"
            elif name == "balance":
                options["balance"] = "computing"
            else:
                factors[name] = float(text)
        return {**options, "compute": factors} if factors else options

    def _sliders(self, result: Result, query: page.Query) -> list[page.Block]:
        """Return a form of sliders for the questions that a result answers."""
        questions = [name for name in getattr(result, "questions", ()) if name in _SLIDERS]
        if not questions:
            return []
        fields = []
        for name in questions:
            label, least, most, step, neutral = _SLIDERS[name]
            value = query.get(_ASK + name) or neutral
            fields.append(page.Field(_ASK + name, label, value, "range", (), least, most, step))
        hidden = [page.Field(name, "", text, "hidden") for name, text in query.items() if not name.startswith(_ASK)]
        return [page.Form((*hidden, *fields), (), "Ask", "What would change")]

    def _forms(self, query: page.Query) -> list[page.Form]:
        """Choices in one row, which are shown at once, and all other options."""
        choices, others = [], []
        for name, (default, kind, text) in self.parameters().items():
            if name in _SLIDERS or name in ("compute", "balance") or name in self._given:
                continue
            shown = name.replace("_", " ")
            value = query.get(name) or ("" if default is None or default == () else str(default))
            if typing.get_origin(kind) is Literal:
                words = typing.get_args(kind)
                empty = () if default in words else ("",)
                choices.append(page.Field(name, shown, value, "choice", (*empty, *map(str, words))))
            else:
                others.append(page.Field(name, shown, value, help=text))
        forms = []
        for fields, title in ((choices, ""), (others, "Options")):
            if not fields:
                continue
            own = {item.name for item in fields}
            hidden = [page.Field(name, "", text, "hidden") for name, text in query.items() if name not in own]
            forms.append(page.Form((*hidden, *fields), (), "Show", title, is_folded=bool(title)))
        return forms


def _value(name: str, text: str, kind: Any) -> Any:
    """Return a value of an option from its text, as the command line takes it."""
    if typing.get_origin(kind) is list:
        return [word.strip() for word in text.split(",") if word.strip()]
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        raise OptionError(f"{name} {text!r}: a number is expected") from None


def command_views(
    kind: str, subjects: tuple[Any, ...], files: tuple[Any, ...] = (), **options: Any
) -> dict[str, CommandViews]:
    """Return the views of all commands that show data of a kind by name; with options, of those that take them."""
    entries = {name: entry for name, entry in registry().entries("commands").items() if kind in entry.default_for}
    menu = sorted(entries, key=lambda name: [*_TITLES, name].index(name))
    found = {name: CommandViews(entries[name], kind, subjects, files, options) for name in menu}
    return {name: views for name, views in found.items() if options.keys() <= views.parameters().keys()}


def history_views(path: str) -> CommandViews | None:
    """Return the view of a file that is a history of commits; None if it is none."""
    for views in command_views("history", (path, "commit")).values():
        views.title = Path(path).name
        with contextlib.suppress(PerfError):
            views.answer({})
            return views
    return None
