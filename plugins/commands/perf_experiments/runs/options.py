"""How the runs of a design are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perf_experiments.runs.repetition import FEWEST_RUNS
from perfcore.base.errors import OptionError


def parse_share(share: str | float, option: str) -> float:
    """``"2%"``, ``"0.02"`` or 0.02, as an option was given it."""
    text = str(share)
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise OptionError(f"{option} {text!r}: a share between 0 and 1 is expected, such as 2% or 0.02")
    return value


@dataclass(frozen=True)
class RunOptions:
    """How runs are made.

    Attributes
    ----------
    command : sequence of str
        Program and arguments, with ``{FACTOR}`` where a level stands; empty: that of the store.
    versions : mapping of str to sequence of str
        Program and arguments of each level of the factor ``version``; ``command`` follows them.
    launcher : str
        ``local``, ``mpirun``, ``srun``, or words of its own to put before the command.
    values : sequence of str
        ``NAME=EXPRESSION``, what to find in the output.
    results : str, optional
        File that a run writes, with places like the command; see `perf_experiments.runs.values.ResultsFile`.
    time_limit_s : float, seconds, > 0, optional
    warmup : int, >= 0
        Runs before each measured one that are not kept, so that each is measured in the same state.
    until : float, > 0, optional
        Repeat each point until half the width of the 95 % interval of its median is this share of the median.
    most : int, >= 1
        Runs of one point at most, with ``until``.
    max_load : float, 0 to 1
        Share of the processors that others may use before a run; 1: do not look.
    wait_s : float, seconds, >= 0
        How long to wait for that before a run is made all the same and marked as noisy.
    retry_failed : bool
    keep_bytes : int, >= 0
        Of each of standard output, standard error and the results file.

    Raises
    ------
    OptionError
        A number out of its range, or options that exclude each other.
    """

    command: Sequence[str] = ()
    launcher: str = "local"
    values: Sequence[str] = ()
    results: str | None = None
    time_limit_s: float | None = None
    warmup: int = 0
    until: float | None = None
    most: int = 30
    max_load: float = 0.2
    wait_s: float = 10.0
    retry_failed: bool = False
    keep_bytes: int = 1 << 20
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 <= self.max_load <= 1.0:
            raise OptionError(f"a busy share of {self.max_load:g}: 0 to 1 is expected, 1 for no check")
        if self.until is not None and not 0.0 < self.until < 1.0:
            raise OptionError(f"repetition until {self.until:g}: a share between 0 and 1 is expected, 0.02 for 2 %")
        if self.until is not None and self.versions:
            raise OptionError(
                "--until looks at each version alone, and rounds would lose one; leave it out: `perf gate --run` adds "
                "rounds until the versions can be told apart"
            )
        if self.until is not None and self.most < FEWEST_RUNS:
            raise OptionError(
                f"at most {self.most} runs of a point: {FEWEST_RUNS} are needed before the interval of a median exists"
            )
