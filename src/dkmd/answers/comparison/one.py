"""One answer: which way one column moved, by how much, and how sure that is.

Every signed number is positive when *current* is larger.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

from dkmd.answers.comparison.arms import unequal_arms
from dkmd.answers.comparison.design_words import (
    Adjusted,
    design_numbers,
    design_rows,
    effective_rows,
    raw_shift,
)
from dkmd.answers.comparison.documents import FORMAT_VERSION, Documented
from dkmd.answers.comparison.kind_words import part_rows
from dkmd.answers.comparison.missing import LEFT_OUT
from dkmd.answers.comparison.percentile_rows import (
    percentile_numbers,
    percentile_row,
    with_interval,
)
from dkmd.answers.comparison.unit_words import unit_numbers, unit_rows
from dkmd.answers.comparison.words import answer_of, evidence_of, more_of
from dkmd.answers.extremes import Extremes
from dkmd.answers.family import BENJAMINI_HOCHBERG, NOT_CORRECTED, Correction, corrected
from dkmd.answers.findings import REST, SHARE, SHIFT, SPREAD, Finding, MeanChange
from dkmd.answers.opinions import NARROWER, UP, WIDER, Opinion, Opinions, opinions
from dkmd.answers.sample_ratio import SampleRatio
from dkmd.base.arrays import Array, present
from dkmd.base.calls import Call
from dkmd.base.displays import Display
from dkmd.base.wording import (
    count,
    factor,
    signed,
    text_page,
)
from dkmd.inference.kinds.column_kind import AMOUNT, YES_NO
from dkmd.inference.kinds.percentiles import PercentileChange
from dkmd.inference.kinds.shapes import Crossing
from dkmd.inference.kinds.spread import FEWEST as FEWEST_OF_SPREAD
from dkmd.inference.test.result import ConfidenceInterval, DkmdResult, ExactOutcome, Pairing

RATIO = "ratio"
"""The estimand with ``per``: a ratio of sums."""

MEDIAN = 0.5

QUANTILES = (0.05, 0.25, MEDIAN, 0.75, 0.95, 0.99)

OWN = {(SHARE,): SHARE, (SHARE, REST): "two parts"}
"""What a p-value is about, where it is not the shift."""


@dataclass(frozen=True)
class SampleFacts:
    """The facts about one side of a comparison.

    Attributes
    ----------
    label : str
        A file's name, a level, or "reference" and "current".
    size : int
        How many values were compared. ±inf counts, NaN does not.
    nan, minus_inf, plus_inf : int
        How many values are missing (and left out), −inf and +inf.
    median : float
        The median; with weights, of the weighted values.
    quantiles : dict
        At 5, 25, 50, 75, 95 and 99%, keyed by 0.05, 0.25, …
    neighbour_correlation : float
        The correlation of ψ at values that follow each other; 0 if chance explains it. NaN if the
        values are not in memory or belong to groups.
    """

    label: str
    size: int
    nan: int
    minus_inf: int
    plus_inf: int
    median: float
    quantiles: Mapping[float, float]
    neighbour_correlation: float = math.nan

    @property
    def nan_share(self) -> float:
        """The share of missing values."""
        total = self.size + self.nan
        return self.nan / total if total else math.nan

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        names = ("label", "size", "nan", "minus_inf", "plus_inf", "median", "neighbour_correlation")
        shares = {f"{q:g}": value for q, value in self.quantiles.items()}
        return {name: getattr(self, name) for name in names} | {"quantiles": shares}


class Infinite(NamedTuple):
    """At least half of all values are at one infinity: which one, and the share of each side."""

    where: float  # inf or −inf
    reference: float
    current: float


class Parts(NamedTuple):
    """The common value; of yes/no data, the value of no, and then ``yes``."""

    common: float
    yes: float | None = None
    above: bool = True  # whether most other values are larger


@dataclass(frozen=True)
class Comparison(Documented):
    """Which way *current* moved against *reference*, by how much, and whether that is real.

    Attributes
    ----------
    verdict : str
        "higher", "lower", "equivalent" or "inconclusive": the shift against ``margin``. Also
        "mixed" if the two parts of a column clearly moved in opposite directions.
    kind : str
        "amount", "yes/no", "mostly one value", "count", "rating", "identifier" or "constant". It
        says which findings decide the verdict and ``pvalue``.
    direction : str
        "current is larger", "current is smaller" or "no direction".
    shift, shift_interval : float, ConfidenceInterval
        In data units, with confidence 1 − alpha.
    relative_shift, relative_shift_interval : float, ConfidenceInterval or None
        As a fraction (0.02 is 2%), worked out on logarithms. None unless all values are positive
        and can be read.
    statistic, pvalue, df : float
        The numbers of the test.
    pvalue_beyond : float
        The p-value of "beyond the margin". Without a margin, ``pvalue`` itself.
    adjusted_pvalue, adjusted_pvalue_beyond : float or None
        For one of several comparisons: adjusted for their number. The verdict rests on them.
    crossing : Crossing or None
        The differences of the 25 and 75% quantiles, if they clearly have opposite signs.
    infinite : Infinite or None
        The shares at infinity, if at least half of all values are there.
    findings : tuple of Finding
        What else may have changed, each with a p-value: the mean, the spread, the share of missing
        values, and the two parts of a column with a common value. Where shares or parts decide,
        they stand here too.
    correction : Correction
        How the p-values of the findings are corrected, and for how many tests: by Holm for the
        tests of this comparison, or after Benjamini and Hochberg for those of several comparisons.
    parts : Parts or None
        The common value, or the two values of yes/no data.
    mean : MeanChange or None
        Both means and their difference with an interval and a p-value; None where a value is
        infinite. With ``per``, both ratios of sums.
    percentiles : tuple of PercentileChange
        5 to 99.9%, or those asked for, with intervals of both sides and of the difference (x is
        current). With groups, percentiles and ``mean`` need the values in memory.
    sample_ratio : SampleRatio or None
        Whether the sizes of both sides fit ``expect_ratio``; None if that was not given.
    offset, dates : int, bool
        Dates are seconds since 1970, kept minus ``offset``, so that doubles hold them: medians,
        quantiles and means are minus this number.
    reference, current : SampleFacts
        Sizes, missing and infinite values, medians and quantiles.
    warnings : tuple of str
        Reasons for caution.
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
    findings: tuple[Finding, ...] = ()
    mean: MeanChange | None = None
    percentiles: tuple[PercentileChange, ...] = ()
    sample_ratio: SampleRatio | None = None
    offset: int = 0
    dates: bool = False
    extremes: Extremes | None = None
    """How many values explain a change of the mean that the shift does not show."""
    kind: str = AMOUNT
    parts: Parts | None = None
    deciding: tuple[str, ...] = (SHIFT,)
    """The findings that the verdict and ``pvalue`` rest on."""
    values: tuple[Array, Array] | None = field(default=None, repr=False, compare=False)
    """The values of reference and current, if they are in memory."""
    adjustment: Adjusted | None = None
    """What the answer is adjusted for, what that is worth, and the numbers without it."""
    effective_sizes: tuple[float, float] | None = None
    """(Σw)²/Σw² of reference and current, with weights."""
    correction: Correction = NOT_CORRECTED
    estimand: str = SHIFT
    """What the verdict is about: the shift, or the mean."""
    per: str = ""
    """The name of the denominators, if the means are ratios of sums."""
    call: Call | None = field(default=None, repr=False, compare=False)
    """How it was asked for, if that is known."""

    @property
    def display(self) -> Display:
        """How values and differences of this column are shown."""
        return Display(self.unit, self.offset, self.dates)

    @property
    def width(self) -> float:
        """The width σ = τ of ψ in data units; NaN without a test of the shift."""
        outcome = self.result.outcome()
        return outcome.width if isinstance(outcome, ExactOutcome) else math.nan

    @property
    def shift_in_scales(self) -> float:
        """The shift in units of the reference's robust scale."""
        return self.shift / self.scale if self.scale > 0.0 else math.nan

    @property
    def interval_in_scales(self) -> tuple[float, float]:
        """The interval of the shift, in units of the same scale."""
        scale = self.scale if self.scale > 0.0 else math.nan
        return self.shift_interval.low / scale, self.shift_interval.high / scale

    def peers(self) -> Opinions:
        """What Welch, Mann-Whitney, KS, MMD² and Brown-Forsythe would say, in one table."""
        if self.values is None:
            raise ValueError("other statistics need the single values, and only summaries are held")
        own = Opinion(f"dkmd ({self.own})", self.shift, self.pvalue, self.direction)
        reference, current = (present(side) for side in self.values)
        outcome = self.result.outcome()
        kernel = outcome.robust_scale if isinstance(outcome, ExactOutcome) else self.scale
        spread = self.finding(SPREAD)
        if spread is None:
            return opinions(own, reference, current, kernel, yes=self.yes)
        wider = WIDER if spread.estimate > 1.0 else NARROWER
        also = Opinion("dkmd (spread ratio)", spread.estimate, spread.pvalue, wider)
        return opinions(own, reference, current, kernel, also, self.yes)

    @property
    def pairing(self) -> Pairing | None:
        """Units on both sides, and what pairing them gained; None without ``pair_by``."""
        return self.result.pairing

    @property
    def own(self) -> str:
        """What ``pvalue`` is about: the shift, the mean, the ratio, the share, or two parts."""
        return OWN.get(self.deciding, RATIO if self.per else self.estimand)

    @property
    def yes(self) -> float | None:
        """The value of yes; None unless there are only two values."""
        return None if self.parts is None else self.parts.yes

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
        relative = self.relative_shift_interval
        return {
            "format": "dkmd-comparison",
            "version": FORMAT_VERSION,
            "name": self.name,
            "unit": self.unit,
            "kind": self.kind,
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
            "changed": self.changed,
            "correction": self.correction._asdict(),
            "parts": None if self.parts is None else self.parts._asdict(),
            "pairing": unit_numbers(self.pairing),
            **design_numbers(self),
            "estimand": self.estimand,
            "per": self.per or None,
            "width": self.width,
            "findings": [finding.to_dict() for finding in self.findings],
            "mean": None if self.mean is None else self.mean._asdict(),
            "percentiles": [percentile_numbers(change) for change in self.percentiles],
            "sample_ratio": None if self.sample_ratio is None else self.sample_ratio.to_dict(),
            "offset": self.offset,
            "dates": self.dates,
            "reference": self.reference.to_dict(),
            "current": self.current.to_dict(),
            "warnings": list(self.warnings),
        }

    def with_call(self, call: Call) -> Self:
        """The same answer with a record of how it was asked for."""
        return replace(self, call=call)

    def corrected(self) -> Self:
        """The same answer with findings that are corrected for the tests of this comparison."""
        findings, correction = corrected(self.pvalue, self.findings, self.deciding)
        return replace(self, findings=findings, correction=correction)

    def among_several(
        self, adjusted: Mapping[str, float], adjusted_beyond: float, tests: int
    ) -> Self:
        """The same answer as one of several, with p-values adjusted for the number of ``tests``.

        ``adjusted`` has one for the shift and one for every finding. A change counts only if its
        adjusted p-value of "beyond the margin" is below alpha, and so is that of its finding.
        """
        known = [adjusted[what] for what in self.deciding if not math.isnan(adjusted[what])]
        clear = max(adjusted_beyond, min(known, default=math.nan)) < self.alpha
        clear = clear or self.verdict == "equivalent"
        verdict = self.verdict if clear else "inconclusive"
        if verdict == "mixed" and max(known) >= self.alpha:  # only one part is clear
            verdict = "higher" if self.direction == UP else "lower"
        return replace(
            self,
            adjusted_pvalue=min(known, default=math.nan),
            findings=tuple(each.adjusted(adjusted[each.what]) for each in self.findings),
            adjusted_pvalue_beyond=adjusted_beyond,
            correction=Correction(BENJAMINI_HOCHBERG, tests),
            verdict=verdict,
        )

    @property
    def tests(self) -> dict[str, float]:
        """The p-value of everything that was tested: of the shift, and of every finding."""
        shift = {SHIFT: self.pvalue} if SHIFT in self.deciding else {}
        return shift | {each.what: each.pvalue for each in self.findings}

    @property
    def is_clear(self) -> bool:
        """Whether there is a change of any size: p, or the adjusted p, is below alpha."""
        decides = self.pvalue if self.adjusted_pvalue is None else self.adjusted_pvalue
        return decides < self.alpha

    @property
    def changed(self) -> list[str]:
        """What clearly changed, of "shift", "share", "rest", "mean", "spread" and "missing"."""
        shifted = [self.estimand] if SHIFT in self.deciding and self.is_clear else []
        return shifted + [each.what for each in self.findings if each.is_clear(self.alpha)]

    def finding(self, what: str) -> Finding | None:
        """The finding on one thing, such as "spread", if there is one."""
        return next((each for each in self.findings if each.what == what), None)

    def plot(self, ax: Any = None, kind: str = "density") -> Any:
        """Both distributions, their medians and the shift; needs matplotlib (dkmd[plot]).

        ``kind`` is "density" or "cdf".
        """
        from dkmd.render.plot import entitle, plot_pair

        labels = (self.reference.label, self.current.label)
        axes = plot_pair(self.result, labels, self.verdict, self.unit, ax, kind, self.values)
        axes.set_xlabel(f"{self.name} ({self.unit})" if self.unit else self.name)
        entitle(axes, self.headline())
        return axes

    def headline(self) -> str:
        """The answer in one sentence, and its evidence in another."""
        return " ".join([*unequal_arms([self]), answer_of(self), evidence_of(self), *more_of(self)])

    def rows(self) -> list[tuple[str, str, str, str]]:
        """A small table: a fact, its value for reference and current, and the difference."""
        before, after = self.reference, self.current
        rows = [("values", count(before.size), count(after.size), "")]
        rows += [*effective_rows(self), *unit_rows(self.pairing)]
        if self.kind != AMOUNT:
            rows.append(("kind", self.kind, "", ""))
        rows += part_rows(self)
        if self.kind != YES_NO and not self.per:
            rows.append(("median", *self.display.pair(before.median, after.median), ""))
        if self.kind != YES_NO and self.estimand == SHIFT:
            rows.append(("shift", "", "", self.display.amount(raw_shift(self))))
            rows += design_rows(self)
        if self.mean is not None and self.parts != Parts(0.0, 1.0):  # of 0 and 1 it is the share
            old, new = self.mean.reference, self.mean.current
            told = with_interval(self.mean, old, new, self.display)
            told += "" if self.adjustment is None else ", adjusted"
            rows.append((RATIO if self.per else "mean", *self.display.pair(old, new), told))
        if self.kind == YES_NO or self.estimand != SHIFT:
            rows += design_rows(self)
        spread = self.finding(SPREAD)
        if spread is not None:
            pair = self.display.lengths(spread.reference, spread.current)
            ratio, low, high = (factor(each) for each in (spread.estimate, *spread.interval))
            rows.append(("spread", *pair, f"× {ratio} ({low} to {high})"))
        elif (
            self.kind == AMOUNT and not self.per and min(before.size, after.size) < FEWEST_OF_SPREAD
        ):
            rows.append(("spread", "", "", f"needs {FEWEST_OF_SPREAD} values"))
        rows += [percentile_row(change, self.display) for change in self.percentiles]
        for q in () if self.percentiles or self.per or self.kind == YES_NO else QUANTILES:
            old, new = before.quantiles[q], after.quantiles[q]
            if q == MEDIAN:
                old, new = before.median, after.median
            moved = signed(new - old, old, new)
            if self.dates and moved:
                moved = self.display.amount(new - old)
            rows.append((f"{q:.0%}", *self.display.pair(old, new), moved))
        for what, name in ((LEFT_OUT, "nan"), ("−inf", "minus_inf"), ("+inf", "plus_inf")):
            old, new = getattr(before, name), getattr(after, name)
            if old or new:
                rows.append((what, count(old), count(new), ""))
        return rows

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.warnings)

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import answer_html, pictures

        outcome = self.result.outcome()
        labels = (self.reference.label, self.current.label)
        drawn = pictures(outcome, self.verdict, labels, self.unit, self.values)
        return answer_html(self.headline(), self.table(), self.warnings, drawn)

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` under a heading."""
        return [("", self.reference.label, self.current.label, "difference"), *self.rows()]
