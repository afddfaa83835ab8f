"""Where each iteration begins and ends: sections that match one profile, found by dynamic programming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perf_worley.activity import clipped_sums
from perfcore.base.arrays import Floats, Ints
from perfcore.data.curve import UtilizationCurve
from perfcore.data.trace import Trace
from perfcore.data.units import nanoseconds_per

_PARTS = 32
_MOST_CORRELATION = 0.97
_FINE = 64  # of a section, while its ends are moved
_FINEST, _BESIDE = 2048, 64  # of the mean section, while its start is settled, and those on either side of it
_SHORTEST, _LONGEST = 0.6, 1.6  # of the period
_LIKE = 0.3  # correlation from which on a section is an iteration, and neighbouring windows look alike
_GAP = 1.0  # price of a gap between two sections, in periods
_STRAY, _USUAL = 0.05, 0.12  # price of a duration that is not the period, and how far durations usually stray
_USUALLY = 0.7  # share of the usual correlation from which on a section is one, once that is known
_ROUNDS = 3
_ORIGINS = 8  # places of an iteration that are tried as its start
_SLACK, _SLACK_ANYWAY = 1.2, 0.02  # times, and plus: what a shorter period may leave unexplained
_MOST_SHIFT = 0.25  # of a period, by which all starts are moved together
_PARTED = (5, 4, 3, 2)  # as so many a section may turn out
_MOST_SCREENED = 100  # iterations that are looked at before all
# Noise strays by 0.2 and more where it explains anything; what explains much may stray more.
_MOST_STRAY, _LEAST_EXPLAINED, _STRAY_OF_NONE, _STRAY_PER_EXPLAINED = 0.17, 0.2, 0.1, 0.14
_LEAST_LENGTH = 0.3  # of the longest stretch in which windows of some period are alike
_HOPELESS = 0.24  # stray of sections that further rounds do not make iterations
_ODD, _ODD_SPREADS = 0.2, 3.0  # how far the duration of a first or last section may be from the median
_FLOOR = 0.02  # share of the run's variance below which a window has nothing to compare
# Sections that take less than a tenth of the run may be alike by chance: without iterations (seeds from 700 on) they
# have 1e-8 and more, recorded ones 1e-17 and less.
_A_MOMENT, _BY_CHANCE = 0.1, 1e-7
_FAR = 6.0  # times the usual residual
_MOST_PARTS = 1024
_STEPS = (0.06, 0.03, 0.03, 0.015, 0.015, 0.008)  # of the period, by which ends are moved
_LAST_STEPS = (0.015, 0.008, 0.004, 0.002, 0.001, 0.002, 0.001, 0.0005, 0.0005)  # of the iterations that are taken
_MOST_CELLS, _CELLS_PER_CHANGE = 1 << 16, 32
_MOST_STATES = 5
_MOST_INTERVALS = 1 << 20  # of longer traces the curve alone is looked at
_MOST_PIECES = 1 << 22  # locations times cells
_FEWEST_CELLS, _SHORTEST_NS = 1 << 10, 16  # cells of the states, whose edges are whole nanoseconds
FEWEST = 4  # sections that are called iterations
_WINDOW = 16  # cells of the shortest one; the longest has nearly twice as many
_MOST = 8  # candidates
_APART = 0.2  # between the logarithms of two


def chance(signal: Signal, starts: Floats, ends: Floats) -> float:
    """Return the probability that the best sections of noise have as much in common, by an analysis of variance.

    Of any noise some sections are alike, and a search through all places and durations finds them: of two or three
    steps each, four such sections are found in most runs of a thousand steps.
    """
    from scipy.special import fdtrc

    n_sections, duration = len(starts), float(np.median(ends - starts))
    others = n_sections - 1
    n_values = max(signal.n_changes * duration / signal.n_cells, 2.0)
    parts = signal.sections(starts, ends, _PARTS)
    parts = parts - parts.mean(axis=1, keepdims=True)
    profile = parts.mean(axis=0)
    errors = parts - profile
    explained, left = n_sections * float((profile**2).sum()), float((errors**2).sum())
    if left <= 1e-12 * explained:  # exact repetition
        return 0.0
    correlation = min(max(float((errors[:, 1:] * errors[:, :-1]).sum()) / left, 0.0), _MOST_CORRELATION)
    freedom = max(min(n_values - 1.0, (_PARTS - 1) * (1.0 - correlation) / (1.0 + correlation)), 1.0)
    places = signal.n_cells / duration * min(n_values, _PARTS)
    return min(float(fdtrc(freedom, others * freedom, explained * others / left)) * places, 1.0)


class Aligned(NamedTuple):
    """Iterations."""

    starts: Floats  # in cells of the signal, in order; an iteration may begin where the one before ends, or later
    ends: Floats
    explained: float  # share of the signal's variance in them that the mean of all other iterations explains

    @property
    def period(self) -> float:
        """Mean duration."""
        return float((self.ends - self.starts).mean())

    @property
    def stray(self) -> float:
        """Root mean squared logarithm of durations over their median."""
        return float(np.sqrt((self._logarithms**2).mean()))

    @property
    def _logarithms(self) -> Floats:
        durations = self.ends - self.starts
        return np.asarray(np.log(durations / np.median(durations)))

    @property
    def regular(self) -> bool:
        """Whether these are iterations: noise has sections that look alike, but not of one duration."""
        return self.explained >= _LEAST_EXPLAINED and self.stray <= min(
            _STRAY_OF_NONE + _STRAY_PER_EXPLAINED * self.explained, _MOST_STRAY
        )

    def trimmed(self) -> Aligned:
        """Without first and last sections of another duration: what lies beside them may look like a part of one."""
        strays = np.abs(self._logarithms)
        odd = strays > _ODD + _ODD_SPREADS * 1.4826 * float(np.median(strays))
        usual = np.flatnonzero(~odd)
        kept = slice(usual[0], usual[-1] + 1)
        return Aligned(self.starts[kept], self.ends[kept], self.explained)


class _Fit(NamedTuple):  # sections on cells of their own
    gain: float
    starts: Floats
    ends: Floats


def align(signal: Signal, candidates: Sequence[Candidate]) -> Aligned | None:
    """Return the iterations of the shortest period that explains the run about as well as any; None without."""
    alignments = []
    for candidate in candidates:
        search = Search(signal, candidate)
        fit = search.fit()
        if fit is not None and search.aligned(fit).regular:
            moved = search.moved(fit)
            if moved.regular:
                alignments.append((moved, search, fit))
    if not alignments:
        return None
    # What repeats for a moment only is not what the run does.
    lengths = [search.candidate.end - search.candidate.start for _, search, _ in alignments]
    alignments = [
        entry for entry, length in zip(alignments, lengths, strict=True) if length >= _LEAST_LENGTH * max(lengths)
    ]
    shortest = min(each.period for each, _, _ in alignments)

    # In parts of one duration for all: longer parts average noise away.
    shares = [
        _explained(signal, each.starts, each.ends, round(min(_PARTS * each.period / shortest, _MOST_PARTS)))
        for each, _, _ in alignments
    ]
    most = max(shares)
    usable = [entry for entry, share in zip(alignments, shares, strict=True) if _as_good(share, most)]
    aligned, search, fit = min(usable, key=lambda entry: entry[0].period)
    for parts in _PARTED:  # several iterations may have been taken for one
        finer = Search(signal, Candidate(aligned.period / parts, aligned.starts[0], aligned.ends[-1], 0.0))
        part_starts = aligned.starts[:, None] + (aligned.ends - aligned.starts)[:, None] * (np.arange(parts) / parts)
        finer_fit = finer.fit(part_starts.ravel())
        if finer_fit is not None:
            moved = finer.moved(finer_fit)
            as_one = _explained(signal, aligned.starts, aligned.ends, _PARTS * parts)
            if moved.regular and _as_good(moved.explained, as_one):
                search, fit = finer, finer_fit
                break
    fit = search.widened(fit)
    if len(fit.starts) <= _MOST_SCREENED:
        fit = search.best_origin(fit)
    aligned = search.settled(search.sharpened(search.moved(fit))).trimmed()
    if not aligned.regular or not FEWEST <= len(aligned.starts) <= signal.n_changes:
        return None
    lasts = float(aligned.ends[-1] - aligned.starts[0])
    by_chance = lasts < _A_MOMENT * signal.n_cells and chance(signal, aligned.starts, aligned.ends) > _BY_CHANCE
    return None if by_chance else aligned


class Search:
    """Looks for the iterations of about one period, at first in no more than 100 of them."""

    def __init__(self, signal: Signal, candidate: Candidate) -> None:
        self.signal, self.candidate = signal, candidate
        n = max(round(signal.n_cells * _PARTS / candidate.period), _PARTS)
        self.width = signal.n_cells / n  # of the cells here, in cells of the signal
        self.all_cells = signal.coarse(n)
        self.floor = _FLOOR * float((self.all_cells**2).sum(axis=1).mean())
        self.period, self.like = candidate.period / self.width, _LIKE
        half = _MOST_SCREENED * _PARTS // 2
        middle = int(0.5 * (candidate.start + candidate.end) / self.width)
        self.first = max(min(middle - half, n - 2 * half), 0)
        self.cells = self.all_cells[self.first : self.first + 2 * half]

    def fit(self, starts: Floats | None = None) -> _Fit | None:
        """Return the sections that look like one profile, which is that of their mean."""
        if starts is None:
            profile = self._first_profile()
        else:
            profile = np.asarray(self.signal.sections(starts, starts + self.candidate.period, _PARTS).mean(axis=0))
        sections = None
        for _ in range(_ROUNDS):
            sections = self._sections(profile)
            if sections is None or Aligned(sections.starts, sections.ends, 0.0).stray > _HOPELESS:
                return None
            profile = self._profile(sections.starts, sections.ends)
            self.period = float(np.median(sections.ends - sections.starts))
        return sections

    def _first_profile(self) -> Floats:
        """Of the two neighbours that are most alike."""
        period, start, end, _ = self.candidate
        start = max(start, self.first * self.width)
        first = start + period * np.arange(min(max(int((end - start) / period), 2), _MOST_SCREENED), dtype=np.float64)
        parts = self.signal.sections(first, first + period, _PARTS)
        best = int(np.argmax(_likeness(parts[:-1], parts[1:], self.floor)))
        return np.asarray(0.5 * (parts[best] + parts[best + 1]))

    def widened(self, fit: _Fit) -> _Fit:
        """Return the sections of the whole run; those before and after must be nearly as like as usual."""
        parts = self.signal.sections(fit.starts * self.width, fit.ends * self.width, _PARTS)
        profile = parts.mean(axis=0)
        self.like = max(_LIKE, _USUALLY * float(np.median(_likeness(parts, profile, self.floor))))
        self.first, self.cells = 0, self.all_cells
        return self._sections(profile) or fit

    def _sections(self, profile: Floats) -> _Fit | None:
        """Return the sections that match a profile best; None where they are too few."""
        cells, period = self.cells, self.period
        durations = np.arange(max(round(_SHORTEST * period), 4), max(round(_LONGEST * period), 5) + 1)
        durations = durations[durations < len(cells)]
        gains = np.full((len(durations), len(cells) + 1), -np.inf)
        sums = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(cells, axis=0)])
        squares = np.concatenate([[0.0], np.cumsum((cells**2).sum(axis=1))])
        profile_sums = np.concatenate([np.zeros((1, profile.shape[1])), np.cumsum(profile, axis=0)])
        knots = np.arange(len(profile) + 1)
        for row, duration in zip(gains, durations.tolist(), strict=True):
            edges = np.linspace(0.0, len(profile), duration + 1)
            warped = np.column_stack([np.diff(np.interp(edges, knots, column)) for column in profile_sums.T])
            warped *= duration / len(profile)
            warped -= warped.mean(axis=0)
            shared = sum(np.correlate(channel, part, "valid") for channel, part in zip(cells.T, warped.T, strict=True))
            means = sums[duration:] - sums[:-duration]
            spread = squares[duration:] - squares[:-duration] - (means**2).sum(axis=1) / duration
            likeness = 2.0 * shared / (spread + float((warped**2).sum()) + 2.0 * self.floor * duration)
            row[: len(likeness)] = duration * (likeness - self.like - _price(duration, period))
        total, sections = _chain(gains, durations, _GAP * period)
        if len(sections) < FEWEST:
            return None
        starts, ends = np.array(sections, dtype=np.float64).T + self.first
        return _Fit(total, starts, ends)

    def _profile(self, starts: Floats, ends: Floats) -> Floats:
        return np.asarray(self.signal.sections(starts * self.width, ends * self.width, _PARTS).mean(axis=0))

    def aligned(self, fit: _Fit) -> Aligned:
        """Return the sections in cells of the signal, and how much they explain."""
        starts, ends = fit.starts * self.width, fit.ends * self.width
        return Aligned(starts, ends, _explained(self.signal, starts, ends, _PARTS))

    def best_origin(self, fit: _Fit) -> _Fit:
        """Return the same iterations from where they begin: with that start, most of the run is covered."""
        best = fit
        for step in range(1, _ORIGINS):
            shift = step / _ORIGINS * (fit.ends - fit.starts)
            begin = (fit.starts + shift)[:-1]
            end = np.minimum(fit.ends[:-1] + shift[:-1], fit.ends[1:])
            shifted = self._sections(self._profile(begin, end))
            if shifted is not None and shifted.gain > best.gain:
                best = shifted
        return best

    def sharpened(self, aligned: Aligned) -> Aligned:
        """With all starts moved together to where the profile changes most, which is where they are known best."""
        starts, ends = aligned.starts, aligned.ends
        profile = self.signal.sections(starts, ends, _PARTS).mean(axis=0)
        jumps = ((profile - np.roll(profile, 1, axis=0)) ** 2).sum(axis=1)
        for step in np.argsort(-jumps, kind="stable").tolist():
            share = (step if step <= _PARTS // 2 else step - _PARTS) / _PARTS
            if abs(share) > _MOST_SHIFT:
                continue
            shift = share * (ends - starts)
            shifted = self._shifted(aligned, shift)
            if shifted is None:
                continue
            moved = self.moved(_Fit(0.0, shifted[0] / self.width, shifted[1] / self.width))
            if moved.explained >= aligned.explained - _SLACK_ANYWAY:
                return moved
        return aligned

    def moved(self, fit: _Fit) -> Aligned:
        steps = _STEPS[: 2 if len(fit.starts) > 2 * _MOST_SCREENED else None]
        return self._moved(fit.starts * self.width, fit.ends * self.width, steps)

    def settled(self, aligned: Aligned) -> Aligned:
        """Return starts and ends as exactly as the profile tells them: durations are compared with each other."""
        aligned = self._moved(aligned.starts, aligned.ends, _LAST_STEPS)
        some = np.linspace(0, len(aligned.starts) - 1, min(len(aligned.starts), _MOST_SCREENED)).astype(int)
        profile = self.signal.sections(aligned.starts[some], aligned.ends[some], _FINEST).mean(axis=0)
        # All of them may lie next to the change by as much: what comes after it differs most from what was before.
        around = np.cumsum(np.concatenate([profile[-2 * _BESIDE :], profile[: 2 * _BESIDE]]), axis=0)
        contrast = ((around[2 * _BESIDE :] - 2.0 * around[_BESIDE:-_BESIDE] + around[: -2 * _BESIDE]) ** 2).sum(axis=1)
        share = (int(np.argmax(contrast)) + 1 - _BESIDE) / _FINEST
        shifted = self._shifted(aligned, share * (aligned.ends - aligned.starts))
        return aligned if shifted is None else self._moved(*shifted, _LAST_STEPS)

    def _shifted(self, aligned: Aligned, shift: Floats) -> tuple[Floats, Floats] | None:
        """With all starts moved; the run may cut off a part of the first or last section, and no more."""
        starts, ends = aligned.starts + shift, aligned.ends + shift
        ends[:-1] = np.where(aligned.starts[1:] == aligned.ends[:-1], starts[1:], ends[:-1])
        part = float(np.median(aligned.ends - aligned.starts)) / _PARTS
        if starts[0] < -part or ends[-1] > self.signal.n_cells + part:
            return None
        starts, ends = np.maximum(starts, 0.0), np.minimum(ends, float(self.signal.n_cells))
        return (starts, ends) if (ends > starts).all() else None

    def _moved(self, starts: Floats, ends: Floats, steps: Sequence[float]) -> Aligned:
        """Move starts and ends to a part of a cell: each to where its neighbours match the profile best."""
        signal, floor, period = self.signal, self.floor, self.period * self.width
        joint = starts[1:] == ends[:-1]
        for step in steps:
            profile = signal.sections(starts, ends, _FINE).mean(axis=0)
            for parity in (0, 1):
                # The start of every second section; where the one before ends there, its end moves along.
                chosen = np.arange(parity, len(starts), 2)
                before = chosen[(chosen > 0)]
                before = before[joint[before - 1]] if len(before) else before
                gains = []
                for shift in (0.0, -step * period, step * period):
                    begin = np.clip(starts[chosen] + shift, 0.0, ends[chosen] - 0.2 * period)
                    gain = _likeness(signal.sections(begin, ends[chosen], _FINE), profile, floor)
                    if len(before):
                        end = np.maximum(starts[before] + shift, starts[before - 1] + 0.2 * period)
                        positions = np.searchsorted(chosen, before)
                        gain[positions] += _likeness(signal.sections(starts[before - 1], end, _FINE), profile, floor)
                    gains.append(gain)
                move = np.array([0.0, -step * period, step * period])[np.argmax(gains, axis=0)]
                begin = np.clip(starts[chosen] + move, 0.0, ends[chosen] - 0.2 * period)
                free = np.setdiff1d(chosen, before)
                lower = np.where(free > 0, ends[free - 1], 0.0)
                starts = starts.copy()
                starts[chosen] = begin
                starts[free] = np.maximum(starts[free], lower)
                ends = ends.copy()
                ends[before - 1] = starts[before]
            usual = float(np.median(ends - starts))
            last = np.flatnonzero(np.append(~joint, True))  # whose ends no start moves
            upper = np.append(starts[1:], float(signal.n_cells))[last]
            shifts = np.array([0.0, -step * period, step * period])
            places = np.clip(ends[last] + shifts[:, None], starts[last] + 0.2 * period, upper)
            gains = [
                _likeness(signal.sections(starts[last], end, _FINE), profile, floor) - _price(end - starts[last], usual)
                for end in places
            ]
            ends[last] = places[np.argmax(gains, axis=0), np.arange(len(last))]
        return Aligned(starts, ends, _explained(signal, starts, ends, _PARTS))


def _as_good(share: float, best: float) -> bool:
    """Return whether a shorter period leaves about as little unexplained as the best one."""
    return 1.0 - share <= _SLACK * (1.0 - best) + _SLACK_ANYWAY


def _explained(signal: Signal, starts: Floats, ends: Floats, n: int) -> float:
    """Return the share of the variance of sections, in so many parts, that the mean of the others explains."""
    parts = signal.sections(starts, ends, n)
    others = (parts.sum(axis=0) - parts) / (len(parts) - 1)
    unexplained = ((parts - others) ** 2).sum(axis=(1, 2))
    usual = unexplained <= _FAR * np.median(unexplained)
    parts = parts[usual]
    others = (parts.sum(axis=0) - parts) / max(len(parts) - 1, 1)
    unexplained, total = ((parts - others) ** 2).sum(), ((parts - parts.mean(axis=(0, 1))) ** 2).sum()
    return float(1.0 - unexplained / total) if total > 0.0 else 0.0


def _likeness(one: Floats, other: Floats, floor: float) -> Floats:
    """Return the correlation of sections (..., n, n_channels) without their means."""
    one, other = (part - part.mean(axis=-2, keepdims=True) for part in (one, other))
    shared = (one * other).sum(axis=(-2, -1))
    spread = (one**2).sum(axis=(-2, -1)) + (other**2).sum(axis=(-2, -1))
    return np.asarray(2.0 * shared / (spread + 2.0 * floor * one.shape[-2]))


def _price(duration: Any, usual: float) -> Any:  # of a duration that is not the usual one, in likeness
    return _STRAY * np.log1p((np.log(duration / usual) / _USUAL) ** 2)


def _chain(gains: Floats, durations: Ints, gap: float) -> tuple[float, list[tuple[int, int]]]:
    """Return the chain of increasing, disjoint sections of the largest gain, in which each gap has a price."""
    n, shortest, every = gains.shape[1] - 1, int(durations[0]), np.arange(len(durations))
    ending = np.full(n + 1, -np.inf)  # best chain whose last section ends here
    best = np.zeros(n + 1)  # best chain until here, of none or several sections
    last = np.zeros(n + 1, np.int64)  # where its last section ends
    best_duration, before = last.copy(), last.copy()  # of the section that ends here; where the one before that ends
    for first in range(1, n + 1, shortest):  # sections that end before the shortest one has passed start before it
        ends = np.arange(first, min(first + shortest, n + 1))
        starts = np.maximum(ends[:, None] - durations, 0)
        after_gap = np.maximum(best[starts] - gap, 0.0)
        values = gains[every, starts] + np.maximum(after_gap, ending[starts])
        values[ends[:, None] < durations] = -np.inf
        longest = (np.arange(len(ends)), values.argmax(axis=1))
        ending[ends], best_duration[ends], start = values[longest], longest[1], starts[longest]
        before[ends] = np.where(
            ending[start] > after_gap[longest], start, np.where(after_gap[longest] > 0.0, last[start], -1)
        )
        running = np.maximum.accumulate(np.append(best[first - 1], ending[ends]))
        better = np.where(running[1:] > running[:-1], ends, last[first - 1])
        best[ends], last[ends] = running[1:], np.maximum.accumulate(better)
    total, end = best[n], last[n]
    sections = []
    while total > 0.0 and end > 0:
        sections.append((int(end - durations[best_duration[end]]), int(end)))
        end = before[end]
    return float(total), sections[::-1]


class Signal:
    """Step functions on common cells, whose means between any two times are known."""

    def __init__(self, cells: Floats, start: float, end: float, n_changes: int) -> None:
        self.start, self.end, self.n_changes = start, end, n_changes
        # The mean of a channel tells nothing of what repeats, and would cost digits.
        self.cells = cells - cells.mean(axis=0)
        self.summed = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(self.cells, axis=0)])

    @property
    def n_cells(self) -> int:
        return len(self.cells)

    def at(self, places: Floats) -> Floats:
        """Return integrals from the start until places (...,) in cells; (..., n_channels)."""
        index = np.clip(places.astype(np.int64), 0, self.n_cells - 1)
        part = (places - index)[..., None]
        return np.asarray(self.summed[index] + part * self.cells[index])

    def coarse(self, n: int) -> Floats:
        """Return means in ``n`` cells of equal duration, (n, n_channels)."""
        edges = np.linspace(0.0, self.n_cells, n + 1)
        return np.asarray(np.diff(self.at(edges), axis=0) / (self.n_cells / n))

    def sections(self, starts: Floats, ends: Floats, n: int) -> Floats:
        """Return means in ``n`` equal parts of each section; places in cells; (n_sections, n, n_channels)."""
        edges = starts[:, None] + (ends - starts)[:, None] * (np.arange(n + 1) / n)
        widths = np.maximum((ends - starts) / n, 1e-300)
        return np.asarray(np.diff(self.at(edges), axis=1) / widths[:, None, None])


def signal_of(curve: UtilizationCurve, trace: Trace | None = None) -> Signal:
    """Return the signal of a run."""
    start, end = float(curve.start), float(curve.end)
    changes = max(curve.n_steps, 0 if trace is None else trace.n_intervals // len(trace.locations))
    n_cells = min(_MOST_CELLS, max(_FEWEST_CELLS, 1 << (_CELLS_PER_CHANGE * changes - 1).bit_length()))
    heights = curve.averaged(n_cells)[1][:, None]
    if trace is None or trace.n_intervals > _MOST_INTERVALS or len(trace.states) < 2:
        return Signal(heights, start, end, changes)
    n, factor = n_cells, nanoseconds_per(curve.time_unit)
    while n > 1 and (n * len(trace.locations) > max(_MOST_PIECES, _FEWEST_CELLS * len(trace.locations))
                     or (end - start) * factor < _SHORTEST_NS * n):  # fmt: skip
        n //= 2
    totals = np.bincount(trace.state, trace.end_ns - trace.start_ns, minlength=len(trace.states))
    kept = np.argsort(-totals, kind="stable")[:_MOST_STATES]
    place = np.full(len(trace.states), _MOST_STATES)
    place[kept] = np.arange(len(kept))
    first, last = trace.span_ns
    edges = first + np.round(np.linspace(0.0, last - first, n + 1)).astype(np.int64)
    (times,) = clipped_sums(trace.start_ns, trace.end_ns, edges, [(place[trace.state], _MOST_STATES + 1)])
    means = times[:, : len(kept)] / np.maximum(np.diff(edges), 1)[:, None]
    return Signal(np.hstack([heights, np.repeat(means, n_cells // n, axis=0)]), start, end, changes)


class Candidate(NamedTuple):
    """A duration that may be a period."""

    period: float
    start: float
    end: float
    score: float  # how many windows are alike, each counted by its correlation


def candidates(signal: Signal) -> list[Candidate]:
    """Return durations that may be periods, the best first; none where no stretch looks like its neighbour."""
    likely_periods: list[Candidate] = []
    variance = float((signal.cells**2).sum(axis=1).mean())
    if not variance > 0.0:  # an even run
        return []
    n = signal.n_cells
    while n >= FEWEST * _WINDOW:
        cells = signal.coarse(n)
        scale = signal.n_cells / n
        sums = np.concatenate([np.zeros((1, cells.shape[1])), np.cumsum(cells, axis=0)])
        squares = np.concatenate([[0.0], np.cumsum((cells**2).sum(axis=1))])
        for lag in range(_WINDOW, 2 * _WINDOW):
            if FEWEST * lag > n + lag // 2:
                break
            products = np.concatenate([[0.0], np.cumsum((cells[:-lag] * cells[lag:]).sum(axis=1))])
            product = products[lag:] - products[:-lag]
            means = sums[lag:] - sums[:-lag]
            spread = squares[lag:] - squares[:-lag] - (means**2).sum(axis=1) / lag
            count = len(product)
            covariance = product - (means[:count] * means[lag : lag + count]).sum(axis=1) / lag
            correlation = np.asarray(
                2.0 * covariance / (spread[:count] + spread[lag : lag + count] + 2.0 * (_FLOOR * variance) * lag)
            )
            # The contiguous run of the largest sum.
            running = np.concatenate([[0.0], np.cumsum(correlation - _LIKE)])
            end = int(np.argmax(running - np.minimum.accumulate(running)))
            start = int(np.argmin(running[: end + 1]))
            score = float(correlation[start:end].sum()) / lag
            if end - start >= (FEWEST - 2) * lag:
                likely_periods.append(Candidate(lag * scale, start * scale, (end + 2 * lag) * scale, score))
        n //= 2
    kept: list[Candidate] = []  # the best ones of different periods
    for each in sorted(likely_periods, key=lambda candidate: -candidate.score):
        if all(abs(np.log(each.period / other.period)) > _APART for other in kept):
            kept.append(each)
    return kept[:_MOST]
