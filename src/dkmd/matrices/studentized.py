"""Compiled loops over resampled shift vectors: the squared t of each column, summed and largest.

Products of labels or signs with blocks are one matrix product for many resamples. What follows is
one pass over it. The products may be in single precision; the rest is in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.matrices.nulls import TINY
from dkmd.matrices.rows import Numbers


class SideFactors(NamedTuple):
    """Numbers of one side of each labelling, (labellings,)."""

    rows: Array  # its number of rows
    squared_sizes: Array  # Σ of the squared sizes of its blocks
    step: Array  # from a mean of Ψ to a centre
    weight: Array  # of a block's square in the variance of the centre
    noise: Array  # of a square about the mean: the same, corrected for the number of blocks


@compiled
def labelled_statistics(
    in_x: Numbers,
    squares_in_x: Numbers,
    products_in_x: Numbers,
    totals: Array,
    size: float,
    staying: Array,
    x: SideFactors,
    y: SideFactors,
    norm_only: bool,
    of_columns: Array,
) -> Array:
    """The sum of squared t and the largest of each labelling, (2, labellings).

    ``in_x``, ``squares_in_x`` and ``products_in_x`` are the sums over the blocks in x of Ψ, of its
    square and of Ψ times the block's size, (labellings, columns). ``products_in_x`` has no columns
    if all blocks have the same ``size``. ``totals`` has the same three sums over all blocks and the
    least variance, and ``staying`` the sums of the rows that stay on each side. The squared t of
    the first labellings go to ``of_columns``, as many as it has rows.
    """
    count, columns = in_x.shape
    equal = products_in_x.shape[1] == 0
    found = np.empty((2, count))
    for i in range(count):
        total, largest, squared_length, noise = 0.0, 0.0, 0.0, 0.0
        per_x, per_y = 1.0 / x.rows[i], 1.0 / y.rows[i]
        for j in range(columns):
            of_x = float(in_x[i, j])
            of_y = totals[0, j] - of_x
            times_x = size * of_x if equal else float(products_in_x[i, j])
            times_y = size * of_y if equal else totals[2, j] - times_x
            mean_x = (of_x + staying[0, j]) * per_x
            mean_y = (of_y + staying[1, j]) * per_y
            squares = float(squares_in_x[i, j])
            about_x = squares - 2.0 * mean_x * times_x + mean_x * mean_x * x.squared_sizes[i]
            about_y = (totals[1, j] - squares) - 2.0 * mean_y * times_y
            about_y += mean_y * mean_y * y.squared_sizes[i]
            variance = max(about_x, 0.0) * x.noise[i] + max(about_y, 0.0) * y.noise[i]
            variance = max(variance, totals[3, j])
            moved = x.step[i] * mean_x - y.step[i] * mean_y
            squared = moved * moved
            t = squared / max(variance, TINY)
            if i < of_columns.shape[0]:
                of_columns[i, j] = t
            total += t
            largest = max(largest, t)
            squared_length += squared
            noise += variance
        found[0, i] = squared_length / max(noise, TINY) if norm_only else total
        found[1, i] = largest
    return found


@compiled
def flipped_statistics(
    first: Numbers,
    second: Numbers,
    squares: Array,
    counts: Array,
    lengthened: Array,
    toward: Array,
    norm_only: bool,
) -> Array:
    """The sum of squared t, the largest, ‖shift‖² and the shift along a direction, (4, resamples).

    ``first`` and ``second`` are the flipped sums of each side, (resamples, columns); the second has
    no columns for pairs. ``squares`` has Σ of squared influences of each side, ``counts`` their
    numbers and ``lengthened`` what lengths are multiplied by. The variance is worked out anew for
    each resample, about the mean of its flipped influences.
    """
    count, columns = first.shape
    both = second.shape[1] > 0
    found = np.empty((4, count))
    per = 1.0 / np.maximum(counts - 1.0, 1.0)
    for i in range(count):
        total, largest, squared_length, noise, longer, along = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(columns):
            a, of_a = float(first[i, j]), squares[0, j]
            variance = max((counts[0] * of_a - a * a) * per[0], 1e-9 * of_a)
            moved, long = a, lengthened[0] * a
            if both:
                b, of_b = float(second[i, j]), squares[1, j]
                variance += max((counts[1] * of_b - b * b) * per[1], 1e-9 * of_b)
                moved -= b
                long -= lengthened[1] * b
            t = moved * moved / max(variance, TINY)
            total += t
            largest = max(largest, t)
            squared_length += moved * moved
            noise += variance
            longer += long * long
            along += long * toward[j]
        found[0, i] = squared_length / max(noise, TINY) if norm_only else total
        found[1, i] = found[0, i] if norm_only else largest
        found[2, i], found[3, i] = longer, along
    return found
