"""What ``compare`` and ``drift`` answer: frozen, in words first, and the same again as JSON.

Every signed number is positive when *current* is larger. ``Comparison`` is one answer;
``Comparisons`` holds one per level or column, with p-values adjusted for their number, and
``Drift`` adds what belongs to two tables.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

from dkmd.base.arrays import Array, present
from dkmd.base.calls import Call
from dkmd.base.wording import (
    amount,
    count,
    html_page,
    level_of,
    percent,
    plain_pair,
    probability,
    short_p,
    signed,
    text_page,
    visible,
)
from dkmd.inference.opinions import Opinion, Opinions, opinions
from dkmd.inference.result import ConfidenceInterval, DkmdResult
from dkmd.inference.shapes import Crossing

FORMAT_VERSION = 1
"""Of ``to_dict`` and of the command line's JSON: src/dkmd/schema/answers.json."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@dataclass(frozen=True)
class SampleFacts:
    """What one side looks like.

    Attributes
    ----------
    label : str
        A file's name, a level, or "reference" and "current".
    size : int
        Values that were compared; ±inf counts, NaN does not.
    nan, minus_inf, plus_inf : int
        Values that were left out, and infinite ones.
    center : float
        The M-centre.
    quantiles : dict
        At 5, 25, 50, 75, 95 and 99 %, keyed by 0.05, 0.25, …
    neighbour_correlation : float
        Of ψ at values that follow each other, if it is more than chance, else 0; NaN where the
        values are not held or belong to groups.
    """

    label: str
    size: int
    nan: int
    minus_inf: int
    plus_inf: int
    center: float
    quantiles: Mapping[float, float]
    neighbour_correlation: float = math.nan

    @property
    def nan_share(self) -> float:
        """NaN among all values."""
        total = self.size + self.nan
        return self.nan / total if total else math.nan

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        names = ("label", "size", "nan", "minus_inf", "plus_inf", "center", "neighbour_correlation")
        shares = {f"{q:g}": value for q, value in self.quantiles.items()}
        return {name: getattr(self, name) for name in names} | {"quantiles": shares}


class Infinite(NamedTuple):
    """Half of all values or more are at one infinity: which one, and their shares."""

    where: float  # inf or −inf
    reference: float
    current: float


