"""Groups of GPU work, such as GEMM or attention, by a table of patterns that users extend."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from perf_formulas.formula import read_toml
from perf_io.traces.gpu_activity import GpuActivity
from perf_views.names import plain_name
from perfcore.base.arrays import Ints
from perfcore.base.errors import InputError, key_first

STANDARD = Path(__file__).with_suffix(".toml")
OTHER = "other"


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[group]]`` of a table: patterns of names."""

    name: str
    kernels: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    markers: tuple[str, ...] = ()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    group: tuple[Group, ...]


def read_groups(path: str | os.PathLike[str] | None) -> tuple[Group, ...]:
    """Return the groups of a file, and those of the standard table behind them."""
    groups: tuple[Group, ...] = ()
    for file in (STANDARD,) if path is None else (path, STANDARD):
        try:
            groups += msgspec.convert(read_toml(file, f"{STANDARD} is one"), _File).group
        except msgspec.ValidationError as error:
            raise InputError(os.fspath(file), key_first(error)) from None
    return groups


def group_of_pieces(activity: GpuActivity, groups: Sequence[Group]) -> tuple[list[str], Ints]:
    """Return names of groups, and the group of each piece: the first whose patterns its names fit."""
    pieces, host = activity.pieces, activity.host
    owner = pieces["owner"]
    operator = np.where(owner >= 0, host["name"][owner], -1) if len(host["name"]) else np.full(len(owner), -1)
    within = _within_markers(activity, groups)
    combinations, of_piece = np.unique(np.stack([pieces["name"], operator, within]), axis=1, return_inverse=True)
    names = [*dict.fromkeys(group.name for group in groups), OTHER]
    codes = [
        names.index(_name(groups, activity.names[kernel], activity.names[of] if of >= 0 else "", marked))
        for kernel, of, marked in combinations.T.tolist()
    ]
    return names, np.array(codes, np.int64)[of_piece.reshape(-1)]


def _name(groups: Sequence[Group], kernel: str, operator: str, marked: int) -> str:
    """The first group that the markers, the kernel or the operator fit."""
    by_kernel = [number for number, group in enumerate(groups)
                 if _fits(kernel, group.kernels) or _fits(plain_name(kernel), group.kernels)]  # fmt: skip
    by_operator = [number for number, group in enumerate(groups) if _fits(operator, group.operators)]
    found = [*([marked] if marked >= 0 else []), *by_kernel[:1], *by_operator[:1]]
    return groups[min(found)].name if found else OTHER


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def _within_markers(activity: GpuActivity, groups: Sequence[Group]) -> Ints:
    """The group whose markers are around the launch of each piece, -1 if there is none."""
    launch = activity.pieces["launch"]
    found = np.full(len(launch), -1)
    for number, group in reversed(list(enumerate(groups))):
        spans = sorted((start, end) for name, start, end in activity.markers if _fits(name, group.markers))
        if spans and len(activity.host["start"]):
            starts, ends = np.array(spans, np.int64).T
            moment = activity.host["start"][launch]
            at = np.searchsorted(starts, moment, "right") - 1
            found[(launch >= 0) & (at >= 0) & (moment < ends[at])] = number
    return found
