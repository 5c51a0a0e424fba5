"""Repeated measurements: values of one user, host or process are not independent.

The variance of a mean of ψ is then that of its group sums. What that adds to the variance of
independent values, the design effect, is a factor that the rest of the inference carries along.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.sources.arrays import Array

FEW_GROUPS = 5


def group_codes(labels: npt.ArrayLike, size: int, name: str) -> npt.NDArray[np.int64]:
    """Group labels of any type as 0, 1, 2, …; one label per value."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.size != size:
        raise ValueError(
            f"groups: {name} has {size} values and needs as many labels, got shape {given.shape}"
        )
    _, codes = np.unique(given, return_inverse=True)
    return np.asarray(codes, dtype=np.int64)


def design_effect(psi: Array, codes: npt.NDArray[np.int64]) -> tuple[float, int]:
    """The variance of mean ψ by groups over that of independent values, and the number of groups.

    G/(G − 1) · Σ_g (Σ_{i in g} (ψ_i − ψ̄))² / n², divided by var ψ/n.
    """
    groups = int(codes.max()) + 1
    around = psi - psi.mean()
    sums = np.bincount(codes, weights=around, minlength=groups)
    return design_effect_of(float(sums @ sums), float(around @ around), psi.size, groups)


def design_effect_of(between: float, within: float, size: float, groups: int) -> tuple[float, int]:
    """The same from Σ_g (Σ_{i in g} (ψ_i − ψ̄))² and Σ (ψ_i − ψ̄)²."""
    if groups < 2:
        return math.nan, groups
    independent = within / (size - 1) * size
    if independent <= 0.0:
        return 1.0, groups
    return between * groups / (groups - 1) / independent, groups


def warn_of_few(groups: tuple[int, int]) -> None:
    """A variance from a handful of groups is hardly known."""
    if min(groups) < FEW_GROUPS:
        warnings.warn(
            f"only {groups[0]} and {groups[1]} groups: with fewer than {FEW_GROUPS} on a side the "
            "p-value and intervals are rough",
            RuntimeWarning,
            stacklevel=4,
        )


def check_groups(groups: Any) -> tuple[Any, Any]:
    """``groups`` as a pair."""
    if isinstance(groups, str) or not hasattr(groups, "__len__") or len(groups) != 2:
        raise ValueError("groups must be a pair (groups of x, groups of y)")
    return groups[0], groups[1]
