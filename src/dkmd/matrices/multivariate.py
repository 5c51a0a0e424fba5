"""``dkmd_multivariate``: several columns at once, with SciPy's words."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array
from dkmd.base.errors import DkmdError
from dkmd.inference.design.columns import pair_of
from dkmd.inference.design.labels import Groups, numbered
from dkmd.inference.design.units import few_units
from dkmd.inference.test.options import NAN_POLICIES
from dkmd.matrices.center import column_scales, pooled_sample
from dkmd.matrices.fit import Fit, fit_independent, fit_pairs
from dkmd.matrices.inputs import Matrices, check_matrices, differences_of
from dkmd.matrices.length import debiased_square
from dkmd.matrices.pvalues import Pvalues
from dkmd.matrices.result import DkmdMultivariateResult
from dkmd.matrices.rows import CenterScale, Index, MatrixRows

RESAMPLES = 999

NOTHING_VARIES = "no column varies: there is nothing to compare"


def dkmd_multivariate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    groups: Groups | None = None,
    paired: bool = False,
    n_resamples: int = RESAMPLES,
    rng: Any = 0,
    nan_policy: str = "propagate",
) -> DkmdMultivariateResult:
    """Did several columns move together, which way, by how much, and how sure is that?

    Parameters
    ----------
    x, y : array_like
        Two independent samples: n and m rows with the same columns. ±inf is data.
    groups : (array_like, array_like), optional
        A label for each row of x and of y. Rows with the same label are repeated measurements of
        one unit.
    paired : bool
        x[i] and y[i] are two measurements of one unit. With ``groups``, equal labels in x and y
        are one unit, whose rows are replaced by their column-wise median. Units on one side only
        are left out.
    n_resamples : int
        Relabellings, and as many flips of signs. A p-value is a count of them: no p-value is below
        1/(n_resamples + 1).
    rng : int, Generator or None
        The seed of the resamples. By default it is fixed, so the same data give the same answer.
    nan_policy : {"propagate", "omit", "raise"}
        "omit" leaves out columns of which more than half is missing on a side, and then rows with
        a missing value. The ``notes`` say how many.

    Returns
    -------
    DkmdMultivariateResult
        ``statistic`` (D of each column), ``pvalue``, ``shift`` (in data units), ``length`` (in
        scales), ``length_interval()``, ``shift_interval()`` (simultaneous), ``column_pvalues``
        (family-wise). Unpacks as (statistic, pvalue).

    Notes
    -----
    The witness is DKMD averaged over all directions: Ψ(z) = α(‖z‖)·z (docs/matrices.md). The
    p-value comes from relabelled blocks of rows. It is exact if both samples come from one
    distribution. A p-value from flipped signs on each side guards it if spreads or correlations
    differ. Both combine the sum of squared t of all columns with the largest one. The cost is a few
    passes over the rows.

    Examples
    --------
    Five of 40 columns move, none by much. Three rows are at infinity.

    >>> import numpy as np
    >>> rng = np.random.default_rng(6)
    >>> x, y = rng.normal(size=(300, 40)), rng.normal(size=(250, 40))
    >>> x[:, :5] += 0.5
    >>> x[:3] = np.inf
    >>> result = dkmd_multivariate(x, y)
    >>> round(result.pvalue, 4), round(result.length, 1)
    (0.001, 1.1)
    >>> np.flatnonzero(result.column_pvalues < 0.05).tolist()
    [0, 1, 2, 3, 4]
    """
    result = run_multivariate(x, y, groups, paired, n_resamples, rng, nan_policy)
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    return result


def run_multivariate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    groups: Groups | None = None,
    paired: bool = False,
    n_resamples: int = RESAMPLES,
    rng: Any = 0,
    nan_policy: str = "propagate",
) -> DkmdMultivariateResult:
    """``dkmd_multivariate`` without warnings. They are in ``notes`` of the result."""
    if nan_policy not in NAN_POLICIES:
        raise ValueError(f"nan_policy must be one of {', '.join(NAN_POLICIES)}; got {nan_policy!r}")
    if int(n_resamples) < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples!r}")
    generator = np.random.default_rng(rng)
    matrices = check_matrices(x, y, nan_policy)
    if matrices is None:
        shape = np.shape(x)
        return _untested(shape[1] if len(shape) == 2 else 1, (0, 0), (), math.nan)
    labels = None if groups is None else pair_of(groups, "groups")
    sides: tuple[MatrixRows, ...] = matrices.x, matrices.y
    notes = matrices.notes()
    if paired:
        differences, left_out = differences_of(matrices, labels)
        sides, notes = (differences,), [*notes, *left_out]
    units = _units(matrices, None if paired else labels)
    sizes = sides[0].size, sides[-1].size
    columns = matrices.x.columns
    sample = pooled_sample(sides, generator)
    pooled = column_scales(sides, sample)
    constant = np.flatnonzero(pooled.scale == 0.0)
    if paired:  # the same difference in every pair is a move
        constant = constant[pooled.center[constant] == 0.0]
    if constant.size == columns.size:
        return _untested(matrices.x.values.shape[1], sizes, (NOTHING_VARIES,), 0.0)
    notes += _constant_note(columns[constant])
    sides = tuple(replace(side, columns=np.delete(side.columns, constant)) for side in sides)
    sample = sample._replace(rows=np.delete(sample.rows, constant, axis=1))
    pooled = CenterScale(np.delete(pooled.center, constant), np.delete(pooled.scale, constant))
    names = ("pairs",) if paired else ("rows of x", "rows of y")
    for part, name in zip(np.split(sample.rows, [sample.of_x]), names, strict=False):
        _require_centre(part, name)
    if paired:
        fit = fit_pairs(sides[0], sample, int(n_resamples), generator)
    else:
        fit = fit_independent(sides, units, sample, pooled, int(n_resamples), generator)
        if labels is not None:
            of_x, of_y = (float(of_row.max()) + 1.0 for of_row in units)
            notes += few_units(of_x, of_y)
    return _result(fit, matrices, np.delete(columns, constant), sizes, tuple(notes))


def _units(matrices: Matrices, groups: Groups | None) -> tuple[Index, Index]:
    """The number of the unit of each row in use: its group, or the row itself."""
    if groups is None:
        return np.arange(matrices.x.size), np.arange(matrices.y.size)
    found = []
    sides = matrices.x, matrices.y
    coded = numbered(groups, (sides[0].values.shape[0], sides[1].values.shape[0]), shared=False)
    for of, side, name in zip(coded, sides, "xy", strict=True):
        kinds, numbers = np.unique(of.codes[side.kept], return_inverse=True)
        if kinds.size < 2:
            raise DkmdError(f"all rows of {name} are in one group: at least 2 groups are needed")
        found.append(numbers.astype(np.int64))
    return found[0], found[1]


def _require_centre(rows: Array, name: str) -> None:
    """Reject a sample of which most rows are at infinity: its centre may be there, too."""
    if 2 * int(np.isinf(rows).any(axis=1).sum()) > rows.shape[0]:
        raise DkmdError(
            f"more than half of the {name} have infinite values, so they have no centre: leave out "
            "the columns with most of them, or compare single columns"
        )


def _constant_note(columns: Index) -> list[str]:
    if not columns.size:
        return []
    if columns.size == 1:
        return [f"column {columns[0]} is constant and was left out"]
    return [f"{columns.size:,} columns are constant and were left out"]


def _untested(
    columns: int, sizes: tuple[int, int], notes: tuple[str, ...], amount: float
) -> DkmdMultivariateResult:
    """A result without a test: missing values are propagated, or no column varies."""
    same, unknown = np.full(columns, amount), np.full(columns, math.nan)
    pvalues = Pvalues(math.nan, math.nan, math.nan)
    return DkmdMultivariateResult(
        same, same.copy(), same.copy(), same.copy(), amount, pvalues, unknown, sizes, notes
    )


def _result(
    fit: Fit, matrices: Matrices, used: Index, sizes: tuple[int, int], notes: tuple[str, ...]
) -> DkmdMultivariateResult:
    """The numbers of the columns in use, at their places among all columns."""

    def placed(values: Array, constant: float) -> Array:
        everywhere = np.full(matrices.x.values.shape[1], constant)
        everywhere[matrices.missing] = math.nan
        everywhere[used] = values
        return everywhere

    return DkmdMultivariateResult(
        statistic=placed(fit.statistic, 0.0),
        shift=placed(fit.shift * fit.scale, 0.0),
        standard_error=placed(np.sqrt(fit.variance) * fit.scale, 0.0),
        scale=placed(fit.scale, 0.0),
        length=math.sqrt(max(debiased_square(fit.shift, fit.sides), 0.0)),
        pvalues=fit.pvalues(),
        column_pvalues=placed(fit.column_pvalues(), 1.0),
        sizes=sizes,
        notes=notes,
        fit=fit,
        used=used,
    )
