"""How a composed model is shown: its expression and its components."""

from __future__ import annotations

from typing import Any

from perfcore.models.presenter import ModelPresenter
from perfcore.results import Column, Table, Tables


class ComposedPresenter(ModelPresenter):
    """Text and tables of a `perf_structural.composed_models.ComposedModel`."""

    def title(self, result: Any) -> str:
        return f"{result.expression} of {result.origin.source}"

    def formula(self, result: Any) -> str:
        lines = [result.expression]
        for name, model in result.components.items():
            formula_lines = model.formula.split("\n")
            lines += (
                [f"{name} = {formula_lines[0]}"]
                if len(formula_lines) == 1
                else [f"{name}:", *(f"  {line}" for line in formula_lines)]
            )
        return "\n".join(lines)

    def summary(self, result: Any) -> list[str]:
        unit = f" [{result.unit}]" if result.unit else ""
        lines = [f"{result.expression}{unit}, composed of {len(result.components)} models", *result.component_titles]
        if len(result.components) > 1:
            lines.append(f"assumes: {', '.join(result.components)} are independent")
        of_data: dict[str, list[str]] = {}
        for name, model in result.components.items():
            of_data.setdefault(model.origin.fingerprint, []).append(name)
        lines += [
            f"{' and '.join(names)} were fitted to the same data: with correlated errors the intervals are too narrow"
            for names in of_data.values()
            if len(names) > 1
        ]
        return lines

    def tables(self, result: Any) -> Tables:
        columns = [
            Column("name", 0),
            Column("kind", lambda row: row[1].kind),
            Column("fitter", lambda row: row[1].origin.fitter),
            Column("data", lambda row: row[1].origin.source),
            Column("unit", lambda row: row[1].unit),
        ]
        return [Table(columns, list(result.components.items()), "Components")]
