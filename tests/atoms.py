"""Two small samples with ties and infinite values, as sides of single values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dkmd import Witness
from dkmd.inference.test.sides import Side

PSI = Witness(1.3, 1.3)
X = np.array([0.3, 2.9, 1.7, 1.7, 8.5, math.inf, 3.1])
Y = np.array([-1.0, 0.9, -math.inf, 2.2, 1.4])


def sides(x: Any = X, y: Any = Y) -> tuple[Side, Side]:
    """Each value as one atom, measured from 0."""
    made = []
    for values in (np.asarray(x), np.asarray(y)):
        finite = values[np.isfinite(values)]
        infinite = float(np.sum(values == -math.inf)), float(np.sum(values == math.inf))
        zeros, ones = np.zeros(finite.size), np.ones(finite.size)
        made.append(Side(finite, zeros, ones, *infinite, float(values.size)))
    return made[0], made[1]
