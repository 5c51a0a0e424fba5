"""Several answers: one per level or column, with p-values adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

from dkmd.answers.comparison.arms import unequal_arms
from dkmd.answers.comparison.categories import CategoryComparison
from dkmd.answers.comparison.documents import FORMAT_VERSION, Documented
from dkmd.answers.comparison.mean_words import mean_tells_more
from dkmd.answers.comparison.missing import MISSING, missing_shares
from dkmd.answers.comparison.one import RATIO, Comparison
from dkmd.answers.comparison.together import TogetherComparison
from dkmd.answers.comparison.words import DIRECTED, plain_margin, tags_of
from dkmd.answers.findings import CATEGORY, MEAN, REST, SHARE, SHIFT, SPREAD
from dkmd.answers.findings import MISSING as MORE_MISSING
from dkmd.base.calls import Call
from dkmd.base.wording import (
    amount,
    count,
    names_by_note,
    of_several,
    short_p,
    text_page,
    visible,
)
from dkmd.inference.kinds.column_kind import AMOUNT
from dkmd.inference.test.margins import parse_margin
from dkmd.render.terminal import Drop, Listing, cut, listing_of, named

MOVED = (*DIRECTED, "mixed")
"""Verdicts of a change beyond the margin."""

OTHERS = {
    SHARE: "The share of the most common value",
    REST: "The rest, without the most common value,",
    SHIFT: "The typical value",
    MEAN: "The mean",
    SPREAD: "The spread",
    CATEGORY: "The categories",
}
"""What can change beside what a verdict rests on, in words."""


MOST_ROWS = 20
"""Rows on a terminal, unless all are asked for."""


class LeftOut(NamedTuple):
    """Of a column with many levels only the most frequent ones are compared."""

    by: str
    levels: int  # left out
    kept: int  # compared

    @property
    def words(self) -> str:
        """How many levels were kept and left out."""
        others = (
            "1 rarer level was" if self.levels == 1 else f"{count(self.levels)} rarer levels were"
        )
        return (
            f"only the {count(self.kept)} most frequent levels of {self.by} are compared; {others} "
            "left out (--most-levels and --all-levels change that)"
        )


ColumnAnswer = Comparison | CategoryComparison
"""The answer about one column or level: of numbers, or of categories."""


class Comparisons(Documented, Mapping[str, Any]):
    """Several comparisons by name: one per level of a column, or one per column.

    Shifts, means, spreads and missing values of all comparisons share one false-discovery rate. A
    change counts only if its adjusted p-value is below alpha.

    Attributes
    ----------
    alpha : float
        The false-discovery rate: the share of false alarms allowed among ``changed``.
    left_out : LeftOut or None
        The column with too many levels, and how many rare levels were not compared.
    """

    FORMAT = "dkmd-comparisons"
    ROWS = ""

    def __init__(
        self,
        comparisons: Mapping[str, ColumnAnswer],
        alpha: float,
        left_out: LeftOut | None = None,
        rows: str = "",
    ) -> None:
        family = _family(comparisons)
        adjusted = _adjusted(family)
        tests = sum(not math.isnan(p) for p in family.values())
        beyond = _adjusted({name: c.pvalue_beyond for name, c in comparisons.items()})
        self._comparisons: dict[str, ColumnAnswer] = {
            n: c.among_several({what: adjusted[n, what] for what in c.tests}, beyond[n], tests)
            for n, c in comparisons.items()
        }
        self.alpha = alpha
        self.left_out = left_out
        self.row_words = rows or self.ROWS
        self.call: Call | None = None

    def __getitem__(self, name: str) -> Any:  # a ColumnAnswer; its kind says which
        return self._comparisons[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._comparisons)

    def __len__(self) -> int:
        return len(self._comparisons)

    @cached_property
    def adjusted_pvalues(self) -> dict[str, float]:
        """p-values adjusted for their number (Benjamini–Hochberg); NaN where no test was made."""
        known = {name: comparison.adjusted_pvalue for name, comparison in self.items()}
        return {name: math.nan if p is None else p for name, p in known.items()}

    @property
    def changed(self) -> list[str]:
        """Names with any clear change: of shift, parts, mean, spread, levels or missing values."""
        return [name for name in self if self[name].changed]

    @property
    def shifted(self) -> list[str]:
        """Names whose shift is clear: its adjusted p-value is below alpha."""
        return [n for n, c in self.items() if _has_direction(c) and _is_shifted(c)]

    @property
    def beyond(self) -> list[str]:
        """Names that moved by more than the margin, at the same false-discovery rate."""
        margins = any(c.margin for c in self.values())
        return [n for n, c in self.items() if c.verdict in MOVED and (c.margin or not margins)]

    def plot(self, ax: Any = None) -> Any:
        """A forest plot: a row per comparison, in robust scales; needs matplotlib (dkmd[plot]).

        Columns of categories have no shift and no row.
        """
        from dkmd.render.plot import ForestLine, entitle, plot_forest

        lines = [
            ForestLine(name, c.verdict, c.shift_in_scales, c.interval_in_scales)
            for name, c in self.items()
            if isinstance(c, Comparison)
        ]
        margins = {c.margin for c in self.values() if c.margin is not None}
        kinds = {parse_margin(margin) for margin in margins}
        size = next((size for size, kind in kinds if kind == "sd"), 0.0)
        axes = plot_forest(lines, "shift in robust scales", size, ax)
        entitle(axes, self.headline())
        return axes

    def with_call(self, call: Call) -> Self:
        """The same answers with a record of how they were asked for."""
        known = copy(self)
        known.call = call
        known._comparisons = {
            n: c.with_call(call.of_row(n, c.name, c.current.label)) for n, c in self.items()
        }
        return known

    def rows(self) -> list[tuple[str, ...]]:
        """A line for each: name, kind, shift, interval, shift in scales, p, adjusted p, verdict."""
        return [self._row(name, comparison) for name, comparison in self.items()]

    HEAD: tuple[str, ...] = (
        "", "kind", "shift", "interval", "in scales", "p", "adjusted p", "verdict", "also",
    )  # fmt: skip

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` under a heading, without columns that say nothing: empty ones, only amounts."""
        rows, nothing = self.rows(), ("", AMOUNT)
        head = tuple(self._estimand if name == SHIFT else name for name in self.HEAD)
        shown = [
            i for i in range(len(head)) if i == 0 or any(row[i] not in nothing for row in rows)
        ]
        return [tuple(row[i] for i in shown) for row in (head, *rows)]

    @property
    def _estimand(self) -> str:
        """What was compared: the shift, the mean, or the ratio of sums."""
        numeric = [c for c in self.values() if isinstance(c, Comparison)]
        if not numeric or numeric[0].estimand == SHIFT:
            return SHIFT
        return RATIO if numeric[0].per else MEAN

    GIVE_WAY = ("p", "in scales", "kind", "adjusted p", "also", MISSING, "interval")
    """What a narrow terminal does without, in this order."""

    def listing(self, every: bool = False) -> Listing:
        """The table for a terminal: clear changes first, and only the first rows unless asked."""
        steps = [Drop((key,)) for key in self.GIVE_WAY]
        head, *rows = self.table()
        changed = set(self.changed)
        clear = [row[0] in changed for row in rows]
        ordered = [row for row, first in zip(rows, clear, strict=True) if first]
        ordered += [row for row, first in zip(rows, clear, strict=True) if not first]
        found = listing_of([head, *(rows if every else ordered)], steps)
        return cut(found, None if every else MOST_ROWS, self.row_words or "rows")

    def headline(self, most: int | None = None) -> str:
        """How many changed, and their names, at most ``most`` of each list."""
        names = named(self.beyond, most)
        told = f"{self.tally()}{names and f': {names}'}."
        return " ".join([*unequal_arms(self.values()), told, *self.others(most)])

    def tally(self) -> str:
        """How many shifted; with a margin, also how many shifted by more than that."""
        if not self.changed:
            words = self.row_words or "comparisons"
            rows = f"{len(self)} {words.removesuffix('s') if len(self) == 1 else words}"
            return f"No clear change in {rows} (false-discovery rate {self.alpha:g})"
        numeric = [each for each in self.values() if _has_direction(each)]
        if not numeric:
            return self._categories_tally()
        what = f"{len(self.shifted)} of {len(numeric)} {self.row_words}".strip()
        if len(numeric) < len(self):
            ordered = any(isinstance(each, CategoryComparison) for each in numeric)
            kind = "numeric or ordered" if ordered else "numeric"
            what = f"{len(self.shifted)} of {len(numeric)} {kind} {self.row_words}".strip()
        moved = "shifted" if self._estimand == SHIFT else f"changed their {self._estimand}"
        told = f"{what} {moved} (false-discovery rate {self.alpha:g})"
        margin = next((each.margin for each in numeric if each.margin), None)
        if not margin or not self.shifted:
            return told
        return f"{told}, {len(self.beyond)} of them by more than {plain_margin(margin, '')}"

    def _categories_tally(self) -> str:
        """How many changed their categories, if there is no other kind of column."""
        changed = sum(CATEGORY in each.changed for each in self.values())
        what = f"{changed} of {len(self)} {self.ROWS}".strip()
        return f"{what} changed their categories (false-discovery rate {self.alpha:g})"

    def others(self, most: int | None = None) -> list[str]:
        """The names whose parts, mean, spread, categories or missing values changed."""
        told = []
        for what, words in OTHERS.items():
            names = [n for n, c in self.items() if what in c.changed and _tells_more(c, what)]
            told += [f"{words} changed: {named(names, most)}."] if names else []
        missing = {
            name: change
            for name in self
            if MORE_MISSING in self[name].changed
            and (change := self[name].finding(MORE_MISSING)) is not None
        }
        for word, sign in (("More", 1.0), ("Fewer", -1.0)):
            names = [name for name, change in missing.items() if sign * change.estimate > 0.0]
            told += [f"{word} values are missing: {named(names, most)}."] if names else []
        return told

    def to_dict(self) -> dict[str, Any]:
        """Every comparison with its adjusted p-value, in order."""
        return {
            "format": self.FORMAT,
            "version": FORMAT_VERSION,
            "alpha": self.alpha,
            "left_out": None if self.left_out is None else self.left_out._asdict(),
            "comparisons": [self._entry(name) for name in self],
        }

    def notes(self, most: int | None = None) -> list[str]:
        """Every warning once, with the names that it holds for, at most ``most`` of them."""
        names = names_by_note((name, note) for name, c in self.items() for note in c.warnings)
        told = [f"{named(whose, most)}: {warning}" for warning, whose in names.items()]
        return told if self.left_out is None else [self.left_out.words, *told]

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.notes())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {visible(self.headline())}>"

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import NO_LINE, Line, answer_html, overview

        lines = [
            Line(c.result.outcome(), c.verdict, c.shift_in_scales, c.interval_in_scales, c.values)
            if isinstance(c, Comparison)
            else NO_LINE
            for c in self.values()
        ]
        return answer_html(self.headline(), self.table(), self.notes(), beside=overview(lines))

    def _entry(self, name: str) -> dict[str, Any]:
        one = self[name]
        adjusted = {
            "adjusted_pvalue": one.adjusted_pvalue,
            "adjusted_pvalue_beyond": one.adjusted_pvalue_beyond,
        }
        return {**one.to_dict(), "key": name, **adjusted}

    def _row(self, name: str, c: ColumnAnswer) -> tuple[str, ...]:
        if isinstance(c, CategoryComparison):
            return self._row_of_categories(name, c)
        shift, low, high = c.display.interval(c.shift, *c.shift_interval)
        unit = f" {c.unit}" if c.unit and not (c.dates or math.isnan(c.shift)) else ""
        return (
            name,
            c.kind,
            shift + unit,
            f"{low} to {high}",
            amount(c.shift_in_scales),
            short_p(c.pvalue),
            short_p(self.adjusted_pvalues[name]),
            c.verdict,
            ", ".join(tags_of(c)),
        )

    def _row_of_categories(self, name: str, c: CategoryComparison) -> tuple[str, ...]:
        p, adjusted = short_p(c.pvalue), short_p(self.adjusted_pvalues[name])
        shift = interval = ""
        if c.order:
            low, high = map(amount, c.shift_interval)
            shift, interval = f"{amount(c.shift)} levels", f"{low} to {high}"
        return (name, c.kind, shift, interval, "", p, adjusted, c.verdict, ", ".join(tags_of(c)))


