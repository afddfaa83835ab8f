"""Whether the problem stays the same while processors are added (strong scaling) or grows with them (weak scaling)."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from perfcore.data.measurements import Measurements
from perfcore.data.roles import is_processors


_SAID = re.compile(r"(?:scaling|scaling_?(?:type|mode|kind)|experiment|study|test)", re.IGNORECASE)
# Sizes as columns of tables call them, and of one processor's share. What else there is per processor, such as
# tasks_per_node or memory_per_core, is how the run was laid out.
_WHAT = (
    r"(?:atoms|cells|elements|elems|dofs?|unknowns|particles|points|rows|vertices|zones|photons|bodies|samples|"
    r"batch(?:_?size)?)"
)
_WHOLE = rf"(?:n|nx|ny|nz|size|problem_?size|grid(?:_?size)?|(?:n_?|num_?)?{_WHAT}|gbs|global_?batch(?:_?size)?)"
_ONE = r"(?:rank|proc|process|processor|core|cpu|gpu|device|accelerator|node|task|thread|worker)"
_SIZE = re.compile(_WHOLE, re.IGNORECASE)
_SHARE = re.compile(
    rf"(?:{_WHOLE}|problem|work|load|data)_?per_?{_ONE}|local_?(?:size|n|{_WHAT})|mbs|micro_?batch(?:_?size)?",
    re.IGNORECASE,
)
_ALIKE = 0.02  # of a size: decompositions don't divide every problem evenly


def told_scaling(data: Measurements) -> str:
    """What the table says: ``"weak"``, ``"strong"``, or ``""`` where it doesn't."""
    parameters = list(data.roles.parameters.values())
    if not parameters or not is_processors(parameters[0]):
        return ""
    names = [name for name in data.table.columns if name not in (*parameters, data.roles.value)]
    stated = _labelled([name for name in names if _SAID.fullmatch(name.strip())], data)
    if stated:
        return stated
    processors = _numbers(data, parameters[0])
    if processors is None or len(np.unique(processors)) < 2:
        return ""
    plain = {name: re.sub(r"[\s\-#]+", "_", name.strip()).strip("_") for name in names}
    for name in names:
        share = _SHARE.fullmatch(plain[name]) is not None
        if not share and _SIZE.fullmatch(plain[name]) is None:
            continue
        size = _numbers(data, name)
        if size is None or not (size > 0.0).all():
            continue
        if np.ptp(size) == 0.0:
            return "weak" if share else "strong"
        each = size / processors
        if not share and np.ptp(each) <= _ALIKE * each.mean():
            return "weak"
    return ""


def _labelled(names: Collection[str], data: Measurements) -> str:
    for name in names:
        words = {str(value).strip().lower() for value in data.table[name].dropna().unique()}
        for kind in ("weak", "strong"):
            if words and all(re.search(rf"\b{kind}|{kind}\b", word) for word in words):
                return kind
    return ""


def _numbers(data: Measurements, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    import pandas as pd

    values = pd.to_numeric(data.table[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return values if np.isfinite(values).all() else None
