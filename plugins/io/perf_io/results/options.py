"""Options of the readers of results."""

from __future__ import annotations

from dataclasses import dataclass

from perfcore.hooks.options import option


@dataclass(frozen=True)
class SacctOptions:
    """Which jobs count, and what the fields of a table without names are."""

    failed: bool = option(False, "keep jobs that did not complete, with the time until they ended")
    fields: str | None = option(
        None, "names of the fields, where the first line does not give them", metavar="JOBID,STATE,..."
    )


@dataclass(frozen=True)
class MessageOptions:
    """Which messages count."""

    empty: bool = option(False, "keep messages of 0 bytes, of which no power or logarithm can be taken")


@dataclass(frozen=True)
class ProfileOptions:
    """Which metric of a profile is read."""

    metric: str | None = option(None, "metric to read (default: the time)", metavar="NAME")


@dataclass(frozen=True)
class ServingOptions:
    """What of a benchmark of serving is a row."""

    requests: bool = option(False, "a row for each request, where the file holds their times")
