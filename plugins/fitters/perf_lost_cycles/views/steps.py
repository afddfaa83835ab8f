"""How the model of a category was put together: the tuples' models, and how they became one."""

from __future__ import annotations

from perf_lost_cycles.views.paths import SHADES, r2_cell
from perf_lost_cycles.views.subject import ModgenSubject, form_text
from perf_views.contents import Block, Table, Text

_MOST_TUPLES = 60


def steps_blocks(subject: ModgenSubject, category: str) -> tuple[Block, ...]:
    """The steps from the lines through each tuple to the one form of all points."""
    generation, place = subject.generation(category)
    forms = [form_text(form, subject.names) for form in generation.forms]
    category_steps = [step for step in generation.steps if step.category == place]
    steps = []
    for number, step in enumerate(category_steps, 1):
        action = "a term was dropped" if step.form < 0 else "taken" if number == 1 else "added"
        steps.append(
            (
                str(number),
                action,
                forms[step.form] if step.form >= 0 else "-",
                str(step.n_tuples) if step.form >= 0 else "-",
                forms[step.result],
                f"{step.score:.4g}",
            )
        )
    tuples = [
        (subject.point_text(point), forms[chosen[place]] if chosen[place] >= 0 else "passed over", r2_cell(r2[place]))
        for point, chosen, r2 in zip(generation.tuples, generation.tuple_forms, generation.tuple_r2, strict=True)
    ]
    tuples.sort(key=lambda row: float(row[2].text) if row[2].text != "-" else 2.0)
    note = SHADES
    if len(tuples) > _MOST_TUPLES:
        note = f"The worst {_MOST_TUPLES} of {len(tuples):,}. {note}"
    criterion = str(subject.model.origin.options["criterion"])
    return (
        Text(
            (
                "Through each tuple of levels run lines of every factor. Their forms, added or multiplied, "
                "give the tuple's model; the tuples' models are then combined, judged on all points.",
            )
        ),
        Table(
            ("step", "what", "form of the tuples", "chosen by", "result", "criterion"),
            tuple(steps),
            "From the tuples to one model",
            f"chosen by: number of tuples; criterion ({criterion}): on all points, smaller is better",
        ),
        Table(("tuple", "its best combination", "R^2"), tuple(tuples[:_MOST_TUPLES]), "Tuples, worst first", note),
    )
