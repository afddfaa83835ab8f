"""Files and loaded objects to what can be shown: models, predictions, data."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import perfcore
from perf_explore.command_views import CommandViews, command_views, history_views
from perf_explore.timeline.views import TimelineViews
from perf_traces.runs import SeparateRuns
from perf_views import contents as page
from perf_views.contents import report_blocks, views_of
from perfcore.base.errors import DataError, InputError, OptionError, PerfError
from perfcore.data import kind_of
from perfcore.data.curve import UtilizationCurve
from perfcore.data.measurements import Measurements
from perfcore.data.trace import Trace
from perfcore.hooks.options import OptionField
from perfcore.hooks.registry import option_fields, registry
from perfcore.models.fitting import default_fitter
from perfcore.models.model import Model, is_model_file, load, model_file_entry
from perfcore.reading import Read, read_file
from perfcore.reading.recognise import named_files
from perfcore.report import Result

SAVE_AS = "save_as"
# Options stand in the address with this before their names, so that views of the fit have all other names.
_PREFIX = "fit."
_MOST_ROWS = 2000
FIT, _TIMELINE = "fit", "timeline"
_MOST_FITS = 16  # that are remembered; those that were changed always are
_Key = tuple[str, tuple[tuple[str, str], ...]]


def save_action(data: str, fitter: str, path: page.ViewPath, query: page.Query) -> page.Action:
    """Return the form that saves what a view of a fit shows."""
    file = Path(data)
    stem = "".join(letter for letter in file.stem if letter not in "*?[]") or "data"
    hidden = (page.Field(name, value=text, kind="hidden") for name, text in query.items() if name != SAVE_AS)
    name = page.Field(
        SAVE_AS, "model file", str(file.with_name(f"{stem}-{fitter}.json")), help="`perf explore` opens it"
    )
    return page.Action((*hidden, name), path, "Save as", "Save this fit")


def saving(model: Model, name: str) -> tuple[tuple[page.Block, ...], page.FileEdit]:
    """Return what saving a model would do, and the file that it writes."""
    target = Path(name.strip())
    if target.suffix.lower() != ".json":
        raise OptionError(f"a model file ends with .json; {name!r} was given")
    with TemporaryDirectory() as folder:
        written = Path(folder) / "model.json"
        model.save(written)
        after = written.read_bytes()
    before = page.content(target)
    if before == after:
        raise OptionError(f"{target} holds this model already")
    blocks: list[page.Block] = [page.Table(("", ""), (("file", str(target.resolve())), ("model", model.title)))]
    if before is not None:
        when = datetime.fromtimestamp(target.stat().st_mtime).isoformat(" ", "minutes")
        text = f"{target} exists: what it holds ({len(before):,} bytes, of {when}) would be replaced."
        blocks.insert(0, page.Notice(text, "warning"))
    return tuple(blocks), page.FileEdit(target, before, after)


def given_options(query: page.Query) -> tuple[dict[str, str], dict[str, str]]:
    """Return the options in a query, empty ones left out, and the rest of the query."""
    options = {name.removeprefix(_PREFIX): text for name, text in query.items() if name.startswith(_PREFIX) and text}
    return options, {name: text for name, text in query.items() if not name.startswith(_PREFIX)}


def as_query(options: Mapping[str, str]) -> dict[str, str]:
    """Return options as an address has them."""
    return {_PREFIX + name: text for name, text in options.items()}


def option_form(fitter: str, settings: Mapping[str, str], path: page.ViewPath, is_folded: bool = False) -> page.Form:
    """Return all options of a fitter, those of the parts that it selects included."""
    groups = option_fields(registry().entry("fitters", fitter), settings)
    fields = tuple(_field(item, settings.get(item.name, "")) for options in groups.values() for item in options)
    return page.Form(fields, path, "Fit", f"Fit {fitter} with other options", is_folded)


def _field(item: OptionField, setting: str) -> page.Field:
    facts: dict[str, Any] = {"name": _PREFIX + item.name, "label": item.name.replace("_", " "), "help": item.help}
    if item.type is bool:
        return page.Field(**facts, kind="choice", value=setting or item.default_text.lower(), choices=("true", "false"))
    if item.choices is not None and not item.many:
        empty = () if item.default_text in item.choices else ("",)
        return page.Field(**facts, kind="choice", value=setting or item.default_text, choices=(*empty, *item.choices))
    if item.choices is not None:
        facts["help"] += f" ({', '.join(item.choices[:12])}{', ...' if len(item.choices) > 12 else ''})"
    return page.Field(**facts, value=setting or item.default_text)


class Nested(page.Viewable):
    """Subjects below one first view, each below the name that its paths begin with."""

    def __init__(self, below: Mapping[str, page.Viewable]) -> None:
        self._below = dict(below)
        self._labels: dict[str, str] = {}  # of subjects that are called otherwise than by their titles

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return a view of the subject that the path begins with; see `Viewable.view`."""
        try:
            view = self._below[path[0]].view(path[1:], query)
        except (KeyError, page.NoViewError):
            raise page.NoViewError(path) from None
        view = page.mounted(view, path[:1])
        return replace(view, trail=(page.Link(self.title, ()), *view.trail))

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the first view, then the views of one subject after the other."""
        yield ()
        for name, subject in self._below.items():
            yield from ((name, *path) for path in subject.paths())

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """Return the subjects that say anything, and below the one that is shown its own ways; see `Viewable.ways`."""
        yield page.Link(self.title, ())
        for name, subject in self._below.items():
            if not getattr(subject, "failed", False):
                yield page.Link(self._labels.get(name, subject.title), (name,))
                if path[:1] == (name,):
                    ways = subject.ways(path[1:], query)
                    yield from (page.mounted(way, (name,)) for way in ways if way.path)

    def feed(self, path: page.ViewPath, query: page.Query) -> page.Feed:
        """Pass a question on to its subject; see `Viewable.feed`."""
        if not path or path[0] not in self._below:
            raise page.NoViewError(path)
        return self._below[path[0]].feed(path[1:], query)


class Shelf(Nested):
    """Subjects by name, and what commands answer about all of them."""

    def __init__(
        self, subjects: Mapping[str, page.Viewable], commands: Mapping[str, CommandViews] | None = None
    ) -> None:
        self._subjects, self._commands = dict(subjects), dict(commands or {})
        super().__init__({**self._commands, **subjects})
        self._labels = {name: name for name in subjects}
        self.title = " and ".join(subjects) if commands and len(subjects) == 2 else f"{len(subjects)} subjects"

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return what the first command answers, or else the subjects, or a view of one; see `Viewable.view`."""
        if path:
            return super().view(path, query)
        for views in self._commands.values():
            with contextlib.suppress(PerfError):
                return page.View(self.title, report_blocks(views.answer({})[0].report()))
        rows = [
            (page.Cell(self._labels.get(name, item.title), page.Link("", (name,))), item.title)
            for name, item in self._below.items()
            if not getattr(item, "failed", False)
        ]
        return page.View(self.title, (page.Table(("file", "what it is"), tuple(rows)),))

    def paths(self) -> Iterable[page.ViewPath]:
        first_answer = next(iter(self._commands), None)  # the first view shows it
        return (path for path in super().paths() if not path or path[0] != first_answer)

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Pass an action on to its subject; see `Viewable.act`."""
        if not path or path[0] not in self._subjects:
            return super().act(path, form)
        change = self._subjects[path[0]].act(path[1:], form)
        changed = Shelf({**self._subjects, path[0]: change.subject}, self._commands)
        return replace(change, subject=changed, path=(path[0], *change.path))


class DataViews(Nested):
    """Views of data: what the first command answers about them, those of all commands that show them, and every fit."""

    def __init__(self, data: Any, name: str, files: tuple[str, ...] = ()) -> None:
        self.data, self._name, self.files = data, name, files
        self.title = Path(name).name or name
        self._fits: OrderedDict[_Key, tuple[Model, page.Viewable]] = OrderedDict()
        # No file may hold these, and fitting again would not bring them back.
        self._changed: dict[_Key, page.Viewable] = {}
        self._commands = command_views(_kind_of(data), (data,), files)
        self._timeline = TimelineViews.of(data) if isinstance(data, Trace) else None
        super().__init__({} if self._timeline is None else {_TIMELINE: self._timeline})
        self._below |= self._commands
        self._first_blocks = functools.cache(self._answered)  # a report may take seconds

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the first view, a fit with its own views, or what is below; see `Viewable.view`."""
        if self._is_of_fit(path):
            return self._fit_view(path[1], path[2:], query)
        return super().view(path, query) if path else page.View(self.title, self._start(query))

    def _is_of_fit(self, path: page.ViewPath) -> bool:
        return len(path) > 1 and path[0] == FIT and path[1] in self._fitters()

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the first view, those of commands, the timeline, and the phases of a curve or trace."""
        yield from super().paths()
        if isinstance(self.data, (Trace, UtilizationCurve)):  # a fit of anything else may need options
            with contextlib.suppress(PerfError):  # nothing fits it unasked, or not this one
                fitter, _ = default_fitter(self.data)
                yield from ((FIT, fitter, *path) for path in self._fitted(fitter, {}).paths())

    def ways(self, path: page.ViewPath, query: page.Query) -> Iterable[page.Link]:
        """Return the timeline, commands, then fitters; below a fit that is shown its own. See `Viewable.ways`."""
        yield from super().ways(path, query)
        options, view_state = given_options(query)
        for fitter in self._fitters():
            yield page.Link(fitter, (FIT, fitter))
            if path[:2] == (FIT, fitter):
                with contextlib.suppress(PerfError):  # the view says why there is no model
                    ways = self._fitted(fitter, options).ways(path[2:], view_state)
                    yield from (page.mounted(way, (FIT, fitter), as_query(options)) for way in ways if way.path)

    def feed(self, path: page.ViewPath, query: page.Query) -> page.Feed:
        """Pass a question on to the timeline, or to the fit; see `Viewable.feed`."""
        if not self._is_of_fit(path):
            return super().feed(path, query)
        options, view_state = given_options(query)
        return self._fitted(path[1], options).feed(path[2:], view_state)

    def act(self, path: page.ViewPath, form: page.Query) -> page.Change:
        """Pass an action on to the fit whose view it was sent from; see `Viewable.act`."""
        if len(path) < 2 or path[0] != FIT:
            return super().act(path, form)
        options, view_state = given_options(form)
        if len(path) == 2 and SAVE_AS in view_state:
            return self._save(path[1], options, view_state)
        change = self._fitted(path[1], options).act(path[2:], view_state)
        following, key = copy(self), _key(path[1], options)  # what is remembered of other fits holds for both
        following._changed = {**self._changed, key: change.subject}
        return replace(
            change, subject=following, path=(FIT, path[1], *change.path), query={**as_query(options), **change.query}
        )

    def _save(self, fitter: str, options: Mapping[str, str], view_state: page.Query) -> page.Change:
        """Write the fit that is shown to a model file."""
        key = _key(fitter, options)
        if key not in self._changed:  # where the view's own state has an option's name, as a slider, that counts
            groups = option_fields(registry().entry("fitters", fitter), options)
            names = {item.name for group in groups.values() for item in group}
            shown = {name: text for name, text in view_state.items() if name in names and text}
            key = _key(fitter, {**options, **shown})
        subject = self._fitted(fitter, dict(key[1]))
        model = getattr(subject, "model", None) if key in self._changed else self._fits[key][0]
        if model is None:
            raise OptionError(f"a fit of {fitter} that was changed cannot be saved")
        blocks, edit = saving(model, view_state[SAVE_AS])
        state = {name: text for name, text in view_state.items() if name != SAVE_AS}
        summary = f"save {fitter} as {edit.path}"
        return page.Change(self, summary, blocks, (edit,), (FIT, fitter), {**as_query(options), **state})

    def _start(self, query: page.Query) -> tuple[page.Block, ...]:
        """Return the answer of the first command, or else the report of the data; then timeline and further views."""
        blocks = self._first_blocks(tuple(sorted(given_options(query)[0].items())))
        if self._timeline is not None:
            chart = next(block for block in self._timeline.view((), query).blocks if isinstance(block, page.Chart))
            shown = page.mounted(replace(chart, title=self._timeline.title), (_TIMELINE,))
            notes = [block for block in blocks if isinstance(block, page.Notes)]
            blocks = (*(block for block in blocks if not isinstance(block, page.Notes)), shown, *notes)
        links = [(page.Link(views.title, (name,)), getattr(views, "help", "")) for name, views in self._below.items()]
        links += [(page.Link(name, (FIT, name)), text) for name, text in self._fitters().items()]
        cells = tuple((page.Cell(link.text, link), text) for link, text in links)
        facts = [
            replace(page.Table.of(*table), title="Contents of the file", is_folded=True)
            for table in perfcore.info(self.data).report().brief_tables
        ]
        return (*blocks, page.Table(("view", "content"), cells, "Views and models"), *facts)

    def _answered(self, options: tuple[tuple[str, str], ...]) -> tuple[page.Block, ...]:
        """Return the answer of the first command, or else the default model of a few runs, or the data themselves."""
        for views in self._commands.values():
            with contextlib.suppress(PerfError):
                return report_blocks(views.answer({})[0].report(), is_brief=True)
        if isinstance(self.data, Measurements) and len(self.data.table) <= _MOST_ROWS:  # else it takes long
            with contextlib.suppress(PerfError):
                fitter, _ = default_fitter(self.data)
                self._fitted(fitter, dict(options))
                report = self._fits[_key(fitter, dict(options))][0].report(self.data)
                link = page.Link(f"The model and its options: {fitter}", (FIT, fitter), as_query(dict(options)))
                return (*_prefixed(report_blocks(report)), page.Text((), links=(link,)))
        blocks: tuple[page.Block, ...] = report_blocks(self.data.report())
        return blocks

    def _fitters(self) -> dict[str, str]:
        """Fitters that take the data, with what they say of themselves."""
        fitters = {}
        for name, entry in registry().entries("fitters").items():
            try:
                if isinstance(self.data, entry.load().takes):
                    fitters[name] = entry.help
            except PerfError:  # one that lacks its library must not hide the others
                continue
        return fitters

    def _fit_view(self, fitter: str, path: page.ViewPath, query: page.Query) -> page.View:
        options, view_state = given_options(query)
        prefix, trail = (FIT, fitter), (page.Link(self.title, ()),)
        try:
            inner = self._fitted(fitter, options).view(path, view_state)
        except page.NoViewError:
            raise page.NoViewError((*prefix, *path)) from None
        except PerfError as error:
            form = option_form(fitter, options, prefix)
            return page.View(f"{fitter}: no model", (page.Notice(str(error), "error"), form), (*prefix, *path), trail)
        view = page.mounted(inner, prefix, as_query(options))
        view = replace(view, trail=(*trail, *view.trail))
        if path:
            return view
        form = option_form(fitter, options, prefix, is_folded=True)
        blocks = (*_prefixed(view.blocks), *self._phase_links(fitter, options, view_state), form)
        return replace(view, blocks=(*blocks, save_action(self._name, fitter, prefix, query)))

    def _phase_links(self, fitter: str, options: Mapping[str, str], view_state: page.Query) -> list[page.Block]:
        """Ways to what commands say phase by phase, if the fit that is shown has phases."""
        shown = self._fits.get(_key(fitter, options))
        phases = getattr(shown[0], "phases", ()) if shown else ()
        state = {"phases": view_state.get("phases") or str(len(phases))}
        takers = [name for name, views in self._commands.items() if phases and "phases" in views.parameters()]
        links = (page.Link(f"{self._commands[name].title} by phase", (name,), state) for name in takers)
        return [page.Text(links=tuple(links))] if takers else []

    def _fitted(self, fitter: str, options: Mapping[str, Any]) -> page.Viewable:
        key = _key(fitter, options)
        if key in self._changed:
            return self._changed[key]
        if key not in self._fits:
            model = perfcore.fit(self.data, fitter=fitter, **options)
            self._fits[key] = model, views_of(model, self.data)
            if len(self._fits) > _MOST_FITS:
                self._fits.popitem(last=False)
        self._fits.move_to_end(key)
        return self._fits[key][1]


class ModelOfTrace(Nested):
    """The page of a model with phases, and below it the timeline with these and what commands say phase by phase."""

    def __init__(self, model: Any, trace: Trace, file: Path | None) -> None:
        timeline = TimelineViews.of(trace, model)
        super().__init__({} if timeline is None else {_TIMELINE: timeline})
        self._below |= command_views("trace", (trace,), phases=model)
        self._own = views_of(model, trace, file)
        self.title = self._own.title

    def view(self, path: page.ViewPath, query: page.Query) -> page.View:
        """Return the model's page, the timeline, or a command's answer; see `Viewable.view`."""
        return super().view(path, query) if path and path[0] in self._below else self._own.view(path, query)

    def paths(self) -> Iterable[page.ViewPath]:
        """Return the model's page, then the others that say anything."""
        return (*self._own.paths(), *(path for path in super().paths() if path))


