"""What is behind an average: the R^2 of each line of a category over a factor, and the model of a category."""

from __future__ import annotations

import numpy as np

from perf_lost_cycles.views.paths import (
    SHADES,
    category_path,
    fit_path,
    fitting_path,
    formulae_path,
    r2_cell,
    steps_path,
)
from perf_lost_cycles.views.subject import ModgenSubject, Subject
from perf_views.contents import Block, Link, Notice, Table, Text


def fitting_blocks(subject: Subject, category: str, symbol: str) -> tuple[Block, ...]:
    """The R^2 of each instance: each combination of levels of the other factors."""
    lines, name = subject.instances(category, symbol), subject.names[symbol]
    links = (Link("Formulae", formulae_path(category, symbol)), Link("Model of the category", category_path(category)))
    if not lines:
        return (Notice(f"no line over {name} has three levels, so no model over {name} alone can be judged"),)
    levels = subject.points[symbol]
    rows = tuple(
        (
            line.label,
            r2_cell(line.r2, Link("", fit_path(category, symbol, number))),
            line.form or "-",
            f"{len(line.points)}",
            f"{levels[line.points].min():g} .. {levels[line.points].max():g}",
        )
        for number, line in enumerate(lines)
    )
    r2 = [line.r2 for line in lines if line.r2 is not None]
    mean = f"On average R^2 is {np.mean(r2):.4f}." if r2 else "The times do not vary along any line."
    table = Table(("held", "R^2", "chosen form", "points", name), rows, f"{category} over {name}", SHADES)
    return Text((f"{mean} Click a number to see all candidates on that line.",), links=links), table


def category_blocks(subject: Subject, category: str) -> tuple[Block, ...]:
    """The model of a category over all factors: its constants, how well it does, and where it is from."""
    model, number = subject.model, subject.model.names.index(category)
    averages = [
        (
            f"average over the lines of {subject.names[title]}" if title in subject.points else title,
            r2_cell(values[number], Link("", fitting_path(category, title)) if title in subject.points else None),
        )
        for title, values in subject.averages().items()
    ]
    unit = f" ({model.unit})" if model.unit else ""
    constants = tuple(
        (one.name.removeprefix(f"{category}: "), f"{one.estimate:.6g}", _error_text(one.standard_error))
        for one in model.parameters
        if one.name.startswith(f"{category}: ")
    )
    links = [
        Link(f"Formulae over {subject.names[symbol]}", formulae_path(category, symbol)) for symbol in subject.points
    ]
    if isinstance(subject, ModgenSubject):
        links.insert(0, Link("How it was put together", steps_path(category)))
    return (
        Text((f"{category} = {subject.formulas()[number]}",), "Model", "formula"),
        Text(links=tuple(links)),
        Table(("", "R^2"), tuple(averages), "How well it fits", SHADES),
        Table(("term", f"constant{unit}", "standard error"), constants, "Constants"),
    )


def _error_text(error: float | None) -> str:
    return "-" if error is None else f"{error:.3g}"
