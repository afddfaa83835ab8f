"""Gates of a comparison: ``any slower than 1.1x at p=1024 with confidence 0.95``, read without evaluating anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from perf_tables.points.places import parse_places
from perfcore.base.errors import OptionError

__all__ = ["Gate", "parse_gate"]

_GRAMMAR = (
    "[total | any [of 1%] | NAME] slower than 1.1x [at p=1024,...] [with confidence 0.95], "
    "or: any [of 1%] | NAME law worse [with confidence 0.95]"
)
_CONFIDENCE = 0.95
_LEAST_SHARE = 0.01  # a path of 1 % of the whole that takes a tenth longer adds a thousandth

_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
# What is asked, after who is asked about: the last of these words in the text, since names may hold any words.
_CLAIM = re.compile(r"\b(?:(?P<word>slower|larger)\s+than\b|law\s+worse\b)")
_FACTOR = re.compile(rf"\s*(?P<factor>{_NUMBER})\s*(?P<unit>x?)(?=\s|$)")
_AT = re.compile(r"\s+at\b")
_WITH_BEGINS = re.compile(r"\s+with\b|$")
_WITH = re.compile(rf"\s+with\s+confidence\s+(?P<confidence>{_NUMBER})")
_ANY = re.compile(rf"any(?:\s+of\s+(?P<share>{_NUMBER})\s*%)?")


@dataclass(frozen=True)
class Gate:
    """What must not be.

    Parameters
    ----------
    text : str
        As it was given.
    of : {"total", "any", "part"}
        What is looked at.
    part : str
        Its name; empty for the total and any.
    least_share : float
        Of the total that a part has in either version to be looked at with any.
    word : str
        ``slower``, ``larger``, or empty where the law must not be worse.
    factor : float
        How many times as slow.
    at : str
        Its point, as of `perf_tables.points.places.parse_places`; empty for the last point of the comparison.
    confidence : float
        The gate fails if the data say so with this probability, of all parts that are looked at together.
    """

    text: str
    of: str
    part: str
    least_share: float
    word: str
    factor: float
    at: str
    confidence: float


def parse_gate(text: str) -> Gate:
    """Read a gate.

    Parameters
    ----------
    text : str
        ``[total | any [of 1%] | NAME] slower than 1.1x [at p=1024,...] [with confidence 0.95]``, or
        ``any [of 1%] | NAME law worse [with confidence 0.95]``. A name may be put in double quotes. ``larger than``
        is the same for what is no time.

    Raises
    ------
    OptionError
        It is none; the message says where.

    Examples
    --------
    >>> gate = parse_gate("any of 0.5% slower than 1.1x at p=1024,n=1e6")
    >>> gate.of, gate.least_share, gate.factor, gate.at, gate.confidence
    ('any', 0.005, 1.1, 'p=1024,n=1e6', 0.95)
    >>> parse_gate("slower then 1.1x")
    Traceback (most recent call last):
        ...
    perfcore.base.errors.OptionError: --fail-if 'slower then 1.1x': at 1, 'slower then 1.1x': 'slower than' or \
'law worse' is expected; a gate is [total | any [of 1%] | NAME] slower than 1.1x [at p=1024,...] \
[with confidence 0.95], or: any [of 1%] | NAME law worse [with confidence 0.95]
    """
    claims = list(_CLAIM.finditer(text))
    if not claims:
        start = len(text) - len(text.lstrip())
        _refuse(text, start, "'slower than' or 'law worse' is expected")
    claim = claims[-1]
    of, part, share = _subject(text, claim.start())
    place, factor, point_text = claim.end(), 1.0, ""
    if claim["word"]:
        factor_match = _FACTOR.match(text, place)
        if factor_match is None or not factor_match["unit"] or not float(factor_match["factor"]) > 0.0:
            _refuse(text, place, "a factor such as 1.1x is expected")
        factor, place = float(factor_match["factor"]), factor_match.end()
        if (at_match := _AT.match(text, place)) is not None:
            end = next(_WITH_BEGINS.finditer(text, at_match.end())).start()
            point_text = text[at_match.end() : end].strip()
            try:
                parse_places(point_text)
            except OptionError:
                _refuse(text, at_match.end(), "NAME=LEVEL,... is expected, such as p=1024")
            place = end
    elif of == "total":
        _refuse(text, claim.start(), "the total has no law; say 'any law worse' or name one")
    confidence = _CONFIDENCE
    if (confidence_match := _WITH.match(text, place)) is not None:
        confidence, place = float(confidence_match["confidence"]), confidence_match.end()
        if not 0.0 < confidence < 1.0:
            _refuse(text, confidence_match.start("confidence"), "a confidence above 0 and below 1 is expected")
    if text[place:].strip():
        more = ["'at p=1024'"] if claim["word"] and not point_text else []
        more += ["'with confidence 0.95'"]
        _refuse(text, place, f"{' or '.join(more) if confidence_match is None else 'nothing more'} is expected")
    return Gate(text, of, part, share, claim["word"] or "", factor, point_text, confidence)


def _subject(text: str, end: int) -> tuple[str, str, float]:
    """What is looked at: kind, name, least share."""
    who = text[:end].strip()
    if who in ("", "total"):
        return "total", "", 0.0
    if (every := _ANY.fullmatch(who)) is not None:
        share = _LEAST_SHARE if every["share"] is None else float(every["share"]) / 100.0
        if share > 1.0:
            _refuse(text, text.index("any") + 3, "a share of at most 100% is expected")
        return "any", "", share
    if len(who) > 1 and who[0] == who[-1] == '"':
        who = who[1:-1]
    elif re.match(r"any\s+of\b", who):
        _refuse(text, text.index("any") + 3, "a share such as 'any of 1%' is expected")
    return "part", who, 0.0


def _refuse(text: str, place: int, problem: str) -> NoReturn:
    place += len(text[place:]) - len(text[place:].lstrip())
    location = f"at {place + 1}, {text[place : place + 20]!r}" if place < len(text) else "at the end"
    raise OptionError(f"--fail-if {text!r}: {location}: {problem}; a gate is {_GRAMMAR}")
