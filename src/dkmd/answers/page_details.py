"""The detail of one row of a page: numbers, settings, other statistics, and how to ask again.

Comparisons and benchmarks become ``Compared`` first, so that both get the same detail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dkmd.answers.comparison import (
    QUANTILES,
    Comparison,
    Comparisons,
    Drift,
    SampleFacts,
    plain_margin,
)
from dkmd.answers.comparison.missing import LEFT_OUT
from dkmd.answers.comparison.one import RATIO
from dkmd.answers.comparison.percentile_rows import percent_of
from dkmd.answers.findings import MEAN, SHIFT, SPREAD
from dkmd.answers.opinions import Opinion, Opinions, direction_of, opinions
from dkmd.answers.reasons import reasons
from dkmd.base.arrays import Array, present
from dkmd.base.calls import Call
from dkmd.base.displays import PLAIN, Display
from dkmd.base.wording import count, level_of, plain, short_p, signed
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.inference.test.result import ExactOutcome
from dkmd.render.figures.curves import Curves, curves_of
from dkmd.render.report.model import (
    NO_BAND,
    NOT_MEASURED,
    Interval,
    Measured,
    NumberLine,
    PageSample,
    PeerLine,
    Reproduce,
    Setting,
    Shown,
)
from dkmd.sources.column_data import LARGE

NOTHING = Shown("")

NO_SINGLE_VALUES = "Other statistics need the single values, and only their summary is held here."


@dataclass(frozen=True)
class Compared:
    """What is known of two samples, whether a comparison or a gate asked."""

    unit: str
    shift: Measured
    scale: float  # the robust scale
    margin: Margin | None
    confidence: float
    raw_pvalue: float  # not corrected for the number of rows
    two_sided: float  # the p-value of any change, which other statistics report too
    reference: SampleFacts
    current: SampleFacts
    outcome: ExactOutcome | None  # None if the samples could not be compared
    values: tuple[Array, Array] | None
    beside: tuple[NumberLine, ...] = ()  # the mean and the spread
    percentiles: tuple[NumberLine, ...] = ()  # with intervals; if empty, plain quantiles are shown
    display: Display = PLAIN
    levels: Interval | None = None  # the confidence of each end, if they are one-sided bounds
    own: str = "shift"  # what the p-value is about
    yes: float | None = None  # the value of yes in yes/no data
    gap: float = math.nan  # from no to yes
    more: tuple[tuple[str, str, str, str], ...] = ()  # rows about shares and parts
    kind: str = ""
    designed: tuple[tuple[str, str, str, str], ...] = ()  # rows about weights and adjustments

    @property
    def estimand(self) -> str:
        """What the amount is: the shift, the mean, or a ratio of sums."""
        return self.own if self.own in (MEAN, RATIO) else SHIFT

    @property
    def in_scales(self) -> Measured:
        """The shift in robust scales, which make columns comparable."""
        return self.shift.times(1.0 / self.scale) if self.scale > 0.0 else NOT_MEASURED

    def band(self, in_percent: bool) -> Interval:
        """The margin in percent or in scales; (0, 0) if the margin has another unit."""
        if self.margin is None:
            return NO_BAND
        size, kind = parse_margin(self.margin)
        if (kind == "%") != in_percent:
            return NO_BAND
        if kind == "pp":
            size, kind = (size * self.gap / 100.0, "") if self.gap > 0.0 else (0.0, "sd")
        if kind == "":
            size = size / self.scale if self.scale > 0.0 else 0.0
        return -size, size

    def curves(self) -> Curves | None:
        """The points of the figures."""
        return None if self.outcome is None else curves_of(self.outcome, self.values)

    def quantiles(self) -> dict[float, Interval]:
        """Each quantile of reference and of current."""
        before, after = self.reference.quantiles, self.current.quantiles
        return {q: (before[q], after[q]) for q in QUANTILES}

    def samples(self) -> tuple[PageSample, PageSample]:
        """Reference and current for the overview."""
        before, after = (
            PageSample(side.label, side.size, 0.0 if math.isnan(side.nan_share) else side.nan_share)
            for side in (self.reference, self.current)
        )
        return before, after

    def numbers(self) -> Iterator[NumberLine]:
        """Counts, medians, means and percentiles of both samples, and how far they moved."""
        before, after = self.reference, self.current
        yield _counts("values", before.size, after.size)
        for row in self.more:
            yield NumberLine(row[0], *(Shown(cell) for cell in row[1:]))
        if self.yes is None and self.outcome is not None:
            raw = self.outcome.adjustment
            middle = self.shift.middle if raw is None else raw.raw.shift
            moved = Shown(self.display.amount(middle), middle)
            yield NumberLine("median", *self._pair(before.median, after.median), NOTHING)
            if self.estimand == SHIFT:
                yield NumberLine("shift", NOTHING, NOTHING, moved)
        for row in self.designed:
            yield NumberLine(row[0], *(Shown(cell) for cell in row[1:]))
        if self.yes is None:
            yield from self.beside
            yield from self.percentiles
        plain = self.yes is None and self.estimand != RATIO and not self.percentiles
        if before.size and after.size and plain:
            for q, (old, new) in self.quantiles().items():
                told = signed(new - old, old, new)
                if self.display.dates and told:
                    told = self.display.amount(new - old)
                yield NumberLine(f"{q:.0%}", *self._pair(old, new), Shown(told, new - old))
        for name, old_count, new_count in (
            (LEFT_OUT, before.nan, after.nan),
            ("−inf", before.minus_inf, after.minus_inf),
            ("+inf", before.plus_inf, after.plus_inf),
        ):
            if old_count or new_count:
                yield _counts(name, old_count, new_count)

    def _pair(self, old: float, new: float) -> tuple[Shown, Shown]:
        """A value of each side."""
        before, after = self.display.pair(old, new)
        if self.display.offset:  # the text has all digits, and the doubles lack the offset
            return Shown(before), Shown(after)
        return Shown(before, old), Shown(after, new)

    def interval_ends(self) -> tuple[Shown, Shown] | None:
        """The ends of the shift's interval in data units; None if they are unknown."""
        low, high = self.shift.interval
        if math.isnan(low) or math.isnan(high):
            return None
        return Shown(self.display.end(low), low), Shown(self.display.amount(high), high)

    def peers(self) -> Opinions | None:
        """What other statistics say; None if the single values are missing or too many."""
        if self.values is None or self.outcome is None:
            return None
        if max(side.size for side in self.values) > LARGE:  # they would sort for minutes
            return None
        moved = self.shift.middle
        own = Opinion(f"dkmd ({self.own})", moved, self.two_sided, direction_of(moved))
        reference, current = (present(side) for side in self.values)
        return opinions(own, reference, current, self.outcome.robust_scale, yes=self.yes)

    def peer_notes(self, peers: Opinions | None) -> tuple[str, ...]:
        """Why the other statistics differ, or why there are none."""
        if self.outcome is None:
            return ()
        if peers is None:
            return (NO_SINGLE_VALUES,)
        sides = (self.reference, self.current)
        infinite = any(side.plus_inf or side.minus_inf for side in sides)
        grouped = self.outcome.designed
        return tuple(reasons(peers, 1.0 - self.confidence, grouped, infinite))

    def settings(self) -> Iterator[Setting]:
        """What the answer depends on."""
        yield Setting("confidence", Shown(self._confidence_words()))
        yield Setting("margin", Shown(self._margin_words()))
        if self.display.offset:
            start = self.display.pair(0.0, 0.0)[0]
            yield Setting("figures show values minus", Shown(start))
        if self.kind:
            yield Setting("kind of column", Shown(self.kind))
        if self.outcome is not None:
            yield _setting("robust scale", self.scale)
            yield from _test_settings(self.outcome, self.raw_pvalue)

    def _confidence_words(self) -> str:
        """The confidence of the interval, or of each of its ends."""
        if self.levels is None or math.isnan(self.levels[0]):
            return level_of(1.0 - self.confidence)
        low, high = (level_of(1.0 - level) for level in self.levels)
        return (
            f"{low} for each end"
            if low == high
            else f"{low} for the lower end, {high} for the upper"
        )

    def _margin_words(self) -> str:
        """A margin as it was given; a margin in scales also in data units."""
        if self.margin is None:
            return "none"
        size, kind = parse_margin(self.margin)
        shown = plain_margin(self.margin, self.unit)
        if kind == "sd" and self.scale > 0.0:
            shown += f" = {plain(size * self.scale)}{self.unit and ' ' + self.unit}"
        return shown


