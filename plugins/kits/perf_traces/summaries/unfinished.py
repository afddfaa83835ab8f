"""What is summed up so far, kept beside the output: an interrupted or killed call goes on from there."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

from perf_traces.summaries.run import Run
from perf_traces.summaries.summary import Gathered, Summary
from perf_traces.summaries.summary_file import load, save
from perfcore.base import progress
from perfcore.base.errors import DataError, InputError

_EVERY_S = 30.0
_TIMES = 10  # what writing took passes so often before it is done again: of very many cells it takes minutes


class Unfinished:
    """The file beside an output that has the sums of the files that are done."""

    def __init__(self, path: Path, run: Run, positions: frozenset[int]) -> None:
        self.path = path
        self._run, self._positions = run, positions
        self._next = time.monotonic() + _EVERY_S

    def earlier(self) -> Summary | None:
        """What an earlier call left, if it is of the same files and options."""
        if not self.path.is_file():
            return None
        with contextlib.suppress(InputError):  # damaged, or none of ours
            summary, _ = load(self.path, checked=True)
            if summary.run.identity == self._run.identity and summary.positions <= self._positions:
                progress.note(
                    f"going on after {len(summary.positions)} of {len(self._positions)} files, from {self.path}"
                )
                return summary
        return None

    def keep(self, gathered: Gathered) -> None:
        """Write the sums if it is time to."""
        if time.monotonic() >= self._next:
            self.save(gathered)

    def save(self, gathered: Gathered) -> int:
        """Write the sums as far as they go; how many files are in what was written.

        Files that could not be read are not among them: they are tried again.
        """
        began = time.monotonic()
        try:
            summary = replace(gathered.summary(), left_out={})
            save(summary, self.path)
        except DataError:  # nothing is summed up yet
            return 0
        except InputError as error:  # the sums in memory are still good
            progress.note(f"what is summed up so far cannot be kept: {error}")
            return 0
        finally:
            ended = time.monotonic()
            self._next = ended + max(_EVERY_S, _TIMES * (ended - began))
        return len(summary.files)

    def remove(self) -> None:
        """The output is written."""
        self.path.unlink(missing_ok=True)
