"""What becomes different when a model is generated again: every R^2 that changes, formulas, and the total."""

from __future__ import annotations

from perf_lost_cycles.views.paths import SHADES, r2_cell
from perf_lost_cycles.views.subject import Subject
from perf_views.contents import Block, Cell, Notice, Table
from perfcore.base.errors import listing


_MOST_ROWS = 200


def difference_blocks(before: Subject, after: Subject, category: str, symbol: str) -> tuple[Block, ...]:
    """Tables of what changes.

    Parameters
    ----------
    before, after : Subject
        Models of the same observations.
    category, symbol : str
        Whose formulas were changed; their lines are shown one by one.
    """
    names, old, new = before.model.names, before.averages(), after.averages()
    changed = {
        (name, title): (values[k], new[title][k])
        for k, name in enumerate(names)
        for title, values in old.items()
        if _differ(values[k], new[title][k])
    }
    rows = [
        _row((name, f"over {before.names[title]}" if title in before.points else title), *values)
        for (name, title), values in changed.items()
    ]
    lines = [
        (*_row((one.label,), one.r2, other.r2), one.form or "-", other.form or "-")
        for one, other in zip(before.instances(category, symbol), after.instances(category, symbol), strict=True)
        if _differ(one.r2, other.r2) or one.form != other.form
    ]
    formulas = [
        (name, label, text)
        for name, one, other in zip(names, before.formulas(), after.formulas(), strict=True)
        if one != other
        for label, text in (("now", one), ("after", other))
    ]
    blocks: list[Block] = []
    if not rows and not lines:
        blocks.append(Notice("No R^2 changes: the formulas that are left or new choose no other forms."))
    else:
        note = f"{SHADES}; all others stay"
        if len(rows) > _MOST_ROWS:
            note = f"The first {_MOST_ROWS} of {len(rows):,}. {note}"
        blocks.append(
            Table(("category", "", "now", "after", "change"), tuple(rows[:_MOST_ROWS]), "Every R^2 that changes", note)
        )
    others = {one for one, label in changed if one != category or (label in before.points and label != symbol)}
    if others:
        text = (
            "More changes than this edit: the sets or files of models, or this program, are other than when the model "
            f"was made; see {listing(sorted(others), 3)}."
        )
        blocks.insert(0, Notice(text, "warning"))
    if lines:
        header = ("held", "now", "after", "change", "form now", "form after")
        blocks.append(Table(header, tuple(lines[:_MOST_ROWS]), f"Lines of {category} over {before.names[symbol]}"))
    if formulas:
        blocks.append(Table(("category", "", "model"), tuple(formulas[:_MOST_ROWS]), "Models"))
    blocks.append(_total_table(before, after))
    return tuple(blocks)


def _total_table(before: Subject, after: Subject) -> Table:
    """The figures of the total, now and after the change."""
    old, new = before.model.statistics, after.model.statistics
    rows = tuple(
        (name.replace("_", " "), *(f"{v:.2%}" if name.endswith("error") else f"{v:.5g}" for v in (one, new[name])))
        for name, one in old.items()
        if isinstance(one, (int, float)) and one != new[name]
    )
    return Table(("figure of the total", "now", "after"), rows, "The sum of all categories")


def _row(heads: tuple[str, ...], one: float | None, other: float | None) -> tuple[Cell | str, ...]:
    change = "-" if one is None or other is None else f"{other - one:+.4f}"
    return (*heads, r2_cell(one), r2_cell(other), change)


def _differ(one: float | None, other: float | None) -> bool:
    """Whether four digits show it."""
    return r2_cell(one).text != r2_cell(other).text
