"""Units: of times, amounts of data, operations, counts and rates; by their labels, and as names of columns say them.

This is the one place where a unit is read from a text. A rate is not a time: ``rate_per_s`` ends like ``time_s``, and
means the opposite. The words are in ``columns.toml``.
"""

from __future__ import annotations

import datetime
import functools
import re
import tomllib
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from perfcore.base.errors import UnknownNameError

DAY_NS = 86_400 * 10**9
EXACT_NS = 1 << 53  # whole numbers up to here are exact as float64: 104 days
_FIRST_DATE, _LAST_DATE = 1e9, 4e9  # seconds since 1970
NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}  # in which curves and traces count

_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_BINARY_PREFIXES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_SECONDS = {"min": 60, "h": 3600, "d": 86400, "day": 86400, "ks": 10**3, "Ms": 10**6}
_RARE_TIMES = {"ps": "ps", "ks": "ks", "Ms": "Ms", "d": "day"}  # endings of names of times only, as in time_ks

# Each label: the one that those of its kind are multiples of, and how many of that it is.
LABELS: dict[str, tuple[str, Fraction]] = {
    **{label: ("s", Fraction(size, 10**9)) for label, size in NANOSECONDS.items()},
    **{label: ("s", Fraction(size)) for label, size in _SECONDS.items()},
    "ps": ("s", Fraction(1, 10**12)),
    **{f"{prefix}B": ("B", Fraction(size)) for prefix, size in (_PREFIXES | _BINARY_PREFIXES).items()},
    **{f"{prefix}bit": ("B", Fraction(size, 8)) for prefix, size in _PREFIXES.items()},
    **{f"{prefix}flop": ("flop", Fraction(size)) for prefix, size in _PREFIXES.items()},
}
_KINDS = {"s": "time", "B": "bytes", "flop": "operations"}

# The words of all columns, those of units among them.
VOCABULARY = tomllib.loads(Path(__file__).with_name("columns.toml").read_text(encoding="utf-8"))
_WORDS = VOCABULARY["units"]
_TIME_ENDINGS, _MORE_TIMES, _SHORT_RATES = (
    {word: label for label, words in _WORDS[key].items() for word in words.split()}
    for key in ("time_endings", "time_words", "short_rates")
)
_TIME_WORDS = _TIME_ENDINGS | _MORE_TIMES
_SHORT_RATES |= {f"{prefix.lower()}flops": f"{prefix}flop/s" for prefix in _PREFIXES if prefix}
_SHORT_RATES |= {f"{prefix.lower()}pps": f"{prefix}packets/s" for prefix in _PREFIXES}
_TIMES_ALONE, _TIME_QUANTITIES, _RATE_QUANTITIES, _COUNTED = (
    frozenset(_WORDS[key].split()) for key in ("times_alone", "time_quantities", "rate_quantities", "counted")
)
_COUNTS = frozenset({"#", "count", "counts", "1"})
_DATA = re.compile(r"(?P<prefix>[kmgtpe]?)(?P<binary>i?)(?P<base>b|bytes?|bits?)", re.IGNORECASE)
_OPERATIONS = re.compile(r"(?P<prefix>[kmgtpe]?)flops?", re.IGNORECASE)
_PER_SECOND = re.compile(r"(?P<prefix>[kmgtpe]i?)(?P<base>bit|b)ps", re.IGNORECASE)
_BRACKETS = re.compile(r"(?P<name>.*?)[\s_]*[(\[]\s*(?P<label>[^()\[\]]+?)\s*[)\]]", re.DOTALL)
_EACH = r"(?P<each>(?:(?:/|\s+per\s+)[^\s/]+)*)"  # as in MB/s/rank
_PER = r"[\s_-]+per[\s_-]+"
_COMMA = re.compile(r"(?P<name>.+?)(?:\s*,|\s+in)\s+(?P<label>[^\s,]+)")  # `Time, s` and `Runtime in seconds`
_OVER = re.compile(rf"(?P<amount>[^\s/]+)\s*(?:/|\bper\b)\s*(?P<over>[^\s/]+){_EACH}", re.IGNORECASE)
_LAST_OVER = re.compile(rf"(?:(?P<name>.*?)[\s_]+)??(?P<amount>[^\s_/]+)\s*/\s*(?P<over>[^\s_/]+){_EACH}", re.DOTALL)
_LAST_PER = re.compile(
    rf"(?is)(?:(?P<name>.*?)[\s_-]+)??(?P<amount>[^\s_-]+){_PER}(?P<over>[^\s_-]+)(?P<each>(?:{_PER}[^\s_-]+)*)"
)
_LAST_TWO = re.compile(r"(?:(?P<name>.*?)[\s_]+)??(?P<amount>[^\s_]+)_(?P<over>[^\s_]+)(?P<each>)", re.DOTALL)
_LAST = re.compile(r"(?s)(?P<name>.+)(?P<gap>[\s_]|(?<=[a-z])(?=[MUN][Ss]$|Secs?$|Seconds?$))\s*(?P<label>[^\s_]+)")
_CAMEL_RATE, _HUMP = re.compile(r"[a-z]Per(?:Sec|Second)$"), re.compile("(?<=[a-z])(?=[A-Z])")  # SamplesPerSec
_STATISTIC = re.compile(r"(?P<name>.+?)_(?:olympic_)?(?:mean|avg|average|median|min|max|total|sum)", re.IGNORECASE)


