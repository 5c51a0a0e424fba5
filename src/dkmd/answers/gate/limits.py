"""What counts as worse: margins and directions, for all benchmarks or by patterns of their names.

A margin needs a unit: "3%", "0.1sd" or "2ms". A bare number is accepted only for values without a
unit. A margin that is larger than the values would let anything pass, so it is an error.
"""

from __future__ import annotations

import difflib
import math
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dkmd.base.units import converted, read_amount, shown_in
from dkmd.base.wording import plain
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.sources.files.benchmarks import UNKNOWN, Measurements

DIRECTIONS = ("higher", "lower")
OPPOSITE = {"higher": "lower", "lower": "higher", UNKNOWN: UNKNOWN}


class Rule(NamedTuple):
    """The margin and the bad direction of some benchmarks; None leaves them as they are."""

    margin: Margin | None = None
    worse: str | None = None


class Limit(NamedTuple):
    """What counts as worse for one benchmark: a change beyond the margin, in the bad direction."""

    given: Margin  # the margin as users gave it
    margin: Margin  # the same as a number in the benchmark's unit, or a text in % or sd
    worse: str  # "higher", "lower" or "unknown"


@dataclass(frozen=True)
class Limits:
    """The margin and the direction of all benchmarks, and rules for some of them.

    A pattern of ``rules`` is a name, in which * stands for any text and ? for any character. If
    several patterns fit a name, later ones go before earlier ones. ``better`` says which values
    are better, by the name of a benchmark, a counter or a unit. It goes before everything else.
    """

    margin: Margin
    worse: str | None = None  # None: each benchmark has its own direction
    rules: Mapping[str, Rule] = field(default_factory=dict)
    better: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, better in self.better.items():
            if better not in DIRECTIONS:
                raise ValueError(f"better of {name} must be 'higher' or 'lower', got {better!r}")
        for worse in (self.worse, *(rule.worse for rule in self.rules.values())):
            if worse is not None and worse not in DIRECTIONS:
                raise ValueError(f"worse must be 'higher' or 'lower', got {worse!r}")
        for margin in (self.margin, *(rule.margin for rule in self.rules.values())):
            if margin is not None:
                _read(margin)

    def of(self, name: str, reference: Measurements, current: Measurements) -> Limit:
        """The limit of one benchmark. The measurements have the same unit, if they can."""
        margin, worse = self.margin, self.worse
        for pattern, rule in self.rules.items():
            if matches(pattern, name):
                margin = margin if rule.margin is None else rule.margin
                worse = rule.worse or worse
        known = reference if reference.values or not current.values else current
        for key, better in self.better.items():
            if any(matches(key, label) for label in labels(name, known)):
                worse = OPPOSITE[better]
        worse = worse or OPPOSITE[_direction(known, current)]
        if not known.values or worse == UNKNOWN:  # there is nothing to judge
            return Limit(margin, margin, worse)
        own = in_unit(margin, known.unit, name)
        _require_possible(margin, own, worse, name)
        if isinstance(own, float):
            _require_smaller(margin, own, name, known.unit, reference.values + current.values)
        return Limit(margin, own, worse)

    def require_known(self, named: Iterable[tuple[str, Measurements]]) -> None:
        """Reject a name of ``better`` that no benchmark, counter or unit has."""
        known = list(dict.fromkeys(label for each in named for label in labels(*each)))
        for key in self.better:
            if not any(matches(key, label) for label in known):
                close = difflib.get_close_matches(key, known, 1)
                hint = f"did you mean {close[0]!r}?" if close else "see the names in the table"
                raise ValueError(f"better: no benchmark, counter or unit is called {key!r}; {hint}")


def labels(name: str, measured: Measurements) -> list[str]:
    """What a benchmark can be called: its name, that of its counter, and its unit."""
    counter = name.removeprefix(measured.beside).strip() if measured.beside else ""
    return [label for label in (name, counter, measured.unit) if label]


def _direction(known: Measurements, other: Measurements) -> str:
    """Which values are better, if one of the sides says it."""
    return known.better if known.better != UNKNOWN else other.better


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern. Brackets are plain characters, as in pytest's names.

    Examples
    --------
    >>> matches("sort[*]", "sort[1000]"), matches("sort", "sorted"), matches("s?rt", "sort")
    (True, False, True)
    """
    parts = {"*": ".*", "?": "."}
    spelled = "".join(parts.get(character, re.escape(character)) for character in pattern)
    return re.fullmatch(spelled, name, re.DOTALL) is not None


def _read(margin: Margin) -> tuple[float, str]:
    """A margin as an amount and its unit. An unreadable or negative margin is an error."""
    if isinstance(margin, str):
        found = read_amount(margin)
        if found is not None and found[1] not in ("", "%", "sd") and 0.0 <= found[0] < math.inf:
            return found
    try:
        return parse_margin(margin)
    except ValueError:
        raise ValueError(
            f"margin must be an amount such as '3%', '2ms' or '0.1sd', and not negative; got "
            f"{margin!r}"
        ) from None


def in_unit(margin: Margin, unit: str, name: str = "it") -> Margin:
    """The margin as a number in the unit of a benchmark; percentages and sd stay as they are."""
    amount, given = _read(margin)
    if given in ("%", "sd"):
        return margin
    if given == "pp":
        raise ValueError(f"margin {margin}: percentage points are for shares, not for benchmarks")
    if given == "":
        if unit and amount:
            raise ValueError(
                f"margin {amount:g} has no unit, and {name} is measured in {unit}: write "
                f"{amount:g}% or {amount:g}{unit}"
            )
        return amount
    own = converted(amount, given, unit)
    if own is None:
        measured = f"is measured in {unit}" if unit else "has no unit"
        raise ValueError(
            f"margin {margin} does not fit {name}, which {measured}: give a percentage, or a "
            "margin of its own ([tool.dkmd.gate], docs/gate.md)"
        )
    return own


def _require_possible(given: Margin, own: Margin, worse: str, name: str) -> None:
    """Reject a margin that no change could exceed: any build would pass."""
    amount, kind = parse_margin(own)
    if kind == "%" and amount >= 100.0 and worse == "lower":
        raise ValueError(
            f"margin {given}: no positive value can decrease by 100% or more, so no benchmark "
            f"could fail where lower is worse ({name})"
        )


def _require_smaller(given: Margin, own: float, name: str, unit: str, values: list[float]) -> None:
    """Reject a margin that is larger than the values: it is most likely in the wrong unit."""
    sizes = [abs(v) for v in values if math.isfinite(v)]
    typical = statistics.median_low(sizes) if sizes else 0.0
    if 0.0 < typical < own:
        factor, shown = shown_in(unit, typical)
        size = f"{plain(typical * factor, 3)} {shown}".strip()
        raise ValueError(
            f"margin {given} is larger than the values of {name} (about {size}), so almost "
            "anything would pass: give a smaller margin, or a percentage"
        )