class Drift(Comparisons):
    """A comparison for each column of two tables, the largest shift in scales first.

    Dates follow numbers, and then categories, the largest change of shares first.

    Attributes
    ----------
    skipped : dict
        Why columns were not compared, by column.
    together : TogetherComparison or None
        All columns of numbers compared as one; None if there is one such column only, or if their
        values are not in memory.
    """

    FORMAT = "dkmd-drift"
    ROWS = "columns"
    HEAD = ("column", *Comparisons.HEAD[1:], MISSING)

    def __init__(
        self,
        comparisons: Mapping[str, ColumnAnswer],
        skipped: Mapping[str, str],
        alpha: float,
        together: TogetherComparison | None = None,
    ) -> None:
        ranked = sorted(comparisons.items(), key=lambda item: _rank(item[1]))
        super().__init__(dict(ranked), alpha)
        self.skipped = dict(skipped)
        self.together = together

    def others(self, most: int | None = None) -> list[str]:
        """What changed beside the shifts, and whether all columns together moved."""
        told = super().others(most)
        return told if self.together is None else [*told, self.together.line()]

    def nan_change(self, column: str) -> float:
        """The share of missing values in current minus that in reference."""
        return float(self[column].current.nan_share - self[column].reference.nan_share)

    def notes(self, most: int | None = None) -> list[str]:
        """Every warning, and the columns that were not compared, once for each reason."""
        told = []
        for why, whose in names_by_note(self.skipped.items()).items():
            if len(whose) == 1:
                told.append(f"{whose[0]} was skipped: {why}")
            else:
                names = named(whose, most)
                told.append(f"{len(whose):,} columns were skipped ({names}): {of_several(why)}")
        return super().notes(most) + told

    def to_dict(self) -> dict[str, Any]:
        """Every column with the change of its share of missing values, and ``skipped``."""
        together = None if self.together is None else self.together.to_dict()
        return super().to_dict() | {"skipped": dict(self.skipped), "together": together}

    def _entry(self, name: str) -> dict[str, Any]:
        return super()._entry(name) | {"nan_change": self.nan_change(name)}

    def _row(self, name: str, c: ColumnAnswer) -> tuple[str, ...]:
        some = c.reference.nan or c.current.nan
        return *super()._row(name, c), missing_shares(c.reference, c.current) if some else ""


