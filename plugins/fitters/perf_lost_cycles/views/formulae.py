"""The formulas that a category is fitted with over one factor: a list to edit, and what an edit would change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from perf_lost_cycles.default_models.sets import DefaultModel, find_models, models_for, read_models, write_models
from perf_lost_cycles.lca.model import LcaModel
from perf_lost_cycles.modgen.model import ModgenModel
from perf_lost_cycles.views.difference import difference_blocks
from perf_lost_cycles.views.fit_obstacle import fit_obstacle
from perf_lost_cycles.views.models_file import check_formulas, edited_models, formula_mistakes, models_file
from perf_lost_cycles.views.paths import formulae_path
from perf_lost_cycles.views.refit import refitted
from perf_lost_cycles.views.subject import LcaSubject, ModgenSubject, Subject, subject_of
from perf_views.contents import Action, Block, Field, Notice, Query, Table, Text
from perf_views.edits import Check, FileEdit, content
from perfcore.base.errors import OptionError, PerfError


_FORMULAS, _ORIGIN, _FILE = "formulas", "origin", "models_file"


def formulae_blocks(subject: Subject, category: str, symbol: str, file: Path | None) -> tuple[Block, ...]:
    """The candidates with where they are from and how often each was chosen, and the form to change them.

    Parameters
    ----------
    subject : Subject
    category, symbol : str
    file : Path or None
        The model's file.
    """
    names = _names(subject)
    try:
        models = models_for(find_models(names), category, symbol)
    except PerfError as error:
        return (Notice(f"{error}. The formulas of the model can be changed where that file is.", "error"),)
    lines = subject.instances(category, symbol)
    chosen = [
        one.formula
        for number in range(len(lines))
        for one in subject.candidates(category, symbol, number)
        if one.is_chosen
    ]
    rows = tuple((one.formula, f"{chosen.count(one.formula)} of {len(lines)}", one.origin or "-") for one in models)
    action = Action(
        (
            Field(
                _FORMULAS,
                "one formula on each line",
                "\n".join(one.formula for one in models),
                "lines",
                help=f"{symbol} (also in lower case) or x is {subject.names[symbol]}; "
                f"other names are constants: a + b*{symbol}^2",
                is_checked=True,
            ),
            Field(_ORIGIN, "where new ones come from", help="kept beside the formula, such as what the program does"),
            Field(
                _FILE,
                "your models file",
                str(models_file(names, file)),
                help="TOML, written when you keep the change; sets such as `standard` stay as they are",
            ),
        ),
        formulae_path(category, symbol),
        "Refit and preview",
        "Change them",
    )  # fmt: skip
    return (
        Table(("formula", "chosen on lines", "where it comes from"), rows, "Candidates"),
        action,
        Text((f"The models are from {', '.join(names)}.",)),
    )


def formula_checks(subject: Subject, category: str, symbol: str, form: Query) -> tuple[Check, ...]:
    """What is right and wrong with each formula while it is typed, and on how many lines it can be fitted."""
    formulas = _typed(form)
    mistakes = formula_mistakes(formulas, symbol, np.unique(subject.points[symbol]).tolist())
    along = [np.unique(subject.points[symbol][line.points]) for line in subject.instances(category, symbol)]
    checks = []
    for number, (formula, mistake) in enumerate(zip(formulas, mistakes, strict=True), 1):
        if not formula:
            continue
        if mistake:
            checks.append(Check(mistake, is_fine=False))
            continue
        terms_text, obstacle = fit_obstacle(DefaultModel(category, symbol, formula).terms, subject.names[symbol], along)
        checks.append(Check("; ".join(filter(None, (f"line {number}: {terms_text}", obstacle))), is_fine=not obstacle))
    return tuple(checks) or (Check("no formula is left", is_fine=False),)


@dataclass(frozen=True)
class Edit:
    """What an edit of formulas makes."""

    model: ModgenModel | LcaModel
    summary: str
    blocks: tuple[Block, ...]  # what becomes different
    files: tuple[FileEdit, ...]  # the models file, and the model's own file where it has one


def formulae_edit(
    subject: ModgenSubject | LcaSubject,
    category: str,
    symbol: str,
    form: Query,
    file: Path | None,
    stored: bytes | None,
) -> Edit:
    """Generate the model with the formulas that were typed."""
    names, model = _names(subject), subject.model
    check_formulas(_typed(form), symbol, np.unique(subject.points[symbol]).tolist())
    lines = [line for line in _typed(form) if line]
    path = form.get(_FILE, "").strip() or str(models_file(names, file))
    if not path.lower().endswith(".toml"):
        raise OptionError(f"your models file is {path!r}; its name must end with .toml")
    present = {tuple(sorted(one.terms)): one.formula for one in models_for(find_models(names), category, symbol)}
    typed = {tuple(sorted(DefaultModel(category, symbol, line).terms)): line for line in lines}
    if set(present) == set(typed):
        raise OptionError("nothing would change: these are its formulas already")
    target, origin = Path(path), form.get(_ORIGIN, "").strip()
    before = content(target)
    used, file_models = edited_models(names, target, category, tuple(subject.points), symbol, lines, origin)
    new_model = refitted(model, used, [*find_models(used[:-1] if file_models else used), *file_models])
    files = [FileEdit(target, before, _with_models(target, before, file_models) if file_models else None)]
    if file is not None:
        files.append(FileEdit(file, stored, _written(new_model.save)))
    parts = [f"+ {line}" for terms, line in typed.items() if terms not in present]
    parts += [f"- {line}" for terms, line in present.items() if terms not in typed]
    blocks = difference_blocks(subject, subject_of(new_model), category, symbol)
    if not file_models:
        blocks = (Notice(f"No model is left in {target}; the file is removed.", "warning"), *blocks)
    if file is None:
        blocks += (Notice(f"There is no model file: fit again with --models {','.join(used)} to have the same model."),)
    return Edit(new_model, f"{category} over {subject.names[symbol]}: {', '.join(parts)}", blocks, tuple(files))


def _with_models(target: Path, before: bytes | None, models: Sequence[DefaultModel]) -> bytes:
    """What the user's file holds then; where models are only added, the rest stays as it was written."""
    present = () if before is None else read_models(target)
    if before is None or tuple(models[: len(present)]) != present:
        return _written(lambda path: write_models(models, path))
    return before.rstrip() + b"\n\n" + _written(lambda path: write_models(models[len(present) :], path))


def _typed(form: Query) -> list[str]:
    """The lines of a form, empty ones too, so that the numbers of lines are those that are seen."""
    return [line.strip() for line in form.get(_FORMULAS, "").split("\n")]


def _names(subject: Subject) -> tuple[str, ...]:
    """Sets and files of default models that the model was made with."""
    return tuple(subject.model.origin.options["models"])


def _written(write: Callable[[Path], None]) -> bytes:
    """What a function writes into a file; the page writes it when the change is kept."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "written"
        write(path)
        return path.read_bytes()