@dataclass(frozen=True)
class Comparison:
    """Which way *current* moved against *reference*, by how much, and whether that is real.

    Attributes
    ----------
    verdict : str
        "increase", "decrease", "equivalent" or "inconclusive", of the shift against ``margin``.
    direction : str
        "current is larger", "current is smaller" or "no direction".
    shift, shift_interval : float, ConfidenceInterval
        In data units, with confidence 1 − alpha.
    relative_shift, relative_shift_interval : float, ConfidenceInterval or None
        In percent, worked out on logarithms; None unless all values are positive and at hand.
    statistic, pvalue, df : float
        Of the test behind it.
    pvalue_beyond : float
        Of "beyond the margin"; the p-value itself where there is no margin.
    adjusted_pvalue, adjusted_pvalue_beyond : float or None
        Among several comparisons: adjusted for their number, and then what the verdict rests on.
    crossing : Crossing or None
        The differences at 25 and 75 % where they clearly have opposite signs.
    infinite : Infinite or None
        The shares at infinity, where half of all values or more are there.
    reference, current : SampleFacts
        Sizes, NaN, infinite values, centres and quantiles.
    warnings : tuple of str
        What to watch out for.
    result : DkmdResult
        The test itself, with x = current and y = reference.
    """

    name: str
    unit: str
    verdict: str
    direction: str
    shift: float
    shift_interval: ConfidenceInterval
    relative_shift: float | None
    relative_shift_interval: ConfidenceInterval | None
    statistic: float
    pvalue: float
    df: float
    scale: float
    margin: float | str | None
    alpha: float
    reference: SampleFacts
    current: SampleFacts
    warnings: tuple[str, ...]
    result: DkmdResult = field(repr=False)
    pvalue_beyond: float = math.nan
    adjusted_pvalue: float | None = None
    adjusted_pvalue_beyond: float | None = None
    crossing: Crossing | None = None
    infinite: Infinite | None = None
    values: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)
    """Reference and current, where they are held."""
    call: Call | None = field(default=None, repr=False, compare=False)
    """How it was asked for, where that is known."""

    @property
    def shift_in_scales(self) -> float:
        """The shift in units of the robust scale of the pooled data."""
        return self.shift / self.scale if self.scale > 0.0 else math.nan

    @property
    def interval_in_scales(self) -> tuple[float, float]:
        """The interval of the shift in the same units."""
        scale = self.scale if self.scale > 0.0 else math.nan
        return self.shift_interval.low / scale, self.shift_interval.high / scale

    def peers(self) -> Opinions:
        """What mean difference, Welch, Mann-Whitney, KS and MMD² would say, in one table."""
        if self.values is None:
            raise ValueError("other statistics need the single values, and only summaries are held")
        own = Opinion("dkmd (shift)", self.shift, self.pvalue, self.direction)
        reference, current = (present(side) for side in self.values)
        return opinions(own, reference, current, self.scale)

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
        relative = self.relative_shift_interval
        return {
            "format": "dkmd-comparison",
            "version": FORMAT_VERSION,
            "name": self.name,
            "unit": self.unit,
            "verdict": self.verdict,
            "direction": self.direction,
            "shift": self.shift,
            "shift_interval": list(self.shift_interval),
            "relative_shift": self.relative_shift,
            "relative_shift_interval": None if relative is None else list(relative),
            "statistic": self.statistic,
            "pvalue": self.pvalue,
            "pvalue_beyond": self.pvalue_beyond,
            "df": self.df,
            "scale": self.scale,
            "margin": self.margin,
            "alpha": self.alpha,
            "crossing": None if self.crossing is None else self.crossing._asdict(),
            "infinite": None if self.infinite is None else self.infinite._asdict(),
            "reference": self.reference.to_dict(),
            "current": self.current.to_dict(),
            "warnings": list(self.warnings),
        }

    def to_json(self, indent: int | None = None) -> str:
        """``to_dict`` as JSON: NaN is null, infinities are "inf" and "-inf"."""
        return to_json(self.to_dict(), indent)

    def report(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Write a page that shows all of this: one HTML file that needs nothing else.

        ``command`` is what to type at a shell for the same, where that is known better.
        """
        from dkmd.render.report.page import write_page

        write_page(self, path, command)

    def with_call(self, call: Call) -> Self:
        """The same answer, knowing how it was asked for."""
        return replace(self, call=call)

    def among_several(self, adjusted: float, adjusted_beyond: float) -> Self:
        """The same as one of several, with p-values adjusted for their number.

        A change counts only if its adjusted p-value of "beyond the margin" is below alpha.
        """
        clear = adjusted_beyond < self.alpha or self.verdict == "equivalent"
        return replace(
            self,
            adjusted_pvalue=adjusted,
            adjusted_pvalue_beyond=adjusted_beyond,
            verdict=self.verdict if clear else "inconclusive",
        )

    @property
    def is_clear(self) -> bool:
        """Whether there was a change at all: p, or the adjusted p, is below alpha."""
        decides = self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue
        return decides < self.alpha

    def plot(self, ax: Any = None, kind: str = "density") -> Any:
        """Both distributions, their centres and the shift; needs matplotlib (dkmd[plot]).

        ``kind`` is "density" or "cdf".
        """
        from dkmd.render.plot import entitle, plot_pair

        labels = (self.reference.label, self.current.label)
        axes = plot_pair(self.result, labels, self.verdict, self.unit, ax, kind, self.values)
        axes.set_xlabel(f"{self.name} ({self.unit})" if self.unit else self.name)
        entitle(axes, self.headline())
        return axes

    def headline(self) -> str:
        """The answer in one sentence, and the numbers behind it in another."""
        return f"{self._answer()} {self._evidence()}"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A small table: what, reference, current, and how they differ."""
        before, after = self.reference, self.current
        rows = [
            ("values", count(before.size), count(after.size), ""),
            (
                "centre",
                *plain_pair(before.center, after.center),
                amount(self.shift, self.unit),
            ),
        ]
        for q in QUANTILES:
            old, new = before.quantiles[q], after.quantiles[q]
            rows.append((f"{q:.0%}", *plain_pair(old, new), signed(new - old, old, new)))
        for what, name in (("NaN, left out", "nan"), ("−inf", "minus_inf"), ("+inf", "plus_inf")):
            old, new = getattr(before, name), getattr(after, name)
            if old or new:
                rows.append((what, count(old), count(new), ""))
        return rows

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.warnings)

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import pictures

        outcome = self.result.outcome()
        labels = (self.reference.label, self.current.label)
        drawn = pictures(outcome, self.verdict, labels, self.unit, self.values)
        return html_page(self.headline(), self.table(), self.warnings, drawn)

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` below their heading."""
        return [("", self.reference.label, self.current.label, "difference"), *self.rows()]

    def _answer(self) -> str:
        if self.infinite is not None:
            return self._answer_at_infinity(self.infinite)
        if self.crossing is not None:
            return f"{self._across(self.crossing)} {self._centre_answer()}"
        return self._centre_answer()

    def _across(self, crossing: Crossing) -> str:
        """The first sentence where one number would mislead."""
        low, high = (amount(end, self.unit) for end in crossing)
        return (
            f"{self.name}: the distributions CROSS: the 25% quantile moved by {low}, the 75% "
            f"quantile by {high}."
        )

    def _answer_at_infinity(self, infinite: Infinite) -> str:
        """Shares at infinity, and the first quantile that is finite on both sides."""
        word = "no clear change (INCONCLUSIVE)"
        if self.verdict in ("increase", "decrease"):
            higher = "HIGHER" if self.verdict == "increase" else "LOWER"
            word = f"{higher} in {self.current.label} than in {self.reference.label}"
        sign = "+" if infinite.where > 0.0 else "−"
        told = (
            f"{self.name}: {word}: {infinite.current:.0%} of the values are at {sign}inf (never "
            f"finished, for times), before {infinite.reference:.0%}"
        )
        before, after = self.reference.quantiles, self.current.quantiles
        levels = QUANTILES if infinite.where > 0.0 else QUANTILES[::-1]
        for q in levels:
            if math.isfinite(before[q]) and math.isfinite(after[q]):
                old, new = plain_pair(before[q], after[q])
                unit = self.unit and f" {self.unit}"
                return f"{told}; the {q:.0%} quantile is {new}{unit}, before {old}{unit}."
        return f"{told}."

    def _centre_answer(self) -> str:
        where = f"in {self.current.label} than in {self.reference.label}"
        if self.verdict in ("increase", "decrease"):
            word = "HIGHER" if self.verdict == "increase" else "LOWER"
            beyond = f", by more than {plain_margin(self.margin, self.unit)}" if self.margin else ""
            return f"{self.name} is {word} {where}{beyond}: {self._numbers()}."
        if self.verdict == "equivalent":
            within = plain_margin(self.margin, self.unit)
            return f"{self.name} is EQUIVALENT up to {within}: {self._numbers()}."
        if math.isnan(self.shift):
            return f"{self.name} cannot be compared."
        if self.is_clear:
            word = "higher" if self.shift > 0.0 else "lower"
            margin = plain_margin(self.margin, self.unit)
            return (
                f"{self.name} is {word} {where}, but whether by more than {margin} is "
                f"INCONCLUSIVE: {self._numbers()}."
            )
        return f"{self.name}: no clear change (INCONCLUSIVE): {self._numbers()}."

    def _numbers(self) -> str:
        low, high = (amount(end) for end in self.shift_interval)
        shown = f"{amount(self.shift, self.unit)} "
        shown += f"({level_of(self.alpha)} interval {low} to {high})"
        if self.relative_shift is not None:
            shown += f", {percent(self.relative_shift)}"
        return shown

    def _evidence(self) -> str:
        sizes = f"n = {count(self.reference.size)} and {count(self.current.size)}"
        p = probability(self.pvalue)
        if self.adjusted_pvalue is not None:
            p += f" (adjusted {short_p(self.adjusted_pvalue) or 'unknown'})"
        return f"{p}, {sizes}."


class Comparisons(Mapping[str, Comparison]):
    """Several comparisons by name: one per level of a column, or one per column.

    Their verdicts take their number into account: where the adjusted p-value does not show a
    change, none is claimed.

    Attributes
    ----------
    alpha : float
        The share of false discoveries that is allowed among those that ``changed`` names.
    """

    FORMAT = "dkmd-comparisons"
    ROWS = ""

    def __init__(self, comparisons: Mapping[str, Comparison], alpha: float) -> None:
        adjusted = _adjusted({name: c.pvalue for name, c in comparisons.items()})
        beyond = _adjusted({name: c.pvalue_beyond for name, c in comparisons.items()})
        self._comparisons = {
            n: c.among_several(adjusted[n], beyond[n]) for n, c in comparisons.items()
        }
        self.alpha = alpha
        self.call: Call | None = None

    def __getitem__(self, name: str) -> Comparison:
        return self._comparisons[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._comparisons)

    def __len__(self) -> int:
        return len(self._comparisons)

    @cached_property
    def adjusted_pvalues(self) -> dict[str, float]:
        """p-values adjusted for their number (Benjamini–Hochberg); NaN where there is none."""
        known = {name: comparison.adjusted_pvalue for name, comparison in self.items()}
        return {name: math.nan if p is None else p for name, p in known.items()}

    @property
    def changed(self) -> list[str]:
        """Those whose adjusted p-value is below alpha."""
        return [name for name in self if self[name].is_clear]

    @property
    def beyond(self) -> list[str]:
        """Those that moved by more than the margin, with as few false discoveries."""
        return [name for name in self if self[name].verdict in ("increase", "decrease")]

    def report(self, path: str | os.PathLike[str], *, command: str | None = None) -> None:
        """Write a page with a row for each: one HTML file that needs nothing else.

        ``command`` is what to type at a shell for the same, where that is known better.
        """
        from dkmd.render.report.page import write_page

        write_page(self, path, command)

    def with_call(self, call: Call) -> Self:
        """The same answers, knowing how they were asked for."""
        known = copy(self)
        known.call = call
        known._comparisons = {n: c.with_call(call.of_row(n)) for n, c in self.items()}
        return known

    def rows(self) -> list[tuple[str, ...]]:
        """One line each: name, shift, interval, scales, p, adjusted p, verdict."""
        return [self._row(name, comparison) for name, comparison in self.items()]

    HEAD: tuple[str, ...] = ("", "shift", "interval", "in scales", "p", "adjusted p", "verdict")

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` below their heading."""
        return [self.HEAD, *self.rows()]

    def headline(self) -> str:
        """How many changed, by name."""
        named = ", ".join(self.beyond)
        return f"{self.tally()}{named and f': {named}'}."

    def tally(self) -> str:
        """How many changed, and how many of them by more than the margin, if there is one."""
        what = f"{len(self.changed)} of {len(self)} {self.ROWS}".strip()
        told = f"{what} changed (false-discovery rate {self.alpha:g})"
        some = next(iter(self.values()))
        if not some.margin or not self.changed:
            return told
        return f"{told}, {len(self.beyond)} of them by more than {plain_margin(some.margin, '')}"

    def to_dict(self) -> dict[str, Any]:
        """Every comparison with its adjusted p-value, in order."""
        return {
            "format": self.FORMAT,
            "version": FORMAT_VERSION,
            "alpha": self.alpha,
            "comparisons": [self._entry(name) for name in self],
        }

    def to_json(self, indent: int | None = None) -> str:
        """``to_dict`` as JSON."""
        return to_json(self.to_dict(), indent)

    def notes(self) -> list[str]:
        """What to watch out for, and the names it holds for."""
        names: dict[str, list[str]] = {}
        for name, comparison in self.items():
            for warning in comparison.warnings:
                names.setdefault(warning, []).append(name)
        return [f"{', '.join(whose)}: {warning}" for warning, whose in names.items()]

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.notes())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {visible(self.headline())}>"

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import Line, overview

        lines = [
            Line(c.result.outcome(), c.verdict, c.shift_in_scales, c.interval_in_scales, c.values)
            for c in self.values()
        ]
        return html_page(self.headline(), self.table(), self.notes(), beside=overview(lines))

    def _entry(self, name: str) -> dict[str, Any]:
        one = self[name]
        adjusted = {
            "adjusted_pvalue": one.adjusted_pvalue,
            "adjusted_pvalue_beyond": one.adjusted_pvalue_beyond,
        }
        return one.to_dict() | {"key": name} | adjusted

    def _row(self, name: str, c: Comparison) -> tuple[str, ...]:
        low, high = (amount(end) for end in c.shift_interval)
        return (
            name,
            amount(c.shift, c.unit),
            f"{low} to {high}",
            amount(c.shift_in_scales),
            short_p(c.pvalue),
            short_p(self.adjusted_pvalues[name]),
            c.verdict,
        )


class Drift(Comparisons):
    """A comparison per numeric column of two tables, the largest shift in scales first.

    Attributes
    ----------
    skipped : dict
        Columns that were not compared, and why.
    """

    FORMAT = "dkmd-drift"
    ROWS = "columns"
    HEAD = ("column", *Comparisons.HEAD[1:], "NaN")

    def __init__(
        self, comparisons: Mapping[str, Comparison], skipped: Mapping[str, str], alpha: float
    ) -> None:
        ranked = sorted(comparisons.items(), key=lambda item: _rank(item[1]))
        super().__init__(dict(ranked), alpha)
        self.skipped = dict(skipped)

    def nan_change(self, column: str) -> float:
        """The share of NaN now minus the share of NaN before."""
        return self[column].current.nan_share - self[column].reference.nan_share

    def notes(self) -> list[str]:
        """What to watch out for, and what was not compared."""
        skipped = [f"{column} was skipped: {why}" for column, why in self.skipped.items()]
        return super().notes() + skipped

    def to_dict(self) -> dict[str, Any]:
        """Every column in order, with the change of its NaN share, and what was skipped."""
        return super().to_dict() | {"skipped": dict(self.skipped)}

    def _entry(self, name: str) -> dict[str, Any]:
        return super()._entry(name) | {"nan_change": self.nan_change(name)}

    def _row(self, name: str, c: Comparison) -> tuple[str, ...]:
        before, after = c.reference.nan_share, c.current.nan_share
        share = f"{before:.1%} → {after:.1%}" if before or after else ""
        return *super()._row(name, c), share


def _adjusted(pvalues: Mapping[str, float]) -> dict[str, float]:
    """Benjamini–Hochberg; NaN stays and does not count."""
    from scipy.stats import false_discovery_control

    known = {name: p for name, p in pvalues.items() if not math.isnan(p)}
    adjusted = false_discovery_control(list(known.values())) if known else ()
    found = dict(zip(known, (float(p) for p in adjusted), strict=True))
    return {name: found.get(name, math.nan) for name in pvalues}


def _rank(comparison: Comparison) -> tuple[bool, float]:
    """Large shifts first, those that could not be worked out last."""
    shift = abs(comparison.shift_in_scales)
    return math.isnan(shift), -shift


def plain_margin(margin: float | str | None, unit: str) -> str:
    """A margin as it was given, with the unit if it is a number."""
    if margin is None:
        return "0"
    return margin if isinstance(margin, str) else f"{margin:g}{unit and ' ' + unit}"


def to_json(document: Any, indent: int | None = None) -> str:
    """JSON that any reader takes: NaN is null, infinities are "inf" and "-inf"."""
    return json.dumps(_plain(document), indent=indent, allow_nan=False, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{value:.0f}"
    return value
