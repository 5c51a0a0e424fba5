"""Any design by brute force: double loops over values, and every unit left out in turn.

It shares no code with the package. The width of ψ is given.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def psi(u: Array) -> Array:
    """ψ over its bound 2σ for σ = τ, of u = value/σ, by its closed form."""
    t = np.exp(-np.abs(u))
    return np.asarray(np.sign(u) * ((t + 1.0 / t) * np.arctan(t) - 0.5 * math.pi * t))


class Rows(NamedTuple):
    """One side: values, weights, the unit of every row, and its columns g."""

    values: Array
    weights: Array
    units: npt.NDArray[Any]
    columns: Array  # (rows, columns)


class Expected(NamedTuple):
    """T without what the columns explain, its error and degrees of freedom, in units of 2σ."""

    statistic: float
    error: float
    df: float
    rank: int
    relabelled: float  # the sd of T if unit means of Ψ move and the weights of units stay


def effective(weights: Array) -> float:
    """(Σw)²/Σw²."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def scores(x: Rows, y: Rows, width: float, sizes: tuple[float, float]) -> list[tuple[Array, Array]]:
    """Of every row of x and of y, its score against the other side and its pooled score."""
    found = []
    for side, other in ((x, y), (y, x)):
        against = np.zeros((2, side.values.size))
        for k, rows in enumerate((other, side)):
            for i, value in enumerate(side.values):
                each = psi((value - rows.values) / width)
                against[k, i] = (rows.weights * each).sum() / rows.weights.sum()
        own, across = (sizes[0], sizes[1]) if side is x else (sizes[1], sizes[0])
        pooled = (own * against[1] + across * against[0]) / (own + across)
        found.append((against[0], pooled))
    return found


def left_out(values: Array, rows: Rows, units: list[Any]) -> Array:
    """How far each unit moves the weighted mean: √((G − 1)/G) times mean − mean without it."""
    there = [unit for unit in units if (rows.units == unit).any()]
    mean = np.average(values, axis=0, weights=rows.weights)
    moves = np.zeros((len(units), values.shape[1]))
    for g, unit in enumerate(units):
        rest = rows.units != unit
        if rest.all():
            continue
        without = np.average(values[rest], axis=0, weights=rows.weights[rest])
        moves[g] = math.sqrt((len(there) - 1) / len(there)) * (mean - without)
    return moves


def designed(x: Rows, y: Rows, width: float, sizes: tuple[float, float]) -> Expected:
    """The test of two sides. Equal units are one unit: give other names to units that differ."""
    of_x, of_y = scores(x, y, width, sizes)
    units = sorted({*x.units.tolist(), *y.units.tolist()})
    table_x = np.column_stack([of_x[0], x.columns])
    table_y = np.column_stack([of_y[0], y.columns])
    moves_x, moves_y = left_out(table_x, x, units), left_out(table_y, y, units)
    moves = moves_x - moves_y
    size = np.sqrt((moves_x[:, 1:] ** 2 + moves_y[:, 1:] ** 2).sum(axis=0))
    scaled = moves[:, 1:] / np.where(size > 0.0, size, 1.0)
    theta = np.zeros(scaled.shape[1])
    singular = np.linalg.svd(scaled, compute_uv=False) if scaled.size else np.zeros(0)
    rank = int((singular > 1e-5).sum())
    if scaled.size:
        theta = np.linalg.pinv(scaled, rcond=1e-5 / max(singular.max(), 1e-300)) @ moves[:, 0]
    left = moves[:, 0] - scaled @ theta
    weight_x, weight_y = (
        np.array([side.weights[side.units == unit].sum() for unit in units]) for side in (x, y)
    )
    share_x, share_y = weight_x / weight_x.sum(), weight_y / weight_y.sum()
    expected = (moves_x[:, 0] ** 2).sum() * share_x + (moves_y[:, 0] ** 2).sum() * share_y
    parts, freedoms = [], []
    in_x, in_y = weight_x > 0.0, weight_y > 0.0
    for kind in (in_x & in_y, in_x & ~in_y, ~in_x & in_y):
        if kind.any():
            lost = share_x[kind].sum() + share_y[kind].sum()
            both = share_x[kind].sum() > 0.0 and share_y[kind].sum() > 0.0
            parts.append(((left[kind] ** 2).sum(), (moves[kind, 0] ** 2).sum()))
            freedom = expected[kind].sum() ** 2 / (expected[kind] ** 2).sum()
            freedoms.append(freedom - (0.5 * lost if both else lost))
    variance = sum(p for p, _ in parts)
    freedom = min(
        sum(p[i] for p in parts) ** 2
        / sum(p[i] * p[i] / f for p, f in zip(parts, freedoms, strict=True))
        for i in ((0, 1) if rank else (0,))
    )
    means = [np.average(t, axis=0, weights=s.weights) for t, s in ((table_x, x), (table_y, y))]
    apart = (means[0] - means[1])[1:] / np.where(size > 0.0, size, 1.0)
    statistic = means[0][0] - theta @ apart
    if rank:
        variance *= freedom / (freedom - rank)
        gram = np.linalg.pinv(scaled.T @ scaled, rcond=1e-10)
        variance *= 1.0 + apart @ gram @ apart / (freedom - rank)
    slopes = theta / np.where(size > 0.0, size, 1.0)
    return Expected(
        float(statistic),
        math.sqrt(variance),
        float(freedom - rank),
        rank,
        _relabelled((of_x[1] - x.columns @ slopes, x), (of_y[1] - y.columns @ slopes, y)),
    )


def _relabelled(x: tuple[Array, Rows], y: tuple[Array, Rows]) -> float:
    """The sd of Σ a·d over all orders of the unit means d, the weights a held."""
    a, d = [], []
    for sign, (left, rows) in ((1.0, x), (-1.0, y)):
        for unit in sorted(set(rows.units.tolist())):
            here = rows.units == unit
            a.append(sign * rows.weights[here].sum() / rows.weights.sum())
            d.append(np.average(left[here], weights=rows.weights[here]))
    around = np.array(d) - np.mean(d)
    return math.sqrt((np.array(a) ** 2).sum() * (around**2).sum() / (len(d) - 1))
