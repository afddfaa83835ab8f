"""Calls of what only equations have, with their units: made into expressions, simplified where a number is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from perf_formulas.parser import QUANTILE
from perf_structural.algebra import Algebra
from perf_structural.expression import Constant, Expression
from perf_structural.indexed import Indexed, aligned, at_place, joined, need_numbers, places, reduced, rows
from perf_structural.language.copies import whole
from perf_structural.language.functions import INTERPOLATE, OVER_COPIES
from perf_structural.units import PLAIN
from perfcore.base.errors import DataError


_STATIONS = frozenset({"queue_wait", "mean_queue_wait", "sharing_slowdown"})
_OF_SHARES = frozenset({"barrier_over", "grained_barrier_over"})


class Calls:
    """Makes expressions of calls."""

    def __init__(self, algebra: Algebra, sizes: Mapping[str, int], chance: Callable[[str], Expression]) -> None:
        self.algebra, self.sizes, self.chance = algebra, sizes, chance
        self.waits: dict[str, tuple[Expression, ...]] = {}

    def of(self, text: str, symbol: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        """What a call stands for."""
        try:
            if symbol == "pipeline_over":
                return self._pipeline(text, parts, over)
            if symbol in OVER_COPIES:
                return self._over_copies(text, symbol, parts, over)
            if symbol in _STATIONS:
                return self._station(text, symbol, parts)
            if symbol == QUANTILE:
                return joined(text, self._quantile, parts, self.sizes, parts[0].unit)
            if symbol == INTERPOLATE:
                return self._interpolated(text, parts)
            need_numbers("the place", parts[:1])
            values, unit = aligned(symbol, parts[1:], self.algebra)
            return joined(text, lambda k, *cells: self._k_th(k, cells), [parts[0], *values], self.sizes, unit)
        except DataError as error:
            message = str(error)
            raise DataError(message if message.startswith(text) else f"{text}: {message}") from None

    def _over_copies(self, text: str, symbol: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        place = OVER_COPIES[symbol]
        others = [*parts[:place], *parts[place + 1 :]]
        if symbol in _OF_SHARES:
            need_numbers("a share", parts[:1])
        if symbol == "grained_barrier_over":
            others, _ = aligned("a grain and a slice", others, self.algebra)
        else:
            need_numbers(symbol, others)
        return reduced(text, lambda group, numbers: self._of_copies(symbol, group, numbers), parts[place], over, others)

    def _of_copies(self, symbol: str, group: Sequence[Expression], numbers: Sequence[Expression]) -> Expression:
        """One expression of the copies along an index."""
        algebra = self.algebra
        match symbol:
            case "k_th_over":
                return self._k_th(numbers[0], group)
            case "pick_over":
                number = numbers[0]
                if isinstance(number, Constant):
                    return group[int(whole("number of the copy", number.value, 1, len(group))) - 1]
                return algebra.call(symbol, [*group, number])
            case "loop_over":
                return algebra.call(symbol, [*group, numbers[0], *(numbers[1:] or [algebra.constant(1.0)])])
            case "barrier_over" | "grained_barrier_over":
                return algebra.call(symbol, [*group, *numbers])
        for count in numbers:
            if not isinstance(count, Constant):
                return algebra.call(symbol, [*group, count])
            least = 0 if symbol == "sum_over" else 1
            group = group[: int(whole("number of copies", count.value, least, len(group)))]
        if symbol in {"max_over", "min_over"}:
            return algebra.extremum(symbol == "max_over", group)
        return algebra.add(group) if symbol == "sum_over" else algebra.scale(1.0 / len(group), algebra.add(group))

    def _k_th(self, k: Expression, cells: Sequence[Expression]) -> Expression:
        if isinstance(k, Constant):
            place = int(whole("place", k.value, 1, len(cells)))
            if place in {1, len(cells)}:
                return self.algebra.extremum(place == len(cells), cells)
        return self.algebra.call("k_th", [k, *cells])

    def _interpolated(self, text: str, parts: Sequence[Indexed]) -> Indexed:
        operand, *points = parts
        if len(points) % 2:
            raise DataError("points are pairs of numbers: interpolate(x, x1, y1, x2, y2)")
        (operand, *abscissas), _ = aligned("x, x1, x2, ...", [operand, *points[::2]], self.algebra)
        values, unit = aligned("y1, y2, ...", points[1::2], self.algebra)
        cells = [cell for point in (*abscissas, *values) for cell in point.cells.values()]
        if len(cells) != len(points) or not all(isinstance(cell, Constant) for cell in cells):
            raise DataError("points are known numbers, not uncertain or replicated ones")
        return joined(text, lambda x: self.algebra.call(INTERPOLATE, [x, *cells]), [operand], self.sizes, unit)

    def _quantile(self, operand: Expression, level: Expression) -> Expression:
        if not isinstance(level, Constant) or not 0.0 < level.value < 1.0:
            raise DataError("the level of a quantile is a number between 0 and 1, such as 0.95")
        return operand if isinstance(operand, Constant) else self.algebra.call(QUANTILE, [operand, level])

    def _station(self, text: str, symbol: str, parts: Sequence[Indexed]) -> Indexed:
        rate, service, *numbers = parts
        need_numbers(symbol, numbers)
        work = rate.unit.times(service.unit)
        if work.kind.powers:
            raise DataError(
                f"the first argument is a rate, such as 1/s for times in s, but {rate.described} and "
                f"{service.described}"
            )
        scale, unit = work.scale_to(PLAIN), PLAIN if symbol == "sharing_slowdown" else service.unit
        indices, rows_by_place = rows(parts, self.sizes)
        cells = {}
        for place, (arrivals, *row) in rows_by_place.items():
            arguments = [self.algebra.scale(scale, arrivals), *row]
            if symbol == "queue_wait":
                number = f"[{','.join(str(index + 1) for index in place)}]" if place else ""
                arguments.append(self._chance(f"chance in {text}{number}", tuple(arguments)))
            cells[place] = self.algebra.call(symbol, arguments)
        return Indexed(text, cells, indices, unit)

    def _chance(self, name: str, arguments: tuple[Expression, ...]) -> Expression:
        """The chance of one call; calls of other arguments have their own, also where their texts are cut to one."""
        unique, number = name, 1
        while self.waits.setdefault(unique, arguments) != arguments:
            number += 1
            unique = f"{name} ({number})"
        return self.chance(unique)

    def _pipeline(self, text: str, parts: Sequence[Indexed], over: str | None) -> Indexed:
        times, room = parts
        need_numbers("the room between two stages", [room])
        if len(times.indices) != 2:
            replication = f"replicated over {' and '.join(times.indices)}" if times.indices else "not replicated"
            raise DataError(
                f"{times.text!r} is {replication}; one time for each stage and item is expected: "
                'each = [...], over = "stage", replicate = { item = 100 }'
            )
        stage = times.indices.index(over) if over in times.indices else 0
        in_order = [
            times.cells[place if stage == 1 else place[::-1]]
            for place in places([times.indices[1 - stage], times.indices[stage]], self.sizes)
        ]
        (capacity,) = at_place(text, [room], (), ())
        stages = self.algebra.constant(float(self.sizes[times.indices[stage]]))
        return Indexed(text, {(): self.algebra.call("pipeline_over", [*in_order, capacity, stages])}, (), times.unit)