class KnownUnit(NamedTuple):
    """A unit and what it measures."""

    kind: str
    label: str  # as it is spelt here, such as ``"ms"`` or ``"MB/s"``
    factor: float  # how many of the base unit it is: s, B, flop, 1 (also of a share), or these over s


@functools.lru_cache(1 << 16)
def split_unit(name: str) -> tuple[str, KnownUnit | None]:
    """A column's name without the unit that it ends with, and that unit."""
    name = name.strip()
    if match := _BRACKETS.fullmatch(name):
        unit = unit_of_text(match["label"])
        return (match["name"], unit) if unit is not None else (name, None)
    if (match := _COMMA.fullmatch(name)) and (unit := unit_of_text(match["label"])) is not None:
        return match["name"], unit
    with_gaps = _HUMP.sub("_", name) if _CAMEL_RATE.search(name) else name
    return _rate_ending(with_gaps) or _plain_ending(name) or (name, None)


def unit_in_name(name: str) -> KnownUnit | None:
    """The unit that a column's name ends with, also before a statistic."""
    statistic = _STATISTIC.fullmatch(name.strip())
    # In time_s_min the ending is a statistic, in time_min it is a unit.
    return (split_unit(statistic["name"])[1] if statistic else None) or split_unit(name)[1]


def unit_of(name: str) -> str | None:
    """Label of the unit that a column's name ends with; None for a count, which has none."""
    unit = unit_in_name(name)
    return None if unit is None or unit.kind == "count" else unit.label


def same_unit(unit: str) -> str:
    """A unit as it is spelt here, whatever the blanks around it and however long the word."""
    known_unit = unit_of_text(unit)
    return unit.strip() if known_unit is None or known_unit.kind == "count" else known_unit.label


def is_time(unit: str | None) -> bool:
    """Whether a unit is one of time, or of time per something; further words after a blank do not count."""
    return _kind(unit) == "time"


def is_rate(unit: str | None) -> bool:
    """Whether a unit is something per time."""
    return _kind(unit) == "rate"


def _kind(unit: str | None) -> str | None:
    known_unit = None if unit is None else unit_of_text(unit) or unit_of_text(unit.split(" ")[0])
    return None if known_unit is None else known_unit.kind


def seconds_per(unit: str) -> float | None:
    """Seconds in one unit of time; None for any other unit."""
    label = same_unit(unit)
    return float(LABELS[label][1]) if LABELS.get(label, ("",))[0] == "s" else None


