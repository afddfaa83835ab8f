"""Files and loaded objects to what can be shown: what openers open, models, data."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perf_explore.data_views import DataViews
from perf_explore.shelf import Shelf
from perf_views.contents import Viewable
from perf_views.drawable import views_of
from perf_views.opener import Opener
from perf_views.openers import opener_of
from perfcore.base.errors import DataError, OptionError
from perfcore.hooks.options import build
from perfcore.hooks.registry import registry
from perfcore.models.model import Model, is_model_file, load
from perfcore.reading.recognise import read
from perfcore.results import Result


Read = Callable[[str, Sequence[type]], Any]


def read_file(path: str, wanted: Sequence[type]) -> Any:
    """Read data; see `perfcore.read`."""
    return read(path, wanted=wanted)


@dataclass(frozen=True)
class Opening:
    """How files are read."""

    read: Read = read_file  # reads data: takes what the user calls them and what they are for; see `perfcore.read`
    options: Mapping[str, Any] = field(default_factory=dict)


def open_subjects(subjects: Sequence[Any], how: Opening | None = None) -> Viewable:
    """What files and objects show."""
    how = how or Opening()
    left = [os.fspath(item) if isinstance(item, os.PathLike) else item for item in subjects]
    if not left:
        raise OptionError("there is nothing to show; give files, models or data")
    viewables, used = dict[str, Viewable](), set[str]()
    while left:
        subject = left.pop(0)
        opened = opener_of(subject) if isinstance(subject, str) else None
        takes_data = opened[1].takes_data if opened else _is_model(subject)
        follower = left.pop(0) if takes_data and left and _is_data(left[0]) else None
        name = _name(subject, viewables)
        if opened is not None:
            viewables[name] = _opened(subject, *opened, follower, how)
            used |= {item.name for item in dataclasses.fields(opened[1].Options)}
        elif _is_model(subject):
            viewables[name] = _model_views(subject, follower, how)
        elif isinstance(subject, str):
            viewables[name] = DataViews(how.read(subject, ()), subject)
        else:
            viewables[name] = _object_views(subject, name)
    for option in how.options:
        if option not in used:
            raise OptionError(f"--{option.replace('_', '-')} is for none of the files; leave it out")
    return next(iter(viewables.values())) if len(viewables) == 1 else Shelf(viewables)


def _name(subject: Any, existing: Mapping[str, Any]) -> str:
    """What it is called beside others."""
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


def _opened(path: str, name: str, opener: Opener, follower: Any, how: Opening) -> Viewable:
    """What an opener makes of a file, with those of the options that are its own."""
    option_names = {item.name for item in dataclasses.fields(opener.Options)}
    options = build(opener.Options, {key: value for key, value in how.options.items() if key in option_names}, name)
    content = opener.open(path, options, follower)
    return content if isinstance(content, Viewable) else views_of(content, None, Path(path))


def _model_views(subject: str | Model, follower: Any, how: Opening) -> Viewable:
    """Views of a model, with what it was fitted to where that follows."""
    file = Path(subject) if isinstance(subject, str) else None
    model = load(subject) if isinstance(subject, str) else subject
    if not isinstance(follower, str):
        return views_of(model, follower, file)
    # Of a composed model it is what the components were fitted to, of any type.
    types = () if model.kind in registry().entries("models") else registry().load("fitters", model.origin.fitter).takes
    data = how.read(follower, types)
    if types and not isinstance(data, types):
        raise DataError(
            f"{follower} holds {type(data).__name__}, which {file or model.title} was not fitted to; give it before "
            "the model to see it by itself"
        )
    return views_of(model, data, file)


def _object_views(subject: Any, name: str) -> Viewable:
    if isinstance(subject, Viewable):
        return subject
    return views_of(subject) if isinstance(subject, Result) else DataViews(subject, name)


def _is_data(subject: Any) -> bool:
    if isinstance(subject, str):
        return opener_of(subject) is None and not _is_model(subject)
    return not isinstance(subject, (Result, Viewable))


def _is_model(subject: Any) -> bool:
    """Whether it is a fitted model, or a file that looks like one."""
    return is_model_file(subject) if isinstance(subject, str) else isinstance(subject, Model)
