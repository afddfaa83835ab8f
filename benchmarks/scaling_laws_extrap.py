"""Extra-P's part of benchmarks/scaling_laws.py: models of files, one JSON of predictions for each.

It runs in an environment that holds Extra-P and not perfcore; the benchmark makes the environment and calls

python benchmarks/scaling_laws_extrap.py jobs.json

where each job names a file in Extra-P's text format, a modeler, the point that is asked and the file to write.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import extrap
from extrap.entities.coordinate import Coordinate
from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.modelers import multi_parameter, single_parameter
from extrap.modelers.model_generator import ModelGenerator


def modeler_of(name: str, n_parameters: int) -> Any:
    """A modeler with its own defaults; ``refining`` stands below the multi-parameter modeler where there are two."""
    of_one = single_parameter.all_modelers[name]()
    if n_parameters == 1:
        return of_one
    of_many = multi_parameter.all_modelers["Default"]()
    of_many.single_parameter_modeler = of_one
    return of_many


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Predictions, by name of the function, and seconds of processor time."""
    started = time.process_time()
    experiment = TextFileReader().read_experiment(job["data"])
    read = time.process_time()
    generator = ModelGenerator(experiment, modeler=modeler_of(job["modeler"], len(experiment.parameters)))
    generator.model_all()
    modelled = time.process_time()
    found = {}
    target = job["target"]
    at = target[0] if len(target) == 1 else Coordinate(*target)
    for (callpath, _), model in generator.models.items():
        function = model.hypothesis.function
        found[callpath.name] = {
            "prediction": float(function.evaluate(at)),
            "constant": not function.compound_terms,
            "law": function.to_string(*experiment.parameters),
        }
    return {
        "version": extrap.__version__,
        "reading_s": read - started,
        "modelling_s": modelled - read,
        "functions": found,
    }


def main() -> None:
    """Do all jobs; each result is there as soon as it is known."""
    warnings.simplefilter("ignore")  # numpy's divisions by zero in Extra-P's costs
    logging.disable(logging.WARNING)
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        part = Path(job["result"]).with_suffix(".part")  # renamed when it is whole, since results are kept for good
        part.write_text(json.dumps(run(job)), encoding="utf-8")
        part.replace(job["result"])
        print(f"{job['title']}: done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