Key = TypeVar("Key", bound=Hashable)


def _family(comparisons: Mapping[str, ColumnAnswer]) -> dict[tuple[str, str], float]:
    """The p-values of all findings of all comparisons: one false-discovery rate holds for them."""
    return {(name, what): p for name, c in comparisons.items() for what, p in c.tests.items()}


def _adjusted(pvalues: Mapping[Key, float]) -> dict[Key, float]:
    """Benjamini–Hochberg's adjusted p-values. NaN stays NaN and does not count as a test."""
    from scipy.stats import false_discovery_control

    known = {name: p for name, p in pvalues.items() if not math.isnan(p)}
    adjusted = false_discovery_control(list(known.values())) if known else ()
    found = dict(zip(known, (float(p) for p in adjusted), strict=True))
    return {name: found.get(name, math.nan) for name in pvalues}


def _has_direction(c: ColumnAnswer) -> bool:
    """Whether a column has a direction: numbers, dates and ordered levels."""
    return isinstance(c, Comparison) or bool(c.order)


def _tells_more(c: ColumnAnswer, what: str) -> bool:
    """Whether a change says more than the verdict does."""
    if isinstance(c, Comparison) and what == MEAN:
        return mean_tells_more(c)
    return what not in c.deciding


def _is_shifted(c: ColumnAnswer) -> bool:
    """Whether a column clearly moved; of numbers, whether what decides about them changed."""
    return c.is_clear if isinstance(c, Comparison) else SHIFT in c.changed


def _rank(c: ColumnAnswer) -> tuple[int, bool, float]:
    """A key that sorts large shifts first and unknown ones last: numbers, dates, categories.

    Dates move with time anyway, so they do not come before numbers.
    """
    if isinstance(c, CategoryComparison):
        return 2, math.isnan(c.pvalue), -c.distance
    shift = abs(c.shift_in_scales)
    return int(c.dates), math.isnan(shift), -shift
