"""The witness of several columns: DKMD averaged over all directions, as a function of a length.

With u a uniform direction in d dimensions, d·E[u ψ(u·z)] = α(ρ)·z with ρ = ‖z‖/√d (DESIGN 2.11).
Only the first coordinate of u matters. t = √d·u₁ has the density ∝ (1 − t²/d)^((d − 3)/2), and

    h(ρ) = E[t ψ(ρ t)],   h'(ρ) = E[t² ψ'(ρ t)],   α = h/ρ.

So Ψ has the slope α across z and h' along z. For d = 1, h is ψ itself. For large d, t is normal.
ψ has σ = τ = w(d) robust scales, so h(ρ) is w times h(ρ/w) of σ = τ = 1, whose table is kept.
This module knows nothing about samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.statistic.table import Jet, jet, jet_at, tabulate
from dkmd.statistic.witness import TABLE_UNIT, Witness

PSI = Witness(1.0, 1.0)
"""ψ of a direction, in units of its width."""

NARROWEST = 0.2
"""The least width. Far rows weigh 1.05 times as much as typical rows there: less gains little."""

REACH = 2.0**26
"""The end of the table. h comes within a constant times 1/ρ² of its limit, which is 1e-15 here."""

NODES = 24
"""Gauss–Legendre nodes per panel of the quadrature."""

NORMAL_REACH = 12.0
"""Beyond so many standard deviations, t has no weight in double precision."""

AT_ONCE = 512
"""Values of ρ whose quadrature is worked out together."""


Integrand = Callable[[Array, Array], Array]


class Radial(NamedTuple):
    """h and h' for one dimension, and the limit of h."""

    table: Jet
    root: float  # √d times the width
    limit: float


def width(dimension: int) -> float:
    """σ = τ of ψ in robust scales: 1 for one column, and d^(−1/3) for d columns.

    In many columns all normal rows are about equally long. A narrow Ψ then loses little on normal
    rows (its efficiency is 97% or more for each d, as in one column), and far rows weigh less.
    """
    return float(max(dimension ** (-1.0 / 3.0), NARROWEST))


@lru_cache(maxsize=32)
def radial(dimension: int) -> Radial:
    """h and its slope for a number of columns, accurate to 1e-10. Building takes about 0.1 s."""
    if dimension < 1:
        raise ValueError(f"the number of columns must be at least 1, got {dimension}")
    # the limit of h is ψ's bound times E|t|
    gamma = special.gammaln(0.5 * dimension) - special.gammaln(0.5 * (dimension + 1))
    limit = PSI.bound * math.sqrt(dimension / math.pi) * math.exp(gamma)
    height = _averaged(dimension, lambda t, at: t * PSI(at))
    slope = _averaged(dimension, lambda t, at: t * t * PSI.derivative(at))
    reach = REACH / TABLE_UNIT
    tables = (
        tabulate(lambda r: height(TABLE_UNIT * r), reach, limit, odd=True),
        tabulate(lambda r: slope(TABLE_UNIT * r), reach, 0.0, odd=False),
    )
    wide = width(dimension)
    return Radial(jet(*tables, 1.0 / TABLE_UNIT), wide * math.sqrt(dimension), wide * limit)


def _averaged(dimension: int, integrand: Integrand) -> Callable[[Array], Array]:
    """ρ ↦ the average of a function of t and ρt. For one column, t is 1 or −1."""

    def of(rho: Array) -> Array:
        if dimension == 1:
            return integrand(np.ones_like(rho), rho)
        flat = rho.reshape(-1)
        parts = [
            _quadrature(flat[i : i + AT_ONCE], dimension, integrand)
            for i in range(0, flat.size, AT_ONCE)
        ]
        return np.concatenate(parts).reshape(rho.shape)

    return of


def _quadrature(rho: Array, dimension: int, integrand: Integrand) -> Array:
    """The average over t = √d·sin θ, whose weight is cos^(d − 2) θ. The integrand is even in θ.

    Panels double in length from the width of ψ (in t: 1/ρ) or of the weight, if that is less. So no
    panel is longer than its distance to a singularity of the integrand.
    """
    root = math.sqrt(dimension)
    end = min(math.pi / 2.0, NORMAL_REACH / root)
    first = 0.25 * np.minimum(1.0, 1.0 / np.maximum(rho, 1e-300)) / root  # (rho,)
    doublings = 1 + math.ceil(math.log2(end / float(first.min())))
    edges = np.minimum(first[:, None] * np.ldexp(1.0, np.arange(doublings)), end)
    edges = np.hstack([np.zeros((rho.size, 1)), edges])  # (rho, panels + 1)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = 0.5 * np.diff(edges, axis=1)[:, :, None]  # (rho, panels, 1)
    theta = edges[:, :-1, None] + half * (1.0 + nodes)
    sine = np.sin(theta)
    # the logarithm of the cosine from the sine, which is exact where θ is small
    density = half * weights * np.exp(special.xlog1py(0.5 * (dimension - 2), -sine * sine))
    t = root * sine
    values = integrand(t, rho[:, None, None] * t)
    total: Array = (density * values).sum(axis=(1, 2)) / density.sum(axis=(1, 2))
    return total


@compiled
def slopes(squared: float, table: Jet, root: float) -> tuple[float, float]:
    """α (the slope of Ψ across z) and h' (its slope along z) for ‖z‖²."""
    rho = math.sqrt(squared) / root
    height, along, _, _ = jet_at(rho * table.stretch, table)
    # close to 0, h/ρ is h'(0), and the quotient would be 0/0
    return (height / rho, along) if rho > 1e-150 else (along, along)
