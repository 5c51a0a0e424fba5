"""Neighbouring measurements that are alike: blocks of them take the place of single values.

Rounds of a benchmark drift with the clock speed and the state of the machine. Then a mean of n
values is less certain than n independent values would make it. Means of long blocks of neighbours
are nearly independent, so blocks serve as groups (``groups``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.bins.grid import robust_scale
from dkmd.inference.runs.run_levels import Codes, codes_of
from dkmd.inference.test.width import LARGEST, SMALLEST

FEWEST = 24
"""Fewer values or processes than this are too few for blocks."""

MOST_BLOCKS, FEWEST_BLOCKS = 16, 4
"""The range of the number of blocks."""

LENGTH = 3.0
"""The length of a block, in multiples of the values that are worth one independent value."""

CLEAR = 2.0
"""Neighbours are alike if their correlation is this many standard errors above 0."""

SELDOM = 0.025
"""How often independent values look like a slow drift."""

FAR = 3.0
"""Values further from the median than this many robust deviations count as that far."""


def blocks_of(
    values: npt.ArrayLike, groups: npt.ArrayLike | None = None, count: int | None = None
) -> Codes | None:
    """The block of each value if neighbours are alike, else None.

    Values are in the order of measurement. Values of one group (process) stay in one block, and the
    groups' means are the neighbours. Sorted values say nothing about neighbours. With ``count``
    there are that many blocks, or one per group if there are fewer groups, whether or not
    neighbours are alike.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> blocks_of(rng.normal(size=200)) is None
    True
    >>> drifting = np.cumsum(rng.normal(size=200))
    >>> np.unique(blocks_of(drifting)).size
    4
    """
    means, codes = _means(values, groups)
    if count is None:
        count = _own_count(means)
    elif _is_sorted(means):
        return None
    return None if count is None else _cut(means.size, min(count, means.size))[codes]


def common_count(
    runs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike | None]],
) -> int | None:
    """How many blocks each of some runs (values, groups) needs; None if no neighbours are alike.

    Runs that are compared are cut alike: a run of 25 values in 4 blocks beside one of 25 single
    values would look as if one of them were far larger. The longest blocks count.
    """
    means = [_means(*run)[0] for run in runs]
    own = [_own_count(each) for each in means]
    lengths = [each.size / count for each, count in zip(means, own, strict=True) if count]
    if not lengths:
        return None
    return min(max(FEWEST_BLOCKS, int(each.size / max(lengths))) for each in means)


def _means(values: npt.ArrayLike, groups: npt.ArrayLike | None) -> tuple[Array, Codes]:
    """The means of groups in the order of their first value, and the group of each value."""
    held = np.asarray(values, dtype=np.float64)
    codes = codes_of(groups, held.size)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.bincount(codes, weights=held) / np.bincount(codes), codes


def _own_count(means: Array) -> int | None:
    """How many blocks neighbours need; None if they are not alike."""
    size = means.size
    if size < FEWEST or not np.isfinite(means).all() or _is_sorted(means):
        return None
    near = _drawn_in(means)
    if not near.size:
        return None
    correlation = _correlation(near)
    if correlation * math.sqrt(size) <= CLEAR and not _blocks_vary(near):
        return None
    return _count(size, correlation)


def _is_sorted(values: Array) -> bool:
    """Whether values that differ only rise or only fall."""
    rises, falls = (values[1:] > values[:-1]).any(), (values[1:] < values[:-1]).any()
    return bool(rises != falls)


def _cut(size: int, count: int) -> Codes:
    """Neighbours in blocks of nearly equal length."""
    return np.arange(size, dtype=np.int64) * count // size


def _count(size: int, correlation: float) -> int:
    """How many blocks: the stronger the correlation, the longer a block has to be."""
    # the usual estimate is too small: its bias is −(1 + 3ρ)/n
    fair = min(0.98, max(0.0, correlation + (1.0 + 3.0 * correlation) / size))
    worth_one = (1.0 + fair) / (1.0 - fair)
    return int(min(MOST_BLOCKS, max(FEWEST_BLOCKS, size / (LENGTH * worth_one))))


def _drawn_in(values: Array) -> Array:
    """Values in robust deviations from the median, at most FAR; empty if they have no deviation.

    Single spikes would hide what neighbours share.
    """
    with np.errstate(over="ignore"):
        away = values - np.median(values)
        scale = robust_scale(np.abs(away), np.ones(values.size))
        if not SMALLEST < scale < LARGEST:
            return np.empty(0)
        return np.asarray(np.clip(away / scale, -FAR, FAR))


def _correlation(values: Array) -> float:
    """The correlation of neighbours."""
    around = values - values.mean()
    return float(around[1:] @ around[:-1]) / float(around @ around)


def _blocks_vary(values: Array) -> bool:
    """Whether means of blocks vary more than by chance, as with a slow drift in much noise."""
    from scipy.special import chdtri

    count = min(MOST_BLOCKS, values.size // 4)
    around = values - values.mean()
    blocks = _cut(values.size, count)
    sums = np.bincount(blocks, weights=around)
    ratio = float((sums**2 / np.bincount(blocks)).sum()) / float(np.var(values, ddof=1))
    return ratio > float(chdtri(count - 1.0, SELDOM))
