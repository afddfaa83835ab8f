"""JSON of TALP, the efficiencies that DLB measures while a program runs (``--talp-output-file FILE.json``).

``popMetrics`` holds an object for each region, or in older versions a list of objects with a ``name``. Times are
nanoseconds, efficiencies shares with two decimals; 0 stands for what was not measured.

Source: DLB (BSC), documentation "TALP for monitoring the Programming Model efficiencies" and what versions 3.3 to 3.5
write, and later ones of GPUs.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from perf_io.results.result_table import SHARE, Row, results
from perf_io.shared.json_document import decode_document
from perfcore.base.errors import InputError
from perfcore.contracts import NoOptions, Reader
from perfcore.data.measurements import Measurements
from perfcore.reading.source import Source

_STARTS = re.compile(rb'\s*\{.*"(popMetrics|dlbVersion)"\s*:', re.DOTALL)
# Keys of efficiencies to names; those before 3.5 knew MPI alone and did not say so.
_EFFICIENCIES = {
    "parallelEfficiency": "parallel",
    "mpiParallelEfficiency": "MPI parallel",
    "mpiLoadBalance": "MPI load balance",
    "mpiLoadBalanceIn": "MPI load balance within nodes",
    "mpiLoadBalanceOut": "MPI load balance between nodes",
    "mpiCommunicationEfficiency": "MPI communication",
    "ompParallelEfficiency": "OpenMP parallel",
    "ompLoadBalance": "OpenMP load balance",
    "ompSchedulingEfficiency": "OpenMP scheduling",
    "ompSerializationEfficiency": "OpenMP serialisation",
    "deviceOffloadEfficiency": "device offload",
    "gpuParallelEfficiency": "GPU parallel",
    "gpuLoadBalance": "GPU load balance",
    "gpuCommunicationEfficiency": "GPU communication",
    "gpuOrchestrationEfficiency": "GPU orchestration",
    "communicationEfficiency": "communication",
    "loadBalance": "load balance",
    "lbIn": "load balance within nodes",
    "lbOut": "load balance between nodes",
}
_OF_MPI = re.compile("MPI (load balance|communication)")  # of ranks without threads these are those of the whole run
_TIMES = {"elapsedTime": "elapsed_time_s", "usefulTime": "useful_time_s", "mpiTime": "mpi_time_s"}
_COUNTS = {"cycles": "useful_cycles", "instructions": "useful_instructions", "numMpiCalls": "mpi_calls"}
_LARGEST = 1 << 63  # nanoseconds and counts have 64 bits

Region = dict[str, Any]


class _Document(msgspec.Struct):
    popMetrics: dict[str, Region] | list[Region]  # noqa: N815 - as the file calls it


class TalpReader(Reader):
    """Efficiencies, times and counts of each region that TALP monitored; one row for each of them.

    ``p`` is the number of CPUs. Where each rank has one, MPI's load balance and communication efficiency are those of
    the run, and called so.
    """

    def sniff(self, source: Source) -> float:
        """Sure by the names of its parts."""
        return 0.95 if _STARTS.match(source.head) else 0.0

    def read(self, source: Source, options: NoOptions) -> Measurements:
        """Read all regions.

        Raises
        ------
        InputError
            No such document, a value that is no number, or no region in which time passed.
        """
        metrics = decode_document(source, _Document, "JSON of TALP with popMetrics").popMetrics
        regions = metrics if isinstance(metrics, list) else [{"name": name, **facts} for name, facts in metrics.items()]
        rows = [row for region in regions for row in _rows(region, source.name)]
        if not rows:
            raise InputError(source.name, "holds no region of TALP in which time passed")
        return results(rows, source.name, parameters=["p", "ranks", "nodes"], value="value", code=["region"])


def _rows(region: Region, source: str) -> list[Row]:
    numbers = {key: _number(key, value, source) for key, value in region.items() if key != "name"}
    if numbers.get("elapsedTime", 0) <= 0:
        return []
    ranks = numbers.get("numMpiRanks", 0)
    p = numbers.get("numCpus") or ranks
    columns = {"region": str(region.get("name", "")), "ranks": ranks, "nodes": numbers.get("numNodes", 0)}
    columns |= {"p": p} if p else {}
    metrics: dict[str, tuple[float, str]] = {}
    for key, name in _EFFICIENCIES.items():
        if key in numbers:
            is_whole = p == ranks and _OF_MPI.match(name)
            metrics[name.removeprefix("MPI ") if is_whole else name] = numbers[key], SHARE
    metrics |= {name: (numbers[key] * 1e-9, "s") for key, name in _TIMES.items() if key in numbers}
    metrics |= {name: (numbers[key], "") for key, name in _COUNTS.items() if key in numbers}
    return [
        {**columns, "metric": name, "unit": unit, "value": value}
        for name, (value, unit) in metrics.items()
        if value > 0
    ]


def _number(key: str, value: Any, source: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        raise InputError(source, f"{key} is {str(value)[:40]!r}, and not a number as TALP writes it")
    return value
