"""Are values that follow each other alike? Then a test of independent values is too sure.

The correlation of neighbours needs the values in the order of their rows. Of many values, a part
is used. The order of rows may be the order of time, or come from sorting by another column. The
data do not tell which, so the note names a possibility.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import PIECE, Array
from dkmd.base.compiled import compiled
from dkmd.inference.test.sides import Form
from dkmd.statistic.table import jet_at
from dkmd.statistic.witness import Witness

Places = npt.NDArray[np.int64]

CORRELATED = 0.1
"""With a larger correlation of neighbours p-values are too small: at 0.1, 5% is really 7.5%."""

CLEAR = 4.0
"""A correlation below this many standard errors may be chance."""

FEWEST = 20
"""Fewer values say nothing about their neighbours."""

RUNS = 16
"""How many stretches of PIECE neighbouring values represent a long sample."""

BRIEF = 2, 1024
"""Stretches and their values where the check must cost little: enough to see a correlation of 0.1.

Half as many would miss a correlation of 0.1. Twice as many would make a test of 5,000 values 10%
slower."""

ALIKE = (
    "neighbouring values are alike: if the rows are in time order or repeated measurements, the "
    "p-value is too small: say which values belong together (groups)"
)


class Middle(NamedTuple):
    """Where values lie and how far they spread: ψ with this centre and width sees them all."""

    center: float
    width: float

    def form(self) -> Form:
        """The ψ with this width."""
        unit = _unit_form()
        return Form(self.width, unit.per_unit / self.width, unit.limit, unit.jet)


@lru_cache(maxsize=1)
def _unit_form() -> Form:
    return Form.of(Witness(1.0, 1.0))


def neighbour_correlation(
    values: npt.NDArray[Any], middle: Middle, runs: int = RUNS, stretch: int = PIECE
) -> float:
    """The correlation of ψ at neighbouring values; 0 if chance explains it, and for sorted data.

    Of a long sample, ``runs`` evenly spaced stretches are used. NaN is skipped.
    """
    return _of_part(values, middle.center, middle.form(), runs, stretch)


def alike(samples: Iterable[npt.NDArray[Any]], middle: Middle) -> bool:
    """Whether the neighbours of a sample are clearly alike, by a check that costs little."""
    form = middle.form()
    return any(_of_part(each, middle.center, form, *BRIEF) > CORRELATED for each in samples)


def _of_part(values: npt.NDArray[Any], center: float, form: Form, runs: int, stretch: int) -> float:
    """The correlation of neighbours in stretches of a sample."""
    if values.size < FEWEST:
        return 0.0
    starts, stretch = _stretches(values.size, runs, stretch)
    if values.dtype != np.float64 or not values.flags.c_contiguous:
        parts = [values[start : start + stretch] for start in starts]
        values = np.concatenate(parts).astype(np.float64)
        starts = np.arange(starts.size) * stretch
    return _correlation(values, starts, stretch, center, form)


@compiled
def _correlation(values: Array, starts: Places, stretch: int, center: float, form: Form) -> float:
    """The correlation of ψ at neighbours; 0 if chance explains it, and for sorted data."""
    size = psi = squares = steps = products = pairs = rising = falling = 0.0
    for start in starts:
        before = math.nan
        for i in range(start, min(start + stretch, values.size)):
            if math.isnan(values[i]):
                continue
            now = jet_at((values[i] - center) * form.per_unit, form.jet)[0]
            size += 1.0
            psi += now
            squares += now * now
            if not math.isnan(before):
                steps += 1.0
                products += now * before
                pairs += now + before
                rising += 1.0 if now > before else 0.0
                falling += 1.0 if now < before else 0.0
            before = now
    if size < FEWEST or rising == 0.0 or falling == 0.0:
        return 0.0
    mean = psi / size
    total = squares - size * mean * mean
    if not total > 1e-12 * squares:
        return 0.0
    found = (products - mean * pairs + steps * mean * mean) / total
    return float(found) if found * math.sqrt(size) > CLEAR else 0.0


ONE = np.zeros(1, dtype=np.int64)
"""Where the only stretch of few values starts."""


def _stretches(size: int, runs: int = RUNS, stretch: int = PIECE) -> tuple[Places, int]:
    """Where the stretches of a sample start, and their length; of few values, one stretch."""
    if size <= runs * stretch:
        return ONE, size
    return np.arange(runs) * (size - stretch) // (runs - 1), stretch