def _key(fitter: str, options: Mapping[str, str]) -> _Key:
    return fitter, tuple(sorted(options.items()))


def _prefixed(blocks: Iterable[page.Block]) -> list[page.Block]:
    """Return blocks, whose dragged targets are options of a fit."""
    return [replace(block, prefix=_PREFIX) if isinstance(block, page.Graph) else block for block in blocks]


def _kind_of(data: Any) -> str:
    """Return the kind of data; empty if it is none that commands or fitters know."""
    try:
        return kind_of(data)
    except PerfError:
        return ""


def open_subjects(
    subjects: Sequence[Any], read: Read = read_file, options: Mapping[str, Any] | None = None
) -> page.Viewable:
    """Return what files and objects show; ``read`` takes the name of data and what they are for."""
    options = options or {}
    left = [os.fspath(item) if isinstance(item, os.PathLike) else item for item in subjects]
    if not left:
        raise OptionError("there is nothing to show; give files, models or data")
    viewables, used = dict[str, page.Viewable](), set[str]()
    while left:
        subject = left.pop(0)
        entry = model_file_entry(subject) if isinstance(subject, str) else None
        takes_data = "validation" in entry.default_for if entry else _is_model(subject)
        follower = left.pop(0) if takes_data and left and _is_data(left[0]) else None
        name = _name(subject, viewables)
        if entry is not None:
            result = entry.load().read(subject)
            if follower is not None:
                used |= {item.name for item in dataclasses.fields(entry.load_options())}
                result = result.validate(follower, **options)
            viewables[name] = views_of(result, None, Path(subject))
        elif _is_model(subject):
            viewables[name] = _model_views(subject, follower, read)
        elif isinstance(subject, str) and (runs := _runs_side_by_side(subject, read)):
            left[:0] = runs
        elif isinstance(subject, str):
            viewables[name] = _file_views(subject, read)
        elif isinstance(subject, Result) and not isinstance(subject, page.Viewable):
            viewables[name] = views_of(subject)
        else:
            viewables[name] = subject if isinstance(subject, page.Viewable) else DataViews(subject, name)
    for option in options:
        if option not in used:
            raise OptionError(f"--{option.replace('_', '-')} is for none of the files; leave it out")
    return next(iter(viewables.values())) if len(viewables) == 1 else Shelf(viewables, _of_several(viewables))