def unit_of_text(text: str) -> KnownUnit | None:
    """The unit that a text is, as a whole: ``ms``, ``MB``, ``GB/s``, ``images per second``."""
    text = text.strip().removesuffix(".")  # as in (sec.)
    if text.lower() in _COUNTS:
        return KnownUnit("count", "1", 1.0)
    if text.lower() in ("%", "percent", "pct"):
        return KnownUnit("share", "%", 0.01)
    if match := _OVER.fullmatch(text):
        return _quotient(match)
    return _time(text, _TIME_WORDS) or _short_rate(text) or _amount(text)


def _rate_ending(name: str) -> tuple[str, KnownUnit] | None:
    """A name that ends with something per time, and what is before that."""
    for pattern in (_LAST_OVER, _LAST_PER):
        if match := pattern.fullmatch(name):
            unit = _quotient(match)
            if unit is None:
                continue  # time per step: what follows may still be its unit
            quantity = match["amount"] if match["amount"].lower() in _TIME_QUANTITIES | _RATE_QUANTITIES else ""
            return " ".join(filter(None, (match["name"], quantity))), unit
    if (match := _LAST_TWO.fullmatch(name)) and _time(match["over"], _TIME_ENDINGS) is not None:
        word = match["amount"]
        counted = word.lower() in _COUNTED or (len(word) > 1 and _amount(word) is not None)  # A_b_s may be anything
        of_rate = not _RATE_QUANTITIES.isdisjoint((match["name"] or "").lower().split("_"))  # throughput_img_s
        if counted or of_rate or word.lower() in _RATE_QUANTITIES - {"value", "performance"}:
            unit = _quotient(match)
            assert unit is not None
            return " ".join(filter(None, (match["name"], "" if counted or of_rate else word))), unit
    before, gap, last = name.rpartition("_") if "_" in name else name.rpartition(" ")
    unit = _short_rate(last)
    return None if unit is None else (before if gap else "", unit)


def _plain_ending(name: str) -> tuple[str, KnownUnit] | None:
    """A name that ends with a unit of time, data, operations, or with the word count."""
    if name.lower() in _TIMES_ALONE:
        return "", _unit(_TIME_ENDINGS[name.lower()])
    if name.lower() == "bytes":
        return "", _unit("B")
    match = _LAST.fullmatch(name)
    if match is None or match["gap"].isspace():
        return None
    label = match["label"]
    if match["gap"] and label in _RARE_TIMES and not _TIME_QUANTITIES.isdisjoint(match["name"].lower().split("_")):
        return match["name"], _unit(_RARE_TIMES[label])
    if (unit := _time(label, _TIME_ENDINGS)) is not None:
        return match["name"], unit
    if label.lower() == "count":
        return match["name"], KnownUnit("count", "1", 1.0)
    unit = _amount(label) if len(label) > 1 else None  # B alone is more often a name than bytes
    return None if unit is None else (match["name"], unit)


def _time(word: str, words: Iterable[str]) -> KnownUnit | None:
    if word in ("ps", "ks", "Ms") and words is _TIME_WORDS:
        return _unit(word)
    return _known(_TIME_WORDS[word.lower()]) if word.lower() in words else None


def _amount(word: str) -> KnownUnit | None:
    """An amount of data or of operations, in any usual spelling: ``MB``, ``mib``, ``Gbit``, ``kBytes``, ``GFlop``."""
    if match := _OPERATIONS.fullmatch(word):
        return _known(f"{_prefix(match['prefix'])}flop")
    if (match := _DATA.fullmatch(word)) is None:
        return None
    base, prefix = match["base"], match["prefix"]
    # Gb are bits, and gb is what people write for GB.
    bits = base.lower().startswith("bit") or (base == "b" and (prefix.isupper() or not prefix))
    if match["binary"]:
        return None if bits or not prefix else _known(f"{prefix.upper()}iB")
    return _known(f"{_prefix(prefix)}{'bit' if bits else 'B'}")


