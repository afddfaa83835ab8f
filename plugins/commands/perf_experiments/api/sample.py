"""`sample`: this machine, for a while."""

from __future__ import annotations

from typing import Literal

from perf_experiments.api.arguments import PathLike, seconds_of
from perf_experiments.sampling import sample_system
from perfcore.base.files import check_folder
from perfcore.data.series import Series
from perfcore.reading.recognise import write, writer


def sample(
    what: Literal["cpu", "network"],
    *,
    for_: str | float = "5min",
    every: str | float = "1s",
    output: PathLike | None = None,
) -> Series:
    """Sample the load of this machine; the function behind ``perf experiment sample``.

    Parameters
    ----------
    what : {"cpu", "network"}
        Shares of busy time, or bytes per second.
    for_, every : str, or float in seconds
        For how long, and how often.
    output : path, optional
        PathLike to write; its ending is the format.

    Returns
    -------
    Series
        An interrupt ends it early; its notes say so.

    Raises
    ------
    OptionError
        The ending, the interval or the number of samples is not possible.
    MissingDependencyError
        psutil is not installed.

    Examples
    --------
    >>> import perfcore
    >>> series = perfcore.sample("cpu", for_="40ms", every="20ms")
    >>> len(series.times), list(series.columns)[0]
    (2, 'cpu all busy')
    """
    if output is not None:
        writer(output)  # what is wrong with it is said before, not after, an hour of sampling
        check_folder(output)
    series = sample_system(what, round(seconds_of(for_) * 1e9), round(seconds_of(every) * 1e9))
    if output is not None:
        write(series, output)
    return series