def _runs_side_by_side(name: str, read: Read) -> list[str]:
    """Return the files of a folder or a pattern if they are traces of several runs."""
    files = named_files(name)
    if files is None or len(files) < 2:
        return []
    try:
        data = read(name, (Trace,))
    except PerfError:
        return []
    return data.files if isinstance(data, SeparateRuns) else []


def _file_views(path: str, read: Read) -> page.Viewable:
    """Return data of a file; a table of many commits is their history."""
    try:
        data = read(path, ())
    except (DataError, InputError):
        if not Path(path).exists() or (history := history_views(path)) is None:
            raise
        return history
    is_history = isinstance(data, Measurements) and "commit" in data.table and data.table["commit"].nunique() > 2
    if is_history and (history := history_views(path)) is not None:
        return history
    return DataViews(data, path, (path,) if read is read_file else ())


def _of_several(viewables: Mapping[str, page.Viewable]) -> dict[str, CommandViews]:
    """Return what commands answer about several files of one kind: two tables of runs are two versions."""
    data = [each for each in viewables.values() if isinstance(each, DataViews)]
    kinds = {_kind_of(each.data) for each in data}
    if len(data) < len(viewables) or len(kinds) > 1:
        return {}
    subjects = tuple(each.data for each in data)
    files = tuple(file for each in data for file in each.files)
    files = files if len(files) == len(data) else ()
    if len(data) == 2 and all(isinstance(each.data, Measurements) for each in data):
        # A file of benchmarks says more than its table: which values are compared, and in what order they were run.
        return command_views("versions", files or subjects)
    return command_views(f"several {kinds.pop()}s", (subjects,), (files,) if files else ())


