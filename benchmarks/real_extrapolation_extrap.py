"""Extra-P's part of benchmarks/real_extrapolation.py: one prediction for each task.

It runs in an environment that holds Extra-P and not perfcore; the benchmark calls

python benchmarks/real_extrapolation_extrap.py tasks.json values.json

where a task is ``[levels, [[runs of a level], ...], level that is asked]``.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import logging
import sys
import warnings
from pathlib import Path

import numpy as np
from extrap.entities.coordinate import Coordinate
from extrap.entities.measurement import Measurement
from extrap.modelers import single_parameter


def main() -> None:
    """Predict all tasks."""
    warnings.simplefilter("ignore")  # numpy's divisions by zero in Extra-P's costs
    logging.disable(logging.WARNING)
    modeler = single_parameter.all_modelers["Default"]()
    modeler.allow_negative_exponents = True
    values = []
    for levels, runs, at in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        measured = [
            Measurement(Coordinate(level), None, None, np.array(own)) for level, own in zip(levels, runs, strict=True)
        ]
        values.append(float(modeler.create_model(measured).hypothesis.function.evaluate(at)))
    Path(sys.argv[2]).write_text(json.dumps(values), encoding="utf-8")


if __name__ == "__main__":
    main()
