"""Thousands of small tests at once: rows of two arrays, compared in compiled code.

A row goes through the same functions as a single test, so its numbers agree to the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled, spread
from dkmd.inference.test.pair import (
    ACCURATE,
    PlainTest,
    balanced,
    plain_test,
    relabelled_values,
)
from dkmd.inference.test.scan import moments_at
from dkmd.inference.test.sides import Side, atoms_of, quantile
from dkmd.inference.test.tails import (
    Tails,
    few_relabellings,
    larger,
    one_of_all,
    student_tail,
)
from dkmd.inference.test.width import LARGEST, MULTIPLE, SMALLEST, scale_of_two

if TYPE_CHECKING:
    from dkmd.inference.test.result import Outcome

ROWS_AT_ONCE = 256
"""Rows that one thread processes at a time."""

States = npt.NDArray[np.int64]

FINE, NO_NUMBERS, ODD = 0, 1, 2
"""States of a row: compared, with NaN, or for the slow path (equal values, no variance)."""


class RowTests(NamedTuple):
    """The tests of all rows in the order of x and y; arrays of (rows,)."""

    tests: PlainTest  # of arrays, in canonical order
    sign: Array
    width: Array
    shift: Array
    state: States
    sizes: tuple[int, int]

    @property
    def fine(self) -> npt.NDArray[np.bool_]:
        """The rows that were compared."""
        return np.asarray(self.state == FINE)

    def numbers(self, alternative: str) -> dict[str, Array]:
        """What a result shows of every row that was compared; NaN for the others."""
        bound = 2.0 * self.width
        return {
            "statistic": self.sign * bound * self.tests.statistic,
            "standard_error": bound * np.sqrt(self.tests.variance),
            "df": self.tests.df,
            "pvalue": self.tails().pvalue(alternative),
            "shift": self.shift,
            "width": self.width,
        }

    def tails(self) -> Tails:
        """Both one-sided p-values of every row; NaN for rows that were not compared."""
        fine = self.fine
        upper, lower = np.full((2, fine.size), math.nan)
        if fine.any():
            n, m = (float(size) for size in self.sizes)
            found = PlainTest(*(each[fine] for each in self.tests))
            t, floor = found.statistic / np.sqrt(found.variance), one_of_all(n, m)
            both = []
            for side, least in ((1.0, found.least_upper), (-1.0, found.least_lower)):
                tail = found.guard(n + m).tail(side, student_tail(side * t, found.df))
                both.append(larger(larger(tail, least), floor))
            flipped = self.sign[fine] < 0.0
            upper[fine] = np.where(flipped, both[1], both[0])
            lower[fine] = np.where(flipped, both[0], both[1])
        return Tails(upper, lower)


def compare_rows(
    x: npt.NDArray[Any], y: npt.NDArray[Any], scale: float | None = None, delta: float = 0.0
) -> RowTests:
    """Compare the rows of x (rows, n) with those of y (rows, m), each with its own width.

    With a ``delta`` the test is of (x − delta, y), but the width is still that of x and y.
    """
    rows = x.shape[0]
    out = np.full((rows, len(PlainTest._fields) + 3), math.nan)
    state = np.zeros(rows, dtype=np.int64)
    swapped = x.shape[1] > y.shape[1]
    counted = few_relabellings(float(x.shape[1]), float(y.shape[1]))
    given = math.nan if scale is None else scale

    def part(start: int) -> None:
        these = slice(start, min(start + ROWS_AT_ONCE, rows))
        left, right = (np.ascontiguousarray(a[these], dtype=np.float64) for a in (x, y))
        one, two, by = (right, left, -delta) if swapped else (left, right, delta)
        _compare_rows(one, two, given, by, counted, out[these], state[these])

    spread(part, range(0, rows, ROWS_AT_ONCE), x.size + y.size)
    *tests, width, shift, sign = out.T
    if swapped:
        sign, shift = -sign, -shift
    return RowTests(PlainTest(*tests), sign, width, shift, state, (x.shape[1], y.shape[1]))


@compiled
def _compare_rows(
    xs: Array, ys: Array, given: float, delta: float, counted: bool, out: Array, state: States
) -> None:
    """For each row: sort, order, find the width, and compute the test and the shift."""
    n, m = float(xs.shape[1]), float(ys.shape[1])
    for row in range(xs.shape[0]):
        if np.isnan(xs[row]).any() or np.isnan(ys[row]).any():
            state[row] = NO_NUMBERS
            continue
        x, y = np.sort(xs[row]), np.sort(ys[row])
        sign = _order(x, y)
        by = delta
        if sign < 0.0:
            x, y = y, x
            by = -delta
        origin = y[y.size // 2]
        if math.isinf(origin):
            state[row] = ODD
            continue
        side_x, side_y = Side(*atoms_of(x, origin)), Side(*atoms_of(y, origin))
        width = given
        if math.isnan(given):
            width = MULTIPLE * scale_of_two(side_x, side_y)
        if sign == 0.0 or not SMALLEST < width < LARGEST:
            state[row] = ODD
            continue
        found = plain_test(moments_at(side_x, side_y, by, width), n, m)
        if not found.variance > 0.0:
            state[row] = ODD
            continue
        near = 0.0
        if side_x.offset.size and side_y.offset.size:
            near = quantile(side_x.offset, side_x.counts, 0.5)
            near -= quantile(side_y.offset, side_y.counts, 0.5)
        shift = balanced(side_x, side_y, width, 0.0, near, ACCURATE).delta
        for i in range(len(found)):
            out[row, i] = found[i]
        if counted:
            out[row, len(found) - 2 : len(found)] = relabelled_values(side_x, side_y, by, width)
        out[row, -3], out[row, -2], out[row, -1] = width, sign * shift, sign


@compiled
def _order(x: Array, y: Array) -> float:
    """``canonical`` of ``one_test`` for sorted rows of which x is not the longer one."""
    if x.size < y.size:
        return 1.0
    for i in range(x.size):
        if x[i] != y[i]:
            return 1.0 if x[i] < y[i] else -1.0
    return 0.0


class Rows:
    """Outcomes in the shape of an array. An outcome is made at the start or when first used.

    ``numbers`` holds what is already known of every row: statistic, pvalue, df, standard_error,
    shift and width. Rows of which nothing is known are NaN in ``statistic``.
    """

    def __init__(self, numbers: dict[str, Array], known: Flags, make: Make) -> None:
        self._made: list[Outcome | None] = [
            None if fine else make(i) for i, fine in enumerate(known)
        ]
        self._make = make
        self._known = numbers
        self.shape: tuple[int, ...] = (known.size,)

    @classmethod
    def of(cls, outcomes: list[Outcome]) -> Rows:
        """Rows of outcomes that are already made."""
        rows = cls.__new__(cls)
        rows._made = list(outcomes)
        rows._make = outcomes.__getitem__
        rows._known = {}
        rows.shape = (len(outcomes),)
        return rows

    def shaped(self, shape: tuple[int, ...]) -> Rows:
        """The same outcomes in another shape."""
        self.shape = shape
        return self

    def __iter__(self) -> Iterator[Outcome]:
        return (self._at(i) for i in range(len(self._made)))

    def _at(self, i: int) -> Outcome:
        made = self._made[i]
        if made is None:
            made = self._made[i] = self._make(i)
        return made

    def each(self, name: str) -> Any:
        """One number of every outcome, in the shape of the array; a float for a single outcome."""
        known = self._known.get(name)
        values = np.array(
            [
                getattr(outcome, name) if outcome is not None or known is None else known[i]
                for i, outcome in enumerate(self._made if known is not None else self)
            ],
            dtype=np.float64,
        ).reshape(self.shape)
        return float(values[()]) if values.ndim == 0 else values

    def witnesses(self) -> Any:
        """The ψ of every outcome; None if nothing could be compared."""
        shaped = np.empty(self.shape, dtype=object)
        flat = shaped.reshape(-1)
        for i, outcome in enumerate(self):
            flat[i] = outcome.witness
        return shaped[()]

    def notes(self) -> list[str]:
        """What to watch out for, each note once. Rows compared in compiled code have no notes."""
        made = (o for o in self._made if o is not None)
        return list(dict.fromkeys(note for outcome in made for note in outcome.notes))

    def only(self) -> Outcome:
        """The only outcome."""
        if self.shape:
            raise ValueError(
                f"this result holds {len(self._made)} comparisons (shape {self.shape}), one is "
                "needed"
            )
        return self._at(0)

    def __getstate__(self) -> dict[str, Any]:
        return {"outcomes": list(self), "shape": self.shape}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(Rows.of(state["outcomes"]).shaped(state["shape"]).__dict__)


Flags = npt.NDArray[np.bool_]
Make = Callable[[int], "Outcome"]
