"""Covariates, strata, weights and counts as ``compare`` and ``drift`` take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from dkmd.inference.design.columns import NEEDS_RANDOMIZED
from dkmd.sources.beside import Columns
from dkmd.sources.loading import SidesBeside

Beside = str | Sequence[str] | Sequence[npt.ArrayLike] | Mapping[str, Sequence[npt.ArrayLike]]
"""One column or several by name, arrays of reference and current, or such pairs by name."""


def sides_beside(
    covariate: Beside | None,
    strata: Beside | None,
    randomized: bool,
    weights: Beside | None,
    counts: Beside | None,
    per: Beside | None = None,
) -> SidesBeside:
    """The columns beside the values of reference and of current; None where there are none."""
    if covariate is strata is weights is counts is per is None:
        return None, None
    if (covariate is not None or strata is not None) and randomized is not True:
        raise ValueError(NEEDS_RANDOMIZED)
    covariates, levels = _pairs(covariate, "covariate"), _pairs(strata, "strata")
    named = ((weights, "weights"), (counts, "counts"), (per, "per"))
    single = [_one(given, what) for given, what in named]
    before, after = (
        Columns(
            {name: pair[i] for name, pair in covariates.items()},
            {name: pair[i] for name, pair in levels.items()},
            *(None if pair is None else pair[i] for pair in single),
        )
        for i in range(2)
    )
    return before, after


def columns_beside(sides: SidesBeside, what: str) -> Columns | None:
    """Columns by name, for tables of which several parts are compared."""
    columns = sides[0]
    if columns is None:
        return None
    every = (*columns.covariates.values(), *columns.strata.values())
    for given in (*every, columns.weights, columns.counts, columns.per):
        if not isinstance(given, str | None):
            raise TypeError(
                f"{what}, covariates, strata, weights, counts and per are names of columns"
            )
    return columns


def _pairs(given: Beside | None, what: str) -> dict[str, tuple[Any, Any]]:
    """Columns by name, each for reference and current."""
    if given is None:
        return {}
    if isinstance(given, str):
        return {given: (given, given)}
    if isinstance(given, Mapping):
        return {str(name): _pair(pair, what) for name, pair in given.items()}
    if all(isinstance(each, str) for each in given):
        return {str(name): (name, name) for name in given}
    return {what: _pair(given, what)}


def _one(given: Beside | None, what: str) -> tuple[Any, Any] | None:
    """One column, for reference and current."""
    if given is None or isinstance(given, str):
        return None if given is None else (given, given)
    return _pair(given, what)


def _pair(given: Any, what: str) -> tuple[Any, Any]:
    if not hasattr(given, "__len__") or len(given) != 2 or isinstance(given, Mapping):
        raise ValueError(f"{what} must be a pair ({what} of reference, {what} of current)")
    return given[0], given[1]
