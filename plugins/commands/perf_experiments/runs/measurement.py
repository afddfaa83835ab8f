"""One run, measured."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perf_experiments.design.factors import Point
from perf_experiments.runs.environment import program_fingerprint
from perf_experiments.runs.interference import quiet_or_noisy
from perf_experiments.runs.options import RunOptions
from perf_experiments.runs.process import cut, run_process
from perf_experiments.runs.records import Run
from perf_experiments.runs.templates import filled
from perf_experiments.runs.values import ResultsFile, RunValueError, ValuePattern, values_in
from perfcore.base import progress


@dataclass
class Measuring:
    """Makes runs, one after the other."""

    options: RunOptions
    patterns: Sequence[ValuePattern]
    environment: Mapping[str, object]  # facts about this machine, kept with each run
    _busy: bool = False
    _programs: dict[str, Mapping[str, object]] = field(default_factory=dict)

    def run(self, point: Point, replication: int, command: Sequence[str]) -> Run:
        """Make one run."""
        options = self.options
        for _ in range(options.warmup):
            run_process(command, options.time_limit_s)
        share = self._look()
        file = None if options.results is None else ResultsFile(filled([options.results], point)[0])
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        completed = run_process(command, options.time_limit_s)
        problem, values, content = completed.problem, dict[str, float](), b""
        if problem is None:
            try:
                values, content = self._values(completed.stdout + b"\n" + completed.stderr, file, point)
            except RunValueError as error:
                problem = str(error)
        return Run(
            point=point,
            replication=replication,
            problem=problem,
            started=started,
            command=tuple(command),
            wall_ns=completed.wall_ns,
            user_s=completed.user_s,
            system_s=completed.system_s,
            peak_memory_kib=completed.peak_memory_kib,
            exit_status=completed.exit_status,
            signal=completed.signal,
            busy_before=share,
            noisy=self._busy,
            values=values,
            stdout=cut(completed.stdout, options.keep_bytes),
            stderr=cut(completed.stderr, options.keep_bytes),
            results=cut(content, options.keep_bytes),
            environment={**self.environment, **self._program(command[0])},
        )

    def _program(self, name: str) -> Mapping[str, object]:
        """The file of a program, which may differ from version to version; looked at once."""
        if name not in self._programs:
            self._programs[name] = program_fingerprint(name)
        return self._programs[name]

    def _look(self) -> float | None:
        """Wait until others leave the machine alone; where that did not help once, do not wait again until it does."""
        was_busy = self._busy
        share, self._busy = quiet_or_noisy(self.options.max_load, 0.0 if was_busy else self.options.wait_s)
        if self._busy and not was_busy:
            progress.note(
                f"other work keeps {share:.0%} of the processors busy; runs are marked as noisy, and not waited for, "
                "until it ends"
            )
        return share

    def _values(self, output: bytes, file: ResultsFile | None, point: Point) -> tuple[dict[str, float], bytes]:
        """What the run reported, and its results file."""
        if file is None:
            return values_in(output, self.patterns), b""
        content = file.content()
        if not file.is_json:
            return values_in(content, self.patterns, file.path), content
        output_values = values_in(output, self.patterns)
        return {**output_values, **file.numbers(content, reserved=[*output_values, *point])}, content