def _short_rate(word: str) -> KnownUnit | None:
    """A rate in one word: ``gflops``, ``iops``, ``Gbps``."""
    if (label := _SHORT_RATES.get(word.lower())) is not None:
        amount = label.removesuffix("/s")
        return KnownUnit("rate", label, float(LABELS[amount][1]) if amount in LABELS else 1.0)
    match = _PER_SECOND.fullmatch(word)
    if match is None or (match["base"].lower() == "bit" and match["prefix"][1:]):
        return None
    if match["prefix"][1:]:
        amount = f"{match['prefix'][0].upper()}iB"
    else:
        amount = f"{_prefix(match['prefix'])}{'B' if match['base'] == 'B' else 'bit'}"
    return KnownUnit("rate", f"{amount}/s", float(LABELS[amount][1])) if amount in LABELS else None


def _quotient(match: re.Match[str]) -> KnownUnit | None:
    """One thing over another, where one of them is a time; a name of a time over its unit is in that unit."""
    amount, over, each = match["amount"], match["over"], re.sub(f"(?i){_PER}", "/", match["each"])
    above, below = _time(amount, _TIME_WORDS), _time(over, _TIME_WORDS)
    if below is None:
        # min_per_node is a minimum.
        if above is None or amount.lower() == "min":
            return None
        return KnownUnit("time", f"{above.label}/{over}{each}", above.factor)
    if amount.lower() in _TIME_QUANTITIES and (amount, over) != ("t", "s"):  # t/s are tokens
        return below
    if above is not None and above.factor > below.factor < 1.0:  # days of computing for a ns of a molecule's life
        return KnownUnit("time", f"{above.label}/{below.label}{each}", above.factor)
    if amount.lower() in _RATE_QUANTITIES or amount == "1":
        return KnownUnit("rate", f"1/{below.label}{each}", 1.0 / below.factor)
    counted = above or _amount(amount) or KnownUnit("count", amount, 1.0)
    return KnownUnit("rate", f"{counted.label}/{below.label}{each}", counted.factor / below.factor)


def _prefix(letter: str) -> str:
    return "k" if letter in "kK" and letter else letter.upper()


def _known(label: str) -> KnownUnit | None:
    return _unit(label) if label in LABELS else None


def _unit(label: str) -> KnownUnit:
    base, size = LABELS[label]
    return KnownUnit(_KINDS[base], label, float(size))


def nanoseconds_per(time_unit: str) -> int:
    """Nanoseconds in one ``time_unit``."""
    try:
        return NANOSECONDS[time_unit]
    except KeyError:
        raise UnknownNameError("time unit", time_unit, NANOSECONDS) from None


def readable(duration: float, time_unit: str, digits: int = 6) -> str:
    """Return a duration in the largest unit that keeps it at least 1: hours from 3 h, days from 2 d."""
    amount = duration * nanoseconds_per(time_unit)
    units = (("d", DAY_NS, 2), ("h", DAY_NS / 24, 3), *((unit, NANOSECONDS[unit], 1) for unit in ("s", "ms", "us")))
    unit, size, _ = next((found for found in units if abs(amount) >= found[1] * found[2]), ("ns", 1, 0))
    return f"{amount / size:.{digits}g} {unit}"


def shown_origin(start: float, end: float) -> float:
    """Time from which a table or picture counts: 0, or the start where times are dates and would all look alike."""
    return float(start) if abs(start) > 20.0 * (end - start) else 0.0


def moment_text(moment: float, time_unit: str) -> str:
    """A time on a clock: a date if it is seconds since 1970 and later than 2001."""
    seconds = moment * nanoseconds_per(time_unit) / 1e9
    if not _FIRST_DATE <= seconds < _LAST_DATE:
        return f"{moment:.15g} {time_unit}"
    return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y-%m-%d %H:%M:%S}"
