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
from dkmd.inference.groups import FEW_GROUPS, Groups, check_groups, group_codes
from dkmd.inference.options import NAN_POLICIES
from dkmd.matrices.center import SAMPLED, Sample, pooled_sample, sampled
from dkmd.matrices.door import Matrices, check_matrices
from dkmd.matrices.fit import Fit, How, Units, constant_columns, fit_independent, fit_pairs
from dkmd.matrices.flipping import noise_of, variance_of
from dkmd.matrices.length import debiased_length
from dkmd.matrices.pairs import differences_of
from dkmd.matrices.picture import projected
from dkmd.matrices.result import (
    DkmdMultivariateResult,
    Pvalues,
    column_pvalues,
    pvalues_of,
)
from dkmd.matrices.rows import Rows
from dkmd.matrices.whitening import ROWS_PER_COLUMN

RESAMPLES = 999

NOTHING_VARIES = "no column varies: there is nothing to compare"


def dkmd_multivariate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    whiten: bool = False,
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
    whiten : bool
        Give every direction the same spread first (Tyler's shape of the pooled rows). The p-value
        then stays the same under every linear map of the columns. Needs more than 5 rows per
        column. By default each column is only divided by its robust scale.
    groups : (array_like, array_like), optional
        A label for each row of x and of y. Rows with the same label are repeated measurements of
        one unit.
    paired : bool
        x[i] and y[i] are two measurements of one unit. With ``groups``, equal labels in x and y
        are one unit, whose rows are replaced by their column-wise median. Units on one side only
        are left out.
    n_resamples : int
        Relabellings, and as many flips of signs.
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
        (family-wise), ``carriers()``. Unpacks as (statistic, pvalue).

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
    >>> bool(result.pvalue < 0.001), round(result.length, 1)
    (True, 1.1)
    >>> sorted(result.carriers().columns.tolist())
    [0, 1, 2, 3, 4]
    """
    result = run_multivariate(x, y, whiten, groups, paired, n_resamples, rng, nan_policy)
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    return result


def run_multivariate(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    whiten: bool = False,
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
    how = How(int(n_resamples), np.random.default_rng(rng), whiten)
    matrices = check_matrices(x, y, nan_policy)
    if matrices is None:
        return _nothing(np.shape(x), (0, 0), whiten, ())
    labels = None if groups is None else _codes(check_groups(groups), matrices)
    if paired:
        return _paired(matrices, None if groups is None else check_groups(groups), how)
    return _independent(matrices, labels, how)


def _codes(groups: tuple[Any, Any], matrices: Matrices) -> tuple[Units, Units]:
    """The groups of the rows in use."""
    found = []
    for labels, side, name in zip(groups, (matrices.x, matrices.y), "xy", strict=True):
        codes = group_codes(labels, side.values.shape[0], name)[side.kept]
        kinds, numbers = np.unique(codes, return_inverse=True)
        if kinds.size < 2:
            raise DkmdError(f"all rows of {name} are in one group: at least 2 groups are needed")
        found.append(Units(numbers.astype(np.int64), int(kinds.size)))
    return found[0], found[1]


def _independent(
    matrices: Matrices, groups: tuple[Units, Units] | None, how: How
) -> DkmdMultivariateResult:
    columns = matrices.x.values.shape[1]
    sample = pooled_sample(matrices.x, matrices.y, how.rng, _more_rows(matrices.x, how))
    constant, median, scale = constant_columns(matrices.x, matrices.y, sample)
    notes = [*matrices.notes(str), *_constant_note(matrices.x.columns[constant])]
    sizes = matrices.x.size, matrices.y.size
    if constant.size == matrices.x.columns.size:
        return _nothing((0, columns), sizes, how.whiten, (NOTHING_VARIES,), 0.0)
    if constant.size:
        matrices = matrices.without(constant)
        sample = sample._replace(rows=np.delete(sample.rows, constant, axis=1))
        median, scale = np.delete(median, constant), np.delete(scale, constant)
    for part, name in zip(np.split(sample.rows, [sample.of_x]), "xy", strict=True):
        _require_centre(part, f"rows of {name}")
    x, y = matrices.x, matrices.y
    if groups is None:
        units = Units(None, x.size), Units(None, y.size)
    else:
        units = groups
        if min(unit.count for unit in units) < FEW_GROUPS:
            notes.append(
                f"only {units[0].count} and {units[1].count} groups: with fewer than {FEW_GROUPS} "
                "on a side the p-value and intervals are rough"
            )
    if how.whiten:
        _require_rows(x.size + y.size, x.columns.size, sample.rows)
    fit = fit_independent(x, y, units, sample, (median, scale), how)
    return _result(fit, columns, x, sizes, matrices.missing, notes, (x, y), how)


def _paired(matrices: Matrices, groups: tuple[Any, Any] | None, how: How) -> DkmdMultivariateResult:
    columns = matrices.x.values.shape[1]
    differences, notes = differences_of(matrices, groups)
    found = [*matrices.notes(str), *notes]
    rows = Rows(differences, np.arange(differences.shape[0]), np.arange(differences.shape[1]))
    positions = sampled(rows.size, rows.columns.size, how.rng, _more_rows(rows, how))
    sample = rows.taken(positions)
    still = Sample(sample, sample.shape[0], positions.size == rows.size)
    nothing = rows.taken(np.arange(0))
    empty = Rows(nothing, np.arange(0), rows.columns)
    constant, median, _ = constant_columns(rows, empty, still)
    constant = constant[median[constant] == 0.0]
    sizes = rows.size, rows.size
    if constant.size == rows.columns.size:
        return _nothing((0, columns), sizes, how.whiten, (NOTHING_VARIES,), 0.0)
    used = np.delete(matrices.x.columns, constant)
    found += _constant_note(matrices.x.columns[constant])
    rows = replace(rows, columns=np.delete(rows.columns, constant))
    sample = np.delete(sample, constant, axis=1)
    _require_centre(sample, "pairs")
    if how.whiten:
        _require_rows(rows.size, rows.columns.size, sample)
    fit = fit_pairs(rows, sample, how)
    original = Rows(differences, rows.kept, used)
    return _result(fit, columns, original, sizes, matrices.missing, found, (rows,), how)


def _more_rows(rows: Rows, how: How) -> int:
    """Rows of a sample: enough of them for a shape matrix, if that is asked for."""
    return max(SAMPLED, 8 * rows.columns.size) if how.whiten else SAMPLED


def _require_centre(rows: Array, name: str) -> None:
    """Reject a sample of which most rows are at infinity: its centre may be there, too."""
    if 2 * int(np.isinf(rows).any(axis=1).sum()) > rows.shape[0]:
        raise DkmdError(
            f"more than half of the {name} have infinite values, so they have no centre: leave out "
            "the columns with most of them, or compare single columns"
        )


def _require_rows(rows: int, columns: int, sample: Array) -> None:
    """Reject whitening of too few rows, or of infinite values."""
    if rows <= ROWS_PER_COLUMN * columns:
        raise DkmdError(
            f"whiten=True needs more than {ROWS_PER_COLUMN} rows per column; there are {rows:,} "
            f"rows and {columns:,} columns that vary"
        )
    if not np.isfinite(sample).all():
        raise DkmdError("whiten=True needs finite values: leave out rows with infinite values")


def _constant_note(columns: npt.NDArray[np.int64]) -> list[str]:
    if not columns.size:
        return []
    if columns.size == 1:
        return [f"column {columns[0]} is constant and was left out"]
    return [f"{columns.size:,} columns are constant and were left out"]


def _nothing(
    shape: tuple[int, ...],
    sizes: tuple[int, int],
    whiten: bool,
    notes: tuple[str, ...],
    amount: float = math.nan,
) -> DkmdMultivariateResult:
    """A result without a test: missing values are propagated, or no column varies."""
    columns = shape[1] if len(shape) == 2 else 1
    same, unknown = np.full(columns, amount), np.full(columns, math.nan)
    pvalues = Pvalues(math.nan, math.nan, math.nan)
    return DkmdMultivariateResult(
        same, same.copy(), same.copy(), same.copy(), amount, pvalues, unknown, sizes, whiten, notes
    )


def _result(
    fit: Fit,
    columns: int,
    rows: Rows,
    sizes: tuple[int, int],
    missing: npt.NDArray[np.int64],
    notes: list[str],
    sides: tuple[Rows, ...],
    how: How,
) -> DkmdMultivariateResult:
    """The numbers of the columns in use, at their places among all columns."""

    def placed(values: Array, constant: float) -> Array:
        everywhere = np.full(columns, constant)
        everywhere[missing] = math.nan
        everywhere[rows.columns] = values
        return everywhere

    scale = fit.frame.scale
    variance = variance_of(fit.by_column)
    squared, noise = float(fit.shift @ fit.shift), noise_of(fit.sides)
    return DkmdMultivariateResult(
        statistic=placed(fit.statistic, 0.0),
        shift=placed(fit.column_shift * scale, 0.0),
        standard_error=placed(np.sqrt(variance) * scale, 0.0),
        scale=placed(scale, 0.0),
        length=debiased_length(squared, noise),
        pvalues=pvalues_of(fit, how.whiten),
        column_pvalues=placed(column_pvalues(fit), 1.0),
        sizes=sizes,
        whitened=how.whiten,
        notes=tuple(notes),
        fit=fit,
        used=rows.columns,
        picture=projected(fit, sides),
    )