def not_compared(answers: Comparisons) -> dict[str, str]:
    """Columns that were skipped and levels that were left out, with reasons."""
    found = dict(answers.skipped) if isinstance(answers, Drift) else {}
    left_out = answers.left_out
    if left_out is not None:
        found[f"{left_out.levels:,} rarer levels of {left_out.by}"] = (
            f"only the {left_out.kept:,} most frequent levels are compared"
        )
    return found


def more_numbers(c: Comparison) -> tuple[tuple[NumberLine, ...], tuple[NumberLine, ...]]:
    """The mean and the spread of a comparison, and its percentiles, as lines of the page."""
    known = {}
    if c.mean is not None:
        name = RATIO if c.per else MEAN
        known[name] = c.mean.reference, c.mean.current, c.mean.difference
    spread = c.finding(SPREAD)
    if spread is not None:
        known["spread"] = spread.reference, spread.current, spread.estimate
    found = {percent_of(p.x.level): (p.y.value, p.x.value, p.difference) for p in c.percentiles}
    lines = {
        name: NumberLine(name, Shown(old, number[0]), Shown(new, number[1]), Shown(told, number[2]))
        for name, old, new, told in c.rows()
        if (number := (known | found).get(name)) is not None
    }
    return (
        tuple(line for name, line in lines.items() if name in known),
        tuple(line for name, line in lines.items() if name in found),
    )


