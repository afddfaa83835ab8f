"""The part of a curve that is asked for; of several what the runs are together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perf_traces.options import CurveOptions
from perf_traces.windows import wanted_part
from perfcore.data.curve import UtilizationCurve


def join_curves(
    parts: Iterable[tuple[Path, UtilizationCurve]],
    fields: Sequence[Mapping[str, Any]],
    name: str,
    options: CurveOptions,
    *how_to_read: Any,
) -> Any:
    """The part of a single curve; parts of several as `perf_worley.matching.joining.join_runs` joins them.

    Parameters
    ----------
    parts, fields, name
        As for `perf_worley.matching.joining.join_runs`.
    options : CurveOptions
    *how_to_read
        Not needed, as the parts are read one after the other.
    """
    selected = ((path, wanted_part(curve, options)) for path, curve in parts)
    if len(fields) == 1 and not fields[0]:
        (_, part), = selected  # fmt: skip
        return part
    from perf_worley.matching.joining import join_runs  # with the fitter, which single curves need not

    return join_runs(selected, fields, name)
