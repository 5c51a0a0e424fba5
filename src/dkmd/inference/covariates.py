"""Covariates and strata at the door: what was known before the experiment, checked.

``frame`` says how they become columns g, and ``known_columns`` holds these columns in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers

NEEDS_RANDOMIZED = (
    "a covariate or strata need randomized=True (--randomized): adjusting is right only if chance "
    "decided which unit joins which side, and the covariate was known before. Self-selected "
    "groups, and before and after a change, differ in the covariate for other reasons, and "
    "adjusting would turn that difference into a shift"
)


class Named(NamedTuple):
    """A covariate, or labels of strata, of x and of y."""

    name: str
    x: npt.NDArray[Any]
    y: npt.NDArray[Any]


class Known(NamedTuple):
    """What was known before the experiment."""

    covariates: tuple[Named, ...] = ()
    strata: tuple[Named, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, as words show them."""
        return tuple(each.name for each in (*self.covariates, *self.strata))

    def kept(self, rows: Sequence[npt.NDArray[Any]]) -> Known:
        """The same for some rows of x and of y, or for rows that repeat."""
        x, y = rows
        if _are_all(x) and _are_all(y):
            return self
        parts = (
            tuple(Named(each.name, each.x[x], each.y[y]) for each in part)
            for part in (self.covariates, self.strata)
        )
        return Known(*parts)


def _are_all(rows: npt.NDArray[Any]) -> bool:
    """Whether a mask keeps every row."""
    return rows.dtype == np.bool_ and bool(rows.all())


def check_known(
    covariate: Any, strata: Any, randomized: bool, sizes: tuple[int, int]
) -> Known | None:
    """The arguments of ``dkmd_2samp``, checked; None without covariates and strata."""
    if covariate is None and strata is None:
        return None
    if randomized is not True:
        raise ValueError(NEEDS_RANDOMIZED)
    covariates = _named(covariate, "covariate", sizes)
    numbers = tuple(
        Named(name, *(_numbers(a, f"covariate of {s}") for a, s in ((x, "x"), (y, "y"))))
        for name, x, y in covariates
    )
    return Known(numbers, _named(strata, "strata", sizes))


def _numbers(values: npt.NDArray[Any], name: str) -> Array:
    if values.dtype.kind == "O":  # None is a missing number
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must hold real numbers") from None
    return np.asarray(real_numbers(values, name), dtype=np.float64)


def _named(given: Any, what: str, sizes: tuple[int, int]) -> tuple[Named, ...]:
    """A pair of columns, or of arrays with a column each, or such pairs by name."""
    if given is None:
        return ()
    if isinstance(given, dict):
        named = [_columns(pair, name, sizes) for name, pair in given.items()]
        return tuple(each for columns in named for each in columns)
    return _columns(given, what, sizes)


def _columns(given: Any, what: str, sizes: tuple[int, int]) -> tuple[Named, ...]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 2:
        raise ValueError(f"{what} must be a pair ({what} of x, {what} of y)")
    x, y = (np.asarray(side) for side in given)
    for side, size, name in ((x, sizes[0], "x"), (y, sizes[1], "y")):
        if side.ndim not in (1, 2) or side.shape[0] != size:
            raise ValueError(
                f"{what}: {name} has {size} values and needs as many rows, got shape {side.shape}"
            )
    if x.shape[1:] != y.shape[1:]:
        raise ValueError(f"{what} of x and y need the same columns, got {x.shape} and {y.shape}")
    if x.ndim == 1:
        return (Named(what, x, y),)
    several = x.shape[1] > 1
    return tuple(
        Named(f"{what} {i + 1}" if several else what, x[:, i], y[:, i]) for i in range(x.shape[1])
    )
