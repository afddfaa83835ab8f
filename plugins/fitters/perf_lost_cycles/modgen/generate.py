"""From measurements of categories over several factors to one form for each category.

Source: the chapter "Model Generation" of the Lost Cycles Toolkit (M. J. Clement, M. E. Crovella, T. J. LeBlanc,
W. Meira Jr. and others): a univariate model for each factor through each cross-tuple; sums and products of these,
refitted to the points of the tuple; the tuples' models combined by taking either or their sum, judged on all points.

Deviations, and why:

- A tuple is a measured point through which every factor has a line of enough levels: in a full grid these are all
  combinations of levels, in other designs those that can be judged.
- On the lines of one tuple a sum and a product may span the same functions (see `modgen_forms.Candidate`). Candidates
  that its lines cannot tell apart are told apart by all points.
- The tuples' forms are not combined as they come but best first: the one that fits all points best, then the one that
  improves it most, and so on. So the order of the levels does not decide. Univariate forms that hardly any tuple
  suggests together are passed over (`modgen_tuples.common`), and sums end at `MOST_TERMS`.
- At the end terms are dropped that do not earn their place: the product of a form with and one without a constant is
  part of the product that the lines suggest, since a line shows the constant of the other factors' terms.
- With leave-one-out errors a longer form must be better by more than chance (`held_back`) to be taken or added: many
  forms are tried, and of many needless terms one helps by chance. A term of the result stays as soon as the points are
  predicted better with it: of these few are tried.

The steps are those of `modgen_lines` (one factor, one line), `modgen_tuples` (all factors, the lines of one point) and
`modgen_combination` (all points).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perf_lost_cycles.modgen.combination import Steps, combine
from perf_lost_cycles.modgen.forms import Form, FormList
from perf_lost_cycles.modgen.lines import FEWEST_LEVELS, Lines, lines_of, univariate_forms
from perf_lost_cycles.modgen.scores import Grid
from perf_lost_cycles.modgen.tuples import tuple_forms
from perfcore.base.errors import DataError


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Generated:
    """Every step from the measurements to the forms of K categories."""

    forms: FormList
    lines: tuple[Lines, ...]  # for each factor
    instances: tuple[Ints, ...]  # for each factor the form that fits each line best; -1 where none can be judged
    instance_r2: tuple[Floats, ...]  # centered R^2 of these
    tuples: Ints  # points through which every factor has a line
    tuple_forms: Ints  # -1 where a factor has no form, or where the univariate forms are rare among the tuples
    tuple_r2: Floats  # centered R^2 on the points of the tuple's lines
    steps: Steps
    chosen: Ints  # the form of each category


def generate(
    grid: Grid,
    points: Sequence[Floats],
    defaults: Sequence[Sequence[tuple[Form, ...]]],
    name: str,
    shown_names: Mapping[str, str] | None = None,
) -> Generated:
    """Find the form of each category."""
    lines = tuple(lines_of(points, factor) for factor in range(len(points)))
    tuples = np.flatnonzero(np.all([of_factor.through >= 0 for of_factor in lines], axis=0))
    if not len(tuples):
        missing = [grid.terms.symbols[of_factor.factor] for of_factor in lines if not of_factor.points]
        short = [(shown_names or {}).get(symbol, symbol) for symbol in missing]
        cure = (
            f"{', '.join(short)} never takes {FEWEST_LEVELS} values while the other factors stay; "
            "hold it with --where, or measure more"
            if short
            else "measure lines of every factor through one point, or name fewer factors with --parameter"
        )
        raise DataError(f"no point has {FEWEST_LEVELS} levels along every factor: {cure}")
    forms = FormList()
    fitted = [univariate_forms(grid, of_factor, defaults, forms, name) for of_factor in lines]
    instances = tuple(chosen for chosen, _ in fitted)
    of_tuples, tuple_r2 = tuple_forms(grid, lines, instances, tuples, forms, name)
    steps, chosen = combine(grid, of_tuples, forms, name)
    return Generated(forms, lines, instances, tuple(r2 for _, r2 in fitted), tuples, of_tuples, tuple_r2, steps, chosen)
