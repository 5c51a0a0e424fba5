"""Covariates and strata beside values that are not in memory: long files, dask, engines.

Each side sums its values up where they are: per bin with the columns g beside them, and what is
left of ψ where few values or groups need it. Both sides and all their parts share one ``Frame``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.base.reading import Codes
from dkmd.binned.crossed import Crossed
from dkmd.binned.crossed_loops import PSI
from dkmd.binned.grid import Grid
from dkmd.binned.weighted_crossed import WeightedCrossed
from dkmd.inference.adjusted import AdjustedPair
from dkmd.inference.adjusting import (
    ENOUGH,
    Effect,
    Explained,
    Powers,
    adjust,
    notes_on,
    skewness_of,
)
from dkmd.inference.cross import Cross, Model
from dkmd.inference.crossed_test import compare_crossed
from dkmd.inference.frame import Frame, fit_covariate, fit_factor
from dkmd.inference.groups import Clusters, GroupSums
from dkmd.inference.groups import Effect as Grouped
from dkmd.inference.known_columns import OUTCOME
from dkmd.inference.label_codes import Labels
from dkmd.inference.one_test import clustering_of, compare_sides, stopped_by_nan, too_small
from dkmd.inference.options import Options
from dkmd.inference.pair import Pair, satterthwaite
from dkmd.inference.result import ExactOutcome, NoOutcome, Outcome
from dkmd.inference.tails import student_tails
from dkmd.inference.unit_design import UnitRows
from dkmd.inference.unit_streams import UnitStream
from dkmd.inference.units import fitted_bins
from dkmd.inference.weighing import Weighing
from dkmd.statistic.witness import Witness

Level = str | None
"""A level of strata as text; None where it is missing."""


class Left(NamedTuple):
    """What is left of a value: weight·ψ/length − g·θ, of the value or of its logarithm.

    ``weighing`` is that of the side if values have weights.
    """

    witness: Witness
    weight: float
    theta: Array
    logs: bool
    weighing: Weighing | None = None


class UnitColumns(NamedTuple):
    """The units of one side: labels, sums of ψ at a witness, and sums of the columns g."""

    labels: Labels
    rows: UnitRows
    columns: Array  # (units, columns) Σg

    def at(self, places: Codes, labels: Labels, size: int) -> UnitColumns:
        """The same sums where unit i has the number ``places[i]`` among more units."""
        columns = np.zeros((size, self.columns.shape[1]))
        columns[places] = self.columns
        return UnitColumns(labels, self.rows.at(places, size), columns)


class CrossStream(Protocol):
    """One side whose values are summed up where they are, with covariates and strata."""

    @property
    def covariates(self) -> Sequence[str]:
        """The names of the covariates."""

    @property
    def strata(self) -> Sequence[str]:
        """The names of the columns of strata."""

    def plan(self, grids: Mapping[str, Grid]) -> None:
        """Announce the grids of all columns, so that one pass can serve several of them."""

    def weighing(self) -> Weighing | None:
        """The weights; None without them. Weights and counts that cannot be used are an error."""

    def some(self) -> tuple[Array, Sequence[Array]]:
        """Some values, or all of few, and their covariates; rows belong together."""

    def levels(self) -> Sequence[Mapping[Level, int]]:
        """How often each level of every column of strata occurs."""

    def crossed(self, grid: Grid, frame: Frame, logs: bool) -> Crossed:
        """The sums per bin with those of the columns of a frame."""

    def powers(self, left: Left, frame: Frame) -> Powers:
        """The sums of what is left of every value."""

    def grouped(self, left: Left, frame: Frame) -> GroupSums:
        """The sums over groups of what is left; of single values if there are no groups."""

    def weighted(self, grid: Grid, frame: Frame, logs: bool, weighing: Weighing) -> WeightedCrossed:
        """``crossed`` with the weights of values, as shares of the largest weight."""

    def units(self) -> UnitStream:
        """The groups as units that the other side may have too."""

    def by_unit(self, witness: Witness, frame: Frame, logs: bool) -> UnitColumns:
        """The sums of every unit at a witness, and those of its columns."""

    def crossed_units(
        self, grid: Grid, beside: UnitStream, frame: Frame, logs: bool
    ) -> WeightedCrossed:
        """``crossed`` of the units that the other side has too, where each unit weighs 1."""


def weighings_of(x: CrossStream, y: CrossStream) -> tuple[Weighing, Weighing] | None:
    """The weights of both sides; None without weights, and if they are all equal on each side."""
    one, two = x.weighing(), y.weighing()
    if one is None or two is None or (one.alike and two.alike):
        return None
    return one, two


def frame_of(x: CrossStream, y: CrossStream) -> Frame:
    """The frame of both sides together."""
    covariates, strata = x.covariates, x.strata
    fitted = []
    if covariates:
        some = x.some(), y.some()
        for i, name in enumerate(covariates):
            sides = [known[i] for _, known in some]
            if all(
                values.size > 0 and np.array_equal(known, values, equal_nan=True)
                for (values, _), known in zip(some, sides, strict=True)
            ):
                raise ColumnError(OUTCOME.format(name=repr(name)))
            fitted.append(fit_covariate(name, sides))
    factors = []
    if strata:
        for name, one, two in zip(strata, x.levels(), y.levels(), strict=True):
            counts = Counter(one)
            counts.update(two)
            # equal counts keep the order of the texts; missing labels come last
            order = sorted(counts, key=lambda level: (level is None, level or ""))
            factors.append(fit_factor(name, {level: counts[level] for level in order}))
    return Frame(tuple(fitted), tuple(factors))


class Streams(NamedTuple):
    """Both sides, the frame that they share, and whether values belong to groups."""

    x: CrossStream
    y: CrossStream
    frame: Frame
    has_groups: bool
    logs: bool = False
    weighings: tuple[Weighing, Weighing] | None = None

    def compare(self, x: Crossed, y: Crossed, options: Options) -> Outcome:
        """The test of both sides, of which x and y are the sums."""
        if stopped_by_nan(x.summary.nan + y.summary.nan, options):
            return NoOutcome(options.alternative)
        if self.weighings is not None:
            return self._weighted(self.weighings, x.summary.grid, options)
        grouped = clustering_of(self._groups) if self.has_groups else None
        few = min(x.summary.size, y.summary.size) < ENOUGH
        effect: Effect | None = self._left if self.has_groups or few else None
        found = compare_crossed(x, y, self.frame, options, effect, not self.has_groups, grouped)
        if not (self.has_groups and isinstance(found, ExactOutcome)):
            return found
        notes = notes_on(self._imbalance(found.witness))
        return replace(found, notes=(*found.notes, *notes))

    def _weighted(
        self, weighings: tuple[Weighing, Weighing], grid: Grid, options: Options
    ) -> Outcome:
        """The test of values with weights, as ``designs`` has it for values in memory."""
        if min(each.size for each in weighings) < 2:
            return too_small(options)
        x, y = (
            side.weighted(grid, self.frame, self.logs, weighing)
            for side, weighing in zip((self.x, self.y), weighings, strict=True)
        )
        factors = weighings[0].factor, weighings[1].factor
        bins = x.bins.times(factors[0], grid), y.bins.times(factors[1], grid)
        of_x, of_y, fitted = fitted_bins(bins, grid.unit, options)

        def effect(witness: Witness, _pair: Pair) -> Grouped:
            return Grouped(Clusters.of(*self._groups(witness)))

        raw = compare_sides(of_x, of_y, grid.center, fitted, options, effect)
        if not isinstance(raw, ExactOutcome):
            return raw
        raw = replace(raw, effective=(weighings[0].effective, weighings[1].effective))
        cross = (
            Cross.of_weighted(raw.pair.x, x, factors[0], grid),
            Cross.of_weighted(raw.pair.y, y, factors[1], grid),
        )
        found = adjust(raw, cross, self.frame, self._left)
        return replace(found, notes=(*found.notes, *notes_on(self._imbalance(found.witness))))

    def _lefts(
        self, witness: Witness, weights: tuple[float, float], theta: Array
    ) -> tuple[Left, Left]:
        """What is left of the values of x and of y."""
        of_x, of_y = self.weighings or (None, None)
        return (
            Left(witness, weights[0], theta, self.logs, of_x),
            Left(witness, weights[1], theta, self.logs, of_y),
        )

    def _grouped(
        self, witness: Witness, weights: tuple[float, float], theta: Array
    ) -> tuple[GroupSums, GroupSums]:
        """The sums over groups of what is left."""
        x, y = self._lefts(witness, weights, theta)
        return self.x.grouped(x, self.frame), self.y.grouped(y, self.frame)

    def _groups(self, witness: Witness) -> tuple[GroupSums, GroupSums]:
        """The sums over groups of ψ itself."""
        return self._grouped(witness, (1.0, 1.0), np.zeros(self.frame.width))

    def _left(self, pair: AdjustedPair, explained: Explained) -> tuple[Clusters, Model | None]:
        """The effect of groups on what is left of ψ, or its skewness."""
        witness = replace(pair.witness, center=pair.origin + explained.center)
        asked = witness, explained.weights, explained.theta
        if self.has_groups or self.weighings is not None:
            return Clusters.of(*self._grouped(*asked)), None
        x, y = self._lefts(*asked)
        one, two = self.x.powers(x, self.frame), self.y.powers(y, self.frame)
        none = Clusters.none(pair.x.size, pair.y.size)
        return none._replace(skewness=skewness_of(one, two)), None

    def _imbalance(self, witness: Witness) -> dict[str, float]:
        """How likely chance explains the difference of each covariate, by groups."""
        found = {}
        for j, (i, kind) in enumerate(self.frame.numbers):
            if kind != PSI:
                continue
            only = -np.eye(self.frame.width)[j]
            x, y = self._grouped(witness, (0.0, 0.0), only)
            parts = x.variance(), y.variance()
            error = sum(parts) ** 0.5
            if error > 0.0:
                df = satterthwaite(parts[0], parts[1], x.df, y.df)
                tails = student_tails((x.mean - y.mean) / error, df)
                found[self.frame.covariates[i].name] = float(tails.pvalue("two-sided"))
        return found
