"""Repeated measurements: values of one user, host or process are not independent.

The variance of a mean of ψ then comes from leaving out one group at a time. Its ratio to the
variance of independent values is a factor in the rest of the inference. A few large groups lower
the degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.compiled import compiled
from dkmd.base.reading import Codes
from dkmd.inference.label_codes import coded, present_labels
from dkmd.inference.tails import Tails, relabelled_skewness
from dkmd.statistic.witness import Witness

FEW_GROUPS = 8
"""With fewer groups than this on a side, docs/inference.md does not promise the test's size."""


class GroupSums(NamedTuple):
    """Sums over the groups of one sample at a witness, with ψ in units of its length.

    A group has n_g values, and s_g = Σ(ψ − pivot) over them. ``left_out`` holds Σ s²/(n − n_g)²,
    Σ s·n_g/(n − n_g)² and Σ n_g²/(n − n_g)²: the jackknife about any mean of ψ needs these.
    """

    groups: int
    size: float  # Σ n_g
    psi: float  # Σ s_g
    squares: float  # Σ (ψ − pivot)² over the values
    sizes: float  # Σ n_g²
    left_out: tuple[float, float, float]
    sums: tuple[float, float, float]  # Σ s², Σ s·n_g, Σ s³
    mixed: tuple[float, float, float]  # Σ s²·n_g, Σ s·n_g², Σ n_g³
    pivot: float = 0.0

    @classmethod
    def of(cls, count: Array, psi: Array, squares: float) -> GroupSums:
        """The sums from the size and Σψ of every group, and Σψ² over all values."""
        n = float(count.sum())
        total, sizes, left_out, sums, mixed = _products(count, psi, n)
        return cls(count.size, n, total, squares, sizes, left_out, sums, mixed)

    @classmethod
    def of_values(cls, psi: Array, codes: Codes) -> GroupSums:
        """The sums from ψ of every value and the number of its group."""
        groups = int(codes.max()) + 1 if codes.size else 0
        count = np.bincount(codes, minlength=groups).astype(np.float64)
        sums = np.bincount(codes, weights=psi, minlength=groups).astype(np.float64)
        return cls.of(count, sums, float(psi @ psi))

    @property
    def df(self) -> float:
        """1/Σ(n_g/n)² − 1: G − 1 for equal sizes, less if a few groups hold most values."""
        return self.size**2 / self.sizes - 1.0

    def variance(self) -> float:
        """The variance of mean ψ: (G − 1)/G · Σ S_g²/(n − n_g)², S_g = Σ(ψ − ψ̄) over a group."""
        mean = self.psi / self.size
        squares, mixed, sizes = self.left_out
        total = max(0.0, squares - 2.0 * mean * mixed + mean * mean * sizes)
        return (self.groups - 1) / self.groups * total

    def inflation(self) -> float:
        """``variance`` over the variance of independent values; NaN for a single group."""
        if self.groups < 2:
            return math.nan
        mean = self.psi / self.size
        within = self.squares - self.size * mean * mean
        independent = within / (self.size - 1.0) / self.size
        # on the scale of ψ², anything smaller is rounding error
        if not independent > 1e-14 * self.squares / self.size**2:
            return 1.0
        return self.variance() / independent

    @property
    def mean(self) -> float:
        """The mean of ψ over all values."""
        return self.pivot + self.psi / self.size

    def around(self, mean: float) -> float:
        """Σ (ψ − mean)² over the values."""
        off = mean - self.pivot
        return self.squares - 2.0 * off * self.psi + self.size * off * off

    def moments_about(self, mean: float) -> tuple[float, float]:
        """Σ S_g² and Σ S_g³ with S_g = Σ(ψ − mean) over a group."""
        (ss, sn, sss), (ssn, snn, nnn) = self.sums, self.mixed
        off = mean - self.pivot
        second = ss - 2.0 * off * sn + off**2 * self.sizes
        third = sss - 3.0 * off * ssn + 3.0 * off**2 * snn - off**3 * nnn
        return max(0.0, second), third


Three = tuple[float, float, float]


@compiled
def _products(count: Array, psi: Array, n: float) -> tuple[float, float, Three, Three, Three]:
    """The sums of ``GroupSums.of``."""
    total = sizes = 0.0
    one = two = three = 0.0
    ss = sn = sss = 0.0
    ssn = snn = nnn = 0.0
    for i in range(count.size):
        s, g = psi[i], count[i]
        rest = n - g if g < n else math.nan
        weight = 1.0 / (rest * rest)
        total += s
        sizes += g * g
        one, two, three = one + s * s * weight, two + s * g * weight, three + g * g * weight
        ss, sn, sss = ss + s * s, sn + s * g, sss + s * s * s
        ssn, snn, nnn = ssn + s * s * g, snn + s * g * g, nnn + g * g * g
    return total, sizes, (one, two, three), (ss, sn, sss), (ssn, snn, nnn)


SumsAt = Callable[[Witness], GroupSums]
"""Gives the sums over the groups of one sample at a witness, including its centre."""

