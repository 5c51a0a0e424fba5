"""Both samples projected on the direction of the move, honestly.

The direction comes from one half of the rows, the projected values from the other half. Otherwise
noise alone would show two separate samples.
"""

from __future__ import annotations

import numpy as np

from dkmd.base.arrays import Array
from dkmd.matrices.fit import Fit
from dkmd.matrices.nulls import TINY
from dkmd.matrices.rows import Rows

MOST_DRAWN = 2000
"""Rows of each side that are projected."""


def projected(fit: Fit, sides: tuple[Rows, ...]) -> tuple[Array, Array] | None:
    """The values of x and y in the direction of the move, in scales; None for pairs.

    Columns whose move is within its noise get no weight, and others the less the noisier they are.
    """
    if len(sides) == 1:
        return None
    shift, variance = fit.half_shifts[0], np.maximum(fit.half_variances[0], TINY)
    kept = np.maximum(1.0 - variance / np.maximum(shift * shift, TINY), 0.0)
    direction = shift * kept if kept.any() else shift
    length = float(np.linalg.norm(direction))
    direction = direction / length if length > 0.0 else direction
    found = []
    for rows, (_, second) in zip(sides, fit.halves, strict=True):
        drawn = second[np.linspace(0, second.size - 1, min(second.size, MOST_DRAWN)).astype(int)]
        z = np.clip((rows.taken(drawn) - fit.frame.center) / fit.frame.scale, -1e6, 1e6)
        found.append(np.asarray(z @ direction))
    return found[0], found[1]
