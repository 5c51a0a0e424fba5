"""Rows in memory as one side of a comparison (``stored``)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import spread_parts
from dkmd.base.reading import CACHED
from dkmd.bins.filling import value_range
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.design.columns import FIT_ALL, Dummies, Frame
from dkmd.inference.design.labels import Coded, also_in, coded, missing_labels
from dkmd.inference.design.score_loops import add_by_unit, add_products, power_sums
from dkmd.inference.design.stored import (
    CLOSE,
    Labels,
    RowSums,
    Sample,
    ScoreTable,
    Stored,
    UnitTable,
    Weighing,
)


class AtomScores(NamedTuple):
    """The scores of few values, each an atom of its own or shared by ties."""

    origin: float
    offset: Array  # (atoms,) sorted
    found: Array  # (atoms, scores)
    infinite: Array  # (2, scores)

    @property
    def scores(self) -> int:
        """How many scores a row has."""
        return int(self.found.shape[1])

    def scorer(self) -> Scorer:
        """A function that writes the scores of values into (scores, values)."""
        return self._score

    def _score(self, values: Array, out: Array) -> None:
        """The scores of values that are among the atoms."""
        at = np.searchsorted(self.offset, values - self.origin)
        if self.offset.size:  # all values may be infinite
            out[:] = self.found[np.minimum(at, self.offset.size - 1)].T
        for end, infinite in zip((-np.inf, np.inf), self.infinite, strict=True):
            out[:, values == end] = infinite[:, None]


Scores = ScoreTable | AtomScores

Scorer = Callable[[Array, Array], None]
"""Writes the scores of values into (scores, values)."""


class HeldRows:
    """Values in memory with all that belongs to them, a row each.

    Parameters
    ----------
    values : ndarray
        NaN is a row without a value.
    weights, counts : ndarray, optional
        Checked before: finite numbers, 0 or more; whole numbers, 0 or more.
    labels : Coded, optional
        The units of the rows.
    covariates, strata : mapping, optional
        By name: numbers, and labels or levels as text.
    """

    def __init__(
        self,
        values: npt.NDArray[Any],
        weights: Array | None = None,
        counts: Array | None = None,
        labels: Coded | None = None,
        covariates: Mapping[str, Array] | None = None,
        strata: Mapping[str, Labels] | None = None,
    ) -> None:
        self.given = self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.weights, self.counts, self.units_of = weights, counts, labels
        self._given_counts = counts
        self._given_beside = weights, counts, labels, covariates, strata
        self._covariates, self._strata = covariates or {}, strata or {}
        self.covariates, self.strata = tuple(self._covariates), tuple(self._strata)
        self._places: slice | npt.NDArray[np.int64] = slice(None)  # of rows that count
        kept = self._rows_kept()
        if kept is not None:
            self._places = np.flatnonzero(kept)
            self.values = self.values[kept]
            self.weights = None if weights is None else weights[kept]
            self.counts = None if counts is None else counts[kept]
            self.units_of = None if labels is None else Coded(labels.codes[kept], labels.labels)

    def with_values(self, values: Array) -> HeldRows:
        """Other values of the same rows."""
        return HeldRows(values, *self._given_beside)

    def _rows_kept(self) -> npt.NDArray[np.bool_] | None:
        """The rows with a value, a weight and a count; None if all have them."""
        kept = None
        if np.isnan(value_range(self.given)).any():
            kept = ~np.isnan(self.given)
        for each in (self.weights, self.counts):
            if each is not None and not each.all():
                kept = each > 0.0 if kept is None else kept & (each > 0.0)
        return kept

    @property
    def missing(self) -> int:
        """How many values are NaN."""
        return 0 if isinstance(self._places, slice) else int(np.isnan(self.given).sum())

    @property
    def size(self) -> float:
        """How many rows there are, each as often as it counts."""
        return float(self.values.size if self.counts is None else self.counts.sum())

    @property
    def has_units(self) -> bool:
        """Whether rows have labels of units."""
        return self.units_of is not None

    def sample(self) -> Sample:
        """All rows as often as they count, those without a value too, or a random part of many."""
        counts, covariates = self._given_counts, self._covariates.values()
        if counts is None:
            return Sample(self.given, tuple(covariates), whole=True)
        total, places = float(counts.sum()), np.arange(self.given.size)
        if total <= FIT_ALL:
            rows = np.repeat(places, counts.astype(np.int64))
        else:
            rows = np.random.default_rng(0).choice(places, FIT_ALL, p=counts / total)
        return Sample(self.given[rows], tuple(of[rows] for of in covariates), total <= FIT_ALL)

    @cached_property
    def _levels(self) -> list[Coded]:
        return [_as_levels(labels) for labels in self._strata.values()]

    def levels(self) -> Sequence[Mapping[Any, int]]:
        """How often each level of strata occurs."""
        found = []
        for codes, labels in self._levels:
            rows = np.bincount(codes, self._given_counts, labels.size)
            found.append(Counter(dict(zip(labels.tolist(), map(round, rows), strict=True))))
        return found

    @cached_property
    def _weighing(self) -> Weighing | None:
        if self.weights is None or not self.weights.size:
            return None
        top = float(self.weights.max())
        share = self.weights / top  # squares of weights around 1e200 would overflow
        return Weighing.of(share, self.counts)

    def weighing(self) -> Weighing | None:
        """The weights as shares of the largest one; None without them."""
        return self._weighing

    @cached_property
    def relative(self) -> Array | None:
        """The weights over their mean; None without them."""
        known = self._weighing
        if known is None or self.weights is None:
            return None
        return self.weights / float(self.weights.max()) / known.mean

    @property
    def row_weights(self) -> Array | None:
        """What each row weighs, as often as it counts; None if all count the same."""
        return self._times(self.relative)

    def labels(self) -> Labels:
        """The label of every unit that has a row."""
        assert self.units_of is not None
        codes, labels = self.units_of
        return labels[np.bincount(codes, minlength=labels.size) > 0]

    def bins(self, grid: Grid, logs: bool) -> Summary:
        """The sums per bin."""
        weights = self.row_weights
        found = Summary(grid)
        found.update(np.log(self.values) if logs else self.values, weights=weights)
        return found

    def _times(self, weights: Array | None) -> Array | None:
        """Weights times counts; None if both are 1."""
        if self.counts is None:
            return weights
        return self.counts.astype(np.float64) if weights is None else weights * self.counts

    def shared_bins(self, grid: Grid, beside: Stored, logs: bool) -> Summary:
        """The sums per bin of the units that the other side has too. Every unit weighs 1."""
        values, weights = self.shared_values(beside)
        found = Summary(grid)
        found.update(np.log(values) if logs else values, weights=weights)
        return found

    def shared_values(self, beside: Stored) -> tuple[Array, Array]:
        """The values of units that the other side has too, and 1 over the rows of their unit."""
        assert self.units_of is not None
        codes, labels = self.units_of
        rows = np.bincount(codes, self._times(None), labels.size)
        shared = also_in(labels, beside.labels())
        each = np.divide(1.0, rows, out=np.zeros(labels.size), where=shared & (rows > 0.0))
        weights = each[codes]
        weights = weights if self.counts is None else weights * self.counts
        if shared[codes].all():
            return self.values, weights
        return self.values[shared[codes]], weights[shared[codes]]

    def _dummies(self, frame: Frame) -> Dummies:
        """The strata of the rows that count."""
        levels = self._levels if frame.factors else []
        return frame.dummies(
            [
                factor.codes(labels.tolist())[codes[self._places]]
                for factor, (codes, labels) in zip(frame.factors, levels, strict=True)
            ]
        )

    def _pieces(
        self, score: Scorer, scores: int, frame: Frame, logs: bool, part: slice
    ) -> Iterator[tuple[slice, Array]]:
        """Rows by column: 1, scores, numeric columns g.

        Pieces stay in a core's cache. The next piece overwrites the last one.
        """
        first = 1 + scores
        width = first + len(frame.numbers)
        held = np.ones((width, min(CACHED, part.stop - part.start)))
        for start in range(part.start, part.stop, CACHED):
            at = slice(start, min(start + CACHED, part.stop))
            values, rows = self.values[at], held
            if values.size < held.shape[1]:
                rows = held.reshape(-1)[: width * values.size].reshape(width, values.size)
                rows[0] = 1.0
            score(np.log(values) if logs else values, rows[1:first])
            if width > first:
                places = at if isinstance(self._places, slice) else self._places[at]
                known = [each[places] for each in self._covariates.values()]
                frame.write_numbers(known, rows[first:])
            yield at, rows

    def units(self, scores: Scores, frame: Frame, logs: bool) -> UnitTable:
        """The sums of every unit."""
        assert self.units_of is not None
        codes, labels = self.units_of
        weighted, score, last = self.row_weights, scores.scorer(), scores.scores

        def part(_: int, part: slice) -> tuple[Array, Array]:
            powers, table = np.zeros(4), np.zeros((labels.size, 1 + last + len(frame.numbers)))
            for at, rows in self._pieces(score, last, frame, logs, part):
                add_by_unit(codes[at], _some(weighted, at), rows, table)
                powers += power_sums(rows[last], _some(self.counts, at))
            return table, powers

        found = spread_parts(part, [self.values.size], [4 * labels.size])[0]
        table, powers = (np.sum(each, axis=0) for each in zip(*found, strict=True))
        weight = table[:, 0]
        rows = weight
        if self.relative is not None:
            rows = np.bincount(codes, self.counts, labels.size).astype(np.float64)
        dummies = self._dummies(frame).by_unit(codes, labels.size, weighted)
        sums = np.concatenate([table[:, 1:], dummies], axis=1)
        there = weight > 0.0
        return UnitTable(labels[there], weight[there], sums[there], rows[there], powers)

    def left(self, scores: Scores, frame: Frame, logs: bool, theta: Array) -> Array:
        """What columns g leave of the last score of every row."""
        whole, last, numbers = slice(0, self.values.size), scores.scores, len(frame.numbers)
        pieces = self._pieces(scores.scorer(), last, frame, logs, whole)
        left = [rows[last] - theta[:numbers] @ rows[1 + last :] for _, rows in pieces]
        return np.concatenate(left) - self._dummies(frame).explained(theta[numbers:])

    def rows(self, scores: Scores, frame: Frame, logs: bool, theta: Array | None = None) -> RowSums:
        """The sums over all rows."""
        total, score, last = self.size, scores.scorer(), scores.scores
        dummies = self._dummies(frame)
        numbers = len(frame.numbers)

        def part(_: int, part: slice) -> RowSums:
            found = empty_sums(last + frame.width)
            for at, rows in self._pieces(score, last, frame, logs, part):
                left = rows[last]
                if theta is not None:
                    left = left - theta[:numbers] @ rows[1 + last :]
                    left -= dummies.at(at).explained(theta[numbers:])
                some, counts = _some(self.relative, at), _some(self.counts, at)
                _add_rows(rows, dummies.at(at), left, some, counts, total, found)
            return found

        first, *rest = spread_parts(part, [self.values.size])[0]
        for each in rest:
            first = first.add(each)
        gram = np.tril(first.gram) + np.tril(first.gram, -1).T
        if self.relative is not None:
            return first._replace(gram=gram)
        powers, sums = np.tile(first.powers[0], (4, 1)), gram[0, 1:].copy()
        return RowSums(powers, sums, gram / (total - 1.0) ** 2)


def _some(of: Array | None, at: slice) -> Array | None:
    return None if of is None else of[at]


def empty_sums(columns: int) -> RowSums:
    """The sums of no rows."""
    return RowSums(np.zeros((4, 4)), np.zeros(columns), np.zeros((columns + 1, columns + 1)))


def _add_rows(
    rows: Array,
    dummies: Dummies,
    left: Array,
    weights: Array | None,
    counts: Array | None,
    total: float,
    out: RowSums,
) -> None:
    """Add rows (1, scores, numbers) to sums, of whose gram only the lower half is filled.

    ``left`` is d. Weights are over their mean, and ``total`` is Σw of the whole side. Without
    weights, only the first row of the powers is filled, and the gram is that of c = 1.
    """
    each = counts
    if weights is None:
        out.powers[0] += power_sums(left, counts)
    else:
        each = part = np.ones(left.size) if counts is None else counts
        for power in range(4):
            out.powers[power] += power_sums(left, part)
            part = part * weights
        weighted = each * weights
        with np.errstate(invalid="ignore"):
            out.sums[: rows.shape[0] - 1] += rows[1:] @ weighted
        one_unit = np.zeros(left.size, dtype=np.int64)
        out.sums[rows.shape[0] - 1 :] += dummies.by_unit(one_unit, 1, weighted)[0]
        each = each * (weights / np.maximum(total - weights, CLOSE * total)) ** 2
    add_products(rows, each, out.gram)
    dummies.add_to_gram(rows, each, out.gram)


def _as_levels(labels: Labels) -> Coded:
    """Labels of strata as numbers; None where a label is missing."""
    found = coded(np.asarray(labels))
    names = found.labels.astype(object)
    names[missing_labels(found.labels)] = None
    kinds = {type(name) for name in names.tolist()} - {type(None)}
    if len(kinds) > 1:  # 1 and True are equal, but two levels
        items = [None if item is None else str(item) for item in np.asarray(labels, "O").tolist()]
        found = coded(np.array(items, dtype=object))
        names = found.labels
    elif sum(name is None for name in names) > 1:  # None and NaN are one level
        again = coded(names)
        return Coded(np.asarray(again.codes)[found.codes], again.labels)
    return Coded(found.codes, names)