SampleGroups = npt.ArrayLike | SumsAt
"""The groups of one sample: a label for each value, or for a summary a function for their sums."""

Groups = Sequence[SampleGroups]
"""The groups of two samples, as a pair."""


class Clusters(NamedTuple):
    """How groups change a test: factors and degrees of freedom, the same at every shift."""

    inflation_x: float
    inflation_y: float
    df_x: float
    df_y: float
    relabelling: float  # factor of the variance of D under relabelling of whole groups; NaN: none
    skewness: float  # of D under relabelling of whole groups; NaN: use single values
    units_x: float
    units_y: float
    df: float = math.nan  # of the whole variance; NaN: Satterthwaite's, of the two parts

    @classmethod
    def none(cls, n: float, m: float) -> Clusters:
        """Every value is its own group."""
        return cls(1.0, 1.0, n - 1.0, m - 1.0, 1.0, math.nan, n, m)

    @classmethod
    def of(cls, x: GroupSums, y: GroupSums) -> Clusters:
        """The change from the sums of both sides at one witness, including its centre.

        Relabelling exchanges whole groups. Let u_g be Σψ over a group about the pooled mean. Then D
        is (1/n + 1/m)·Σ u_g over the groups of x, drawn without replacement from all groups.
        """
        n, m = x.size, y.size
        units_x, units_y = float(x.groups), float(y.groups)
        units = units_x + units_y
        mean = (n * x.mean + m * y.mean) / (n + m)
        moments = [side.moments_about(mean) for side in (x, y)]
        second, third = (a + b for a, b in zip(*moments, strict=True))
        factor = skewness = math.nan
        single = x.around(mean) + y.around(mean)
        if units > 2.0 and second > 0.0 and single > 0.0:
            drawn = (1.0 / n + 1.0 / m) ** 2 * units_x * units_y / units * second / (units - 1.0)
            independent = single / (n + m - 1.0) * (1.0 / n + 1.0 / m)
            factor = drawn / independent
            skewness = relabelled_skewness(
                third / units / (second / units) ** 1.5, units_x, units_y
            )
        return cls(
            x.inflation(), y.inflation(), x.df, y.df,
            1.0 if math.isnan(factor) else factor, 0.0 if math.isnan(skewness) else skewness,
            units_x, units_y,
        )  # fmt: skip

    @property
    def units(self) -> tuple[float, float]:
        """The number of values, or groups, of x and of y."""
        return self.units_x, self.units_y

    def numbers(self) -> tuple[float, float, float, float, float, float, float, float, float]:
        """The fields as a plain tuple, for compiled code."""
        inflation_x, inflation_y, df_x, df_y, relabelling, skewness, units_x, units_y, df = self
        return inflation_x, inflation_y, df_x, df_y, relabelling, skewness, units_x, units_y, df


class Pairing(NamedTuple):
    """Units on both sides, and what pairing them gained."""

    shared: int
    only_x: int
    only_y: int
    weigh: str  # "units": each shared unit counts the same; "values": each value does
    gain: float  # the width of the interval of the shift by groups over that by pairs

    @property
    def left_out(self) -> int:
        """Units on one side only that were left out."""
        return self.only_x + self.only_y if self.weigh == "units" else 0


class Effect(NamedTuple):
    """What groups or units do to a test: factors, notes, and what is known about pairs."""

    clusters: Clusters
    notes: tuple[str, ...] = ()
    pairing: Pairing | None = None
    least: Tails = Tails(0.0, 0.0)  # both tails are at least these


def checked_labels(labels: SampleGroups, size: int, name: str) -> npt.NDArray[Any]:
    """Group labels as an array, with one label per value."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.size != size:
        raise ValueError(
            f"groups: {name} has {size} values and needs as many labels, got shape {given.shape}"
        )
    return given


def group_codes(labels: SampleGroups, size: int, name: str) -> npt.NDArray[np.int64]:
    """Group labels of any type as 0, 1, 2, … in the order of the labels; one label per value."""
    codes, known = coded(present_labels(labels, size, name))
    used = np.flatnonzero(np.bincount(codes, minlength=known.size))
    places = np.zeros(known.size, dtype=np.int64)
    places[used[np.argsort(known[used])]] = np.arange(used.size)
    return places[codes]


def note_on_few(x: GroupSums, y: GroupSums) -> str:
    """A note that the groups are too few for a good variance; empty if there are enough."""
    return note_on_few_groups(x.groups, y.groups)


def note_on_few_groups(one: int, other: int) -> str:
    """The same note from the numbers of groups."""
    if min(one, other) >= FEW_GROUPS:
        return ""
    return (
        f"only {one} and {other} groups: with fewer than {FEW_GROUPS} on a side the "
        "p-value and intervals are rough"
    )


def check_groups(groups: Groups) -> tuple[SampleGroups, SampleGroups]:
    """Check that ``groups`` is a pair."""
    if isinstance(groups, str) or not hasattr(groups, "__len__") or len(groups) != 2:
        raise ValueError("groups must be a pair (groups of x, groups of y)")
    return groups[0], groups[1]