def _test_settings(outcome: ExactOutcome, raw_pvalue: float) -> Iterator[Setting]:
    if outcome.means is None:
        witness = outcome.witness
        yield Setting("kernel, weight of ψ", Shown(f"{witness.kernel}, {witness.weight}"))
    if math.isfinite(outcome.width):
        yield _setting("width of ψ (σ = τ)", outcome.width)
    yield _setting("statistic", outcome.statistic)
    yield _setting("standard error", outcome.standard_error)
    yield _setting("degrees of freedom", outcome.df)
    yield Setting("p, uncorrected", Shown(short_p(raw_pvalue), raw_pvalue))
    yield from _design_settings(outcome)
    if outcome.units is not None and outcome.effective is None:
        after, before = outcome.units
        what = "groups" if outcome.pairing is None else "units"
        yield Setting(what, Shown(f"{count(int(before))} and {count(int(after))}"))
    if outcome.pairing is not None:
        yield Setting("shared units", Shown(count(outcome.pairing.shared)))
        if outcome.pairing.gain > 0.0:
            yield Setting(
                "interval without pairing", Shown(f"{outcome.pairing.gain:.3g} × as wide")
            )


def _design_settings(outcome: ExactOutcome) -> Iterator[Setting]:
    """Effective sizes, and what the test is adjusted for."""
    if outcome.effective is not None:
        after, before = (plain(size, 3) for size in outcome.effective)
        yield Setting("effective sizes", Shown(f"{before} and {after}"))
    found = outcome.adjustment
    if found is not None:
        yield Setting("adjusted for", Shown(", ".join(found.names)))
        yield Setting("as good as", Shown(f"{found.worth:.3g} × the data", found.worth))
        yield _setting("shift, not adjusted", found.raw.shift)
        yield Setting("p, not adjusted", Shown(short_p(found.raw.pvalue), found.raw.pvalue))


def peer_lines(peers: Opinions | None) -> tuple[PeerLine, ...]:
    """The table of other statistics. Its heading already says that current is compared."""
    return tuple(
        PeerLine(
            each.name,
            Shown(plain(each.value), each.value),
            Shown(short_p(each.pvalue), each.pvalue),
            each.direction.removeprefix("current is "),
        )
        for each in (() if peers is None else peers.rows)
    )


def _setting(name: str, value: float) -> Setting:
    return Setting(name, Shown(plain(value), value))


def _counts(name: str, old: int, new: int) -> NumberLine:
    return NumberLine(name, Shown(count(old)), Shown(count(new)), Shown(""))


def reproduce(call: Call | None, command: str | None) -> Reproduce:
    """How to get an answer again; ``command`` replaces the command of the call."""
    if call is None:
        return Reproduce(command, None)
    return Reproduce(command or call.command(), call.python(), tuple(call.in_memory()))


def reproduce_row(own: Call | None, whole: Call | None, command: str | None) -> Reproduce:
    """How to get one row again: by its own command if it has one, else by the page's."""
    narrower = own.command() if own is not None and own != whole else None
    return reproduce(own, narrower or command)