def _name(subject: Any, existing: Mapping[str, Any]) -> str:
    if not isinstance(subject, str):
        source = getattr(subject, "source", None) or getattr(subject, "title", None)
        name = first = str(source or type(subject).__name__)
        number = 2
        while name in existing:
            name, number = f"{first} ({number})", number + 1
        return name
    name = Path(subject).name or subject
    name = subject if name in existing else name
    if name in existing:
        raise OptionError(f"{subject} is given twice")
    return name


def _model_views(subject: str | Model, follower: Any, read: Read) -> page.Viewable:
    file = Path(subject) if isinstance(subject, str) else None
    model = load(subject) if isinstance(subject, str) else subject
    data = follower
    if isinstance(follower, str):
        # Of a composed model it is what the components were fitted to, of any type.
        is_composed = model.kind in registry().entries("models")
        types = () if is_composed else registry().load("fitters", model.origin.fitter).takes
        data = read(follower, types)
        if types and not isinstance(data, types):
            raise DataError(
                f"{follower} holds {type(data).__name__}, which {file or model.title} was not fitted to; give it "
                "before the model alone"
            )
    if isinstance(data, Trace) and getattr(model, "phases", None):
        return ModelOfTrace(model, data, file)
    return views_of(model, data, file)


def _is_data(subject: Any) -> bool:
    if isinstance(subject, str):
        return model_file_entry(subject) is None and not _is_model(subject)
    return not isinstance(subject, (Result, page.Viewable))


def _is_model(subject: Any) -> bool:
    """Return whether it is a fitted model, or a file that looks like one."""
    return is_model_file(subject) if isinstance(subject, str) else isinstance(subject, Model)
