"""The units of both sides: all independent, or the same units on both sides.

The same units are hosts before and after, or users in two months: equal labels in x and y. What
their rows on both sides share cancels in the move of the unit, so the moves of x and y are
subtracted before they are squared (``units``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import ColumnError
from dkmd.inference.design.labels import Labels, also_in, common
from dkmd.inference.design.stored import Table, UnitTable
from dkmd.inference.design.units import (
    FEW_UNITS,
    Moves,
    Part,
    effective_units,
    few_units,
    moves_of,
)
from dkmd.inference.test.one_sample import flip_tails
from dkmd.inference.test.tails import Tails, one_of_all

UNLIKE = 1_000.0
"""A unit with this many times the values of a typical unit is named."""

ONE_UNIT = "one sample has a single unit, and one unit shows no variance"

SAME_MOVE = 1e-12
"""The two sides of a unit that differ by less, in shares of the largest move, are alike."""


class KindsOfUnits(NamedTuple):
    """How many units there are: on both sides, in x only, in y only."""

    shared: int
    only_x: int
    only_y: int

    def require(self, weigh: str) -> None:
        """Reject samples without shared units, or with a single one."""
        if not self.shared:
            raise ColumnError(
                "no unit is in both samples: give a unit the same label in both, or compare "
                "without pairing"
            )
        if weigh == "units" and self.shared < 2:
            raise ColumnError("only one unit is in both samples, and one unit shows no variance")
        if self.shared + min(self.only_x, self.only_y) < 2:
            raise ColumnError(ONE_UNIT)


def kinds_of_labels(x: Labels, y: Labels) -> KindsOfUnits:
    """How many units there are of each kind, from the labels of both sides."""
    shared = int(also_in(x, y).sum())
    return KindsOfUnits(shared, int(x.size) - shared, int(y.size) - shared)


class UnitsOfBoth(NamedTuple):
    """Two sides, how far their units move D, and which kinds of units are independent."""

    x: Table
    y: Table
    one: Moves
    two: Moves
    parts: list[Part]  # of the units of x and of y; or of shared units, x only and y only
    floor: float  # no tail is below 1 over the number of relabellings, and of sign flips
    kinds: KindsOfUnits | None = None  # None if equal labels in x and y are different units
    notes: tuple[str, ...] = ()


def units_of_both(x: Table, y: Table, weigh: str | None, tested: int = 1) -> UnitsOfBoth:
    """Both sides by units, each with two units at least. With ``weigh``, equal labels are one unit.

    With "units", each shared unit weighs the same on both sides, and the others are left out. The
    degrees of freedom are those of the first ``tested`` scores.
    """
    if weigh is not None:
        assert isinstance(x, UnitTable)
        assert isinstance(y, UnitTable)
        return _shared(x, y, weigh, tested)
    one, two = moves_of(x), moves_of(y)
    if min(one.units, two.units) < 2.0:
        raise ColumnError(ONE_UNIT)
    parts = [(one.gram, one.df), (two.gram, two.df)]
    notes = few_units(one.units, two.units) if isinstance(x, UnitTable) else ()
    return UnitsOfBoth(x, y, one, two, parts, one_of_all(one.units, two.units), None, notes)


def _shared(x: UnitTable, y: UnitTable, weigh: str, tested: int) -> UnitsOfBoth:
    """``units_of_both`` if equal labels are one unit."""
    (x, y), labels, kinds = _aligned(x, y)
    kinds.require(weigh)
    notes = _notes_on(kinds, weigh) + _unlike(x, y, labels, weigh)
    floor = 0.5**kinds.shared
    if weigh == "units":
        x, y = _each_the_same(x, y)
    else:
        floor *= one_of_all(kinds.only_x, kinds.only_y)
    one, two = moves_of(x), moves_of(y)
    apart = one.moves - two.moves
    largest = (np.abs(one.moves) + np.abs(two.moves)).max(axis=0, initial=0.0)
    apart = np.where(np.abs(apart) > SAME_MOVE * largest, apart, 0.0)
    in_x, in_y = x.weight > 0.0, y.weight > 0.0
    of_x, of_y = (float(np.trace(side.gram[:tested, :tested])) for side in (one, two))
    expected = of_x * x.weight / one.size + of_y * y.weight / two.size
    parts = []
    for kind in (in_x & in_y, in_x & ~in_y, ~in_x & in_y):
        if kind.any():
            share_x = float(x.weight[kind].sum()) / one.size
            share_y = float(y.weight[kind].sum()) / two.size
            # a side loses one degree of freedom to its mean, and each kind its share of that loss
            both = share_x > 0.0 and share_y > 0.0
            lost = (0.5 if both else 1.0) * (share_x + share_y)
            parts.append((apart[kind].T @ apart[kind], effective_units(expected[kind]) - lost))
    return UnitsOfBoth(x, y, one, two, parts, floor, kinds, notes)


def parts_of_units(x: UnitTable, y: UnitTable, scores: int) -> Array:
    """The part of each shared unit in the difference of means of r, if each unit weighs the same.

    Its sign changes if the two sides of the unit are exchanged.
    """
    (x, y), _, _ = _aligned(x, y)
    x, y = _each_the_same(x, y)
    return _parts(x, y, np.zeros(x.columns - scores), scores)


def flipped(x: UnitTable, y: UnitTable, theta: Array, scores: int) -> Tails:
    """The shares of sign flips: lower bounds, because t does not know how few signs there are.

    If no unit changed, its two sides could be exchanged. That changes the sign of its part of D.
    """
    parts = _parts(x, y, theta, scores)
    return flip_tails(parts[parts != 0.0], np.ones(int((parts != 0.0).sum())))


def _parts(x: UnitTable, y: UnitTable, theta: Array, scores: int) -> Array:
    """The part of each unit in the difference of means of d, 0 where it is rounding error."""
    left = np.concatenate([np.zeros(scores - 1), [1.0], -theta])
    of_x, of_y = x.sums @ left / float(x.weight.sum()), y.sums @ left / float(y.weight.sum())
    rounding = SAME_MOVE * float(np.abs(of_x).sum() + np.abs(of_y).sum())
    return np.where(np.abs(of_x - of_y) > rounding, of_x - of_y, 0.0)


Sides = tuple[UnitTable, UnitTable]


def _aligned(x: UnitTable, y: UnitTable) -> tuple[Sides, Labels, KindsOfUnits]:
    """Both sides with the same units in the same places; units that are not there weigh 0."""
    of_x, of_y = common(x.labels, y.labels)
    size = int(of_x.labels.size)
    one, two = _placed(x, of_x.codes, size), _placed(y, of_y.codes, size)
    in_x, in_y = one.weight > 0.0, two.weight > 0.0
    there = in_x | in_y
    shared = int((in_x & in_y).sum())
    kinds = KindsOfUnits(shared, int(in_x.sum()) - shared, int(in_y.sum()) - shared)
    return (one.some(there), two.some(there)), of_x.labels[there], kinds


def _placed(side: UnitTable, places: npt.NDArray[Any], size: int) -> UnitTable:
    """The same sums where unit i has the number ``places[i]`` among more units."""
    weight, rows, sums = np.zeros(size), np.zeros(size), np.zeros((size, side.columns))
    weight[places], rows[places], sums[places] = side.weight, side.rows, side.sums
    return side._replace(weight=weight, rows=rows, sums=sums)


def _each_the_same(x: UnitTable, y: UnitTable) -> Sides:
    """The shared units of aligned sides, where each unit weighs 1 on both sides."""
    shared = (x.weight > 0.0) & (y.weight > 0.0)
    x, y = x.some(shared), y.some(shared)
    one, two = (
        side._replace(weight=np.ones(side.weight.size), sums=side.sums / side.weight[:, None])
        for side in (x, y)
    )
    return one, two


def _notes_on(kinds: KindsOfUnits, weigh: str) -> tuple[str, ...]:
    """What to watch out for: units that are left out, and too few units."""
    shared, only_x, only_y = kinds
    if weigh == "values":
        return few_units(shared + only_x, shared + only_y, "units")
    notes = []
    if only_x + only_y:
        verb, out = ("unit has", "is") if only_x + only_y == 1 else ("units have", "are")
        notes.append(f"{only_x + only_y:,} {verb} values on one side only and {out} left out")
    if shared < FEW_UNITS:
        notes.append(
            f"only {shared} shared units: with fewer than {FEW_UNITS} the p-value and "
            "intervals are rough"
        )
    return tuple(notes)


def _unlike(x: UnitTable, y: UnitTable, labels: Labels, weigh: str) -> tuple[str, ...]:
    """Notes that name units with far more values than the others."""
    notes = []
    for rows in (x.rows, y.rows):
        largest, total = int(rows.argmax()), float(rows.sum())
        most, typical = float(rows[largest]), float(np.median(rows[rows > 0.0]))
        if most < UNLIKE * typical and not (weigh == "values" and most > 0.5 * total):
            continue
        told = (
            "and outweighs the others: weigh='units' weighs all units alike"
            if weigh == "values"
            else "and counts no more than a unit with few: weigh='values' weighs all values alike"
        )
        name = str(labels[largest])[:40]
        notes.append(f"unit {name!r} has {most:,.0f} of {total:,.0f} values of one side {told}")
    return tuple(dict.fromkeys(notes))
