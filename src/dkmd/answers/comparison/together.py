"""The answer about several columns together: did they move, by how much, and which of them?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from dkmd.answers.comparison.documents import FORMAT_VERSION, Documented
from dkmd.base.arrays import Array
from dkmd.base.calls import Call
from dkmd.base.wording import (
    amount,
    count,
    level_of,
    plain,
    probability,
    short_p,
    text_page,
    visible,
)
from dkmd.inference.test.result import ConfidenceInterval
from dkmd.matrices.result import DkmdMultivariateResult
from dkmd.sources.column_data import unit_of

NAMED = 3
"""Columns that a headline names."""

SHOWN = 10
"""Columns in the table and on the page, the largest |t| first."""


@dataclass(frozen=True)
class TogetherFacts:
    """One side: its label, and its rows in use."""

    label: str
    size: int

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"label": self.label, "size": self.size}


@dataclass(frozen=True)
class TogetherColumn:
    """One column: its shift in data units with a simultaneous interval, and its p-value."""

    name: str
    shift: float
    interval: ConfidenceInterval
    scale: float
    pvalue: float

    @property
    def in_scales(self) -> float:
        """The shift in robust scales."""
        return self.shift / self.scale if self.scale > 0.0 else 0.0

    @property
    def interval_in_scales(self) -> ConfidenceInterval:
        """The interval in robust scales."""
        if not self.scale > 0.0:
            return ConfidenceInterval(0.0, 0.0)
        return ConfidenceInterval(*(end / self.scale for end in self.interval))

    def verdict(self, alpha: float) -> str:
        """Higher, lower or inconclusive, by the family-wise p-value."""
        if not self.pvalue < alpha:
            return "inconclusive"
        return "higher" if self.shift > 0.0 else "lower"

    def to_dict(self) -> dict[str, Any]:
        """Under the names of the JSON schema."""
        return {
            "name": self.name,
            "shift": self.shift,
            "interval": list(self.interval),
            "scale": self.scale,
            "pvalue": self.pvalue,
        }


@dataclass(frozen=True)
class TogetherComparison(Documented):
    """Whether several columns moved together, by how much, and which of them.

    Attributes
    ----------
    verdict : str
        "moved", "equivalent" (by less than the margin) or "inconclusive".
    length : float
        The length of the shift vector in robust scales, without the part that noise adds.
    length_interval : ConfidenceInterval
        It may start at 0.
    pvalue : float
        Of the null that no column moved: a count of resamples, never below 1/(resamples + 1).
    columns : tuple of TogetherColumn
        All columns in their order. Their intervals hold at once, their p-values are family-wise.
    result : DkmdMultivariateResult
        The test. Positive means that current is larger.
    """

    names: tuple[str, ...]
    result: DkmdMultivariateResult = field(repr=False)
    reference: TogetherFacts
    current: TogetherFacts
    alpha: float
    margin: float | None
    warnings: tuple[str, ...]
    paired: bool = False
    samples: Mapping[str, tuple[Array, Array]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The values of reference and current in the columns that the page shows."""
    call: Call | None = field(default=None, repr=False, compare=False)

    @property
    def pvalue(self) -> float:
        """Of the null that no column moved."""
        return self.result.pvalue

    @property
    def length(self) -> float:
        """The length of the shift in robust scales, without the part that noise adds."""
        return self.result.length

    @cached_property
    def length_interval(self) -> ConfidenceInterval:
        """An interval of the length; it may start at 0."""
        return self.result.length_interval(1.0 - self.alpha)

    @cached_property
    def verdict(self) -> str:
        """Moved, equivalent or inconclusive."""
        return self.result.verdict(self.margin or 0.0, 1.0 - self.alpha)

    @property
    def is_clear(self) -> bool:
        """Whether the columns moved: p is below alpha."""
        return self.pvalue < self.alpha

    @cached_property
    def columns(self) -> tuple[TogetherColumn, ...]:
        """All columns in their order."""
        result = self.result
        low, high = result.shift_interval(1.0 - self.alpha)
        return tuple(
            TogetherColumn(
                name,
                float(result.shift[j]),
                ConfidenceInterval(float(low[j]), float(high[j])),
                float(result.scale[j]),
                float(result.column_pvalues[j]),
            )
            for j, name in enumerate(self.names)
        )

    @cached_property
    def ranked(self) -> list[int]:
        """The numbers of the columns, the largest |t| first."""
        t = np.nan_to_num(np.abs(self.result.t), nan=-1.0)
        return [int(j) for j in np.argsort(-t, kind="stable")]

    def with_call(self, call: Call) -> Self:
        """The same answer with a record of how it was asked for."""
        return replace(self, call=call)

    @property
    def name(self) -> str:
        """The columns in a few words."""
        if len(self.names) <= NAMED:
            return ", ".join(self.names)
        return f"{self.names[0]} … {self.names[-1]}"

    def headline(self) -> str:
        """The answer in one sentence, and its evidence in another."""
        if math.isnan(self.pvalue):
            return f"The {count(len(self.names))} columns could not be compared together."
        told = [f"{self._answer()}."]
        if self.is_clear:
            told.append(f"{self._columns_that_moved()}.")
        what = "pairs" if self.paired else "rows"
        sizes = count(self.reference.size)
        if not self.paired:
            sizes += f" and {count(self.current.size)}"
        told.append(f"{probability(self.pvalue)}, n = {sizes} {what}.")
        return " ".join(told)

    def line(self) -> str:
        """The answer in one short sentence, beside the answers about single columns."""
        columns = f"All {count(len(self.names))} columns of numbers together"
        p = probability(self.pvalue)
        if not self.is_clear:
            return f"{columns}: no clear move ({p})."
        low, high = (plain(end, 3) for end in self.length_interval)
        if self.length == 0.0:  # noise alone is as long
            return f"{columns} moved by at most {high} scales ({p})."
        return f"{columns} moved by {plain(self.length, 3)} scales ({low} to {high}, {p})."

    def _answer(self) -> str:
        columns = f"{count(len(self.names))} columns" if len(self.names) != 1 else "1 column"
        before, after = self.reference.label, self.current.label
        low, high = (plain(end, 3) for end in self.length_interval)
        size = f"{plain(self.length, 3)} scales ({level_of(self.alpha)} interval {low} to {high})"
        if self.length == 0.0:  # noise alone is as long
            size = f"at most {high} scales (with a confidence of {level_of(self.alpha)})"
        by = "" if self.margin is None else f"{plain(self.margin, 3)} scales"
        if self.verdict == "equivalent":
            return (
                f"The {columns} together are EQUIVALENT in {after} and {before}: moved by less "
                f"than {by}, {size}"
            )
        if self.verdict == "moved":
            beyond = f" by more than {by}:" if by else " by"
            return f"The {columns} together MOVED from {before} to {after}{beyond} {size}"
        if self.is_clear:
            return (
                f"The {columns} together moved from {before} to {after} by {size}; whether by more "
                f"than {by} is INCONCLUSIVE"
            )
        return (
            f"The {columns} together: no clear move from {before} to {after} (INCONCLUSIVE), {size}"
        )

    def _columns_that_moved(self) -> str:
        """The columns whose own p-value is clear, the largest |t| first."""
        total = f"{len(self.names):,}"
        clear = [j for j in self.ranked if self.columns[j].pvalue < self.alpha]
        if not clear:
            return f"No single one of the {total} columns moved clearly"
        names = ", ".join(self._moved(j) for j in clear[:NAMED])
        more = f" and {len(clear) - NAMED:,} more" if len(clear) > NAMED else ""
        return f"{len(clear):,} of {total} columns moved clearly: {names}{more}"

    def _moved(self, j: int) -> str:
        column = self.columns[j]
        return f"{column.name} ({amount(column.shift, unit_of(column.name))})"

    def rows(self) -> list[tuple[str, ...]]:
        """The columns with the largest |t|: shift, interval, shift in scales, family-wise p."""
        found: list[tuple[str, ...]] = []
        for j in self.ranked[:SHOWN]:
            column = self.columns[j]
            low, high = (amount(end) for end in column.interval)
            found.append(
                (
                    column.name,
                    amount(column.shift, unit_of(column.name)),
                    f"{low} to {high}",
                    amount(column.in_scales),
                    short_p(column.pvalue),
                    column.verdict(self.alpha),
                )
            )
        return found

    HEAD = ("column", "shift", "interval", "in scales", "p of any column", "verdict")

    def table(self) -> list[tuple[str, ...]]:
        """``rows`` under a heading."""
        return [self.HEAD, *self.rows()]

    def __str__(self) -> str:
        return text_page(self.headline(), self.table(), self.warnings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {visible(self.headline())}>"

    def _repr_html_(self) -> str:
        from dkmd.render.figures.notebook import answer_html

        return answer_html(self.headline(), self.table(), self.warnings)

    def to_dict(self) -> dict[str, Any]:
        """Every number unrounded, under the names of the JSON schema."""
        return {
            "format": "dkmd-together",
            "version": FORMAT_VERSION,
            "verdict": self.verdict,
            "pvalue": self.pvalue,
            "sum_pvalue": self.result.pvalues.total,
            "largest_pvalue": self.result.pvalues.largest,
            "alpha": self.alpha,
            "margin": self.margin,
            "length": self.length,
            "length_interval": list(self.length_interval),
            "paired": self.paired,
            "columns": [column.to_dict() for column in self.columns],
            "reference": self.reference.to_dict(),
            "current": self.current.to_dict(),
            "warnings": list(self.warnings),
        }

    def plot(self, ax: Any = None) -> Any:
        """A forest of the columns with the largest |t|; needs matplotlib (dkmd[plot])."""
        from dkmd.render.plot import ForestLine, entitle, plot_forest

        if math.isnan(self.pvalue):
            raise ValueError("there is nothing to plot: the samples could not be compared")
        lines = [
            ForestLine(c.name, c.verdict(self.alpha), c.in_scales, tuple(c.interval_in_scales))
            for c in (self.columns[j] for j in self.ranked[:SHOWN])
        ]
        axes = plot_forest(lines, "shift in robust scales", 0.0, ax)
        entitle(axes, self.headline())
        return axes
