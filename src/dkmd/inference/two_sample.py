"""The test, in SciPy's words: validate, bin, infer, wrap.

Shapes, axes and NaN are dealt with here; what is left is one comparison of two small samples
(``direct``) or of two summaries (``compare_summaries``), whatever they were made from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, present, real_numbers
from dkmd.base.compiled import WORTH_THREADS, spread
from dkmd.base.errors import ColumnError
from dkmd.binned.grid import UNITS_PER_SCALE, Grid
from dkmd.binned.summary import Summary
from dkmd.inference.direct import (
    FINE,
    MOST_VALUES,
    NO_NUMBERS,
    compare_rows,
    small_sides,
    studentized,
)
from dkmd.inference.groups import Clusters, GroupSums, check_groups, group_codes, note_on_few
from dkmd.inference.limits import test_at_infinity
from dkmd.inference.pair import Pair, Studentized
from dkmd.inference.resampling import Bootstrap, permutation_pvalue
from dkmd.inference.result import (
    NO_SHIFT,
    DkmdResult,
    ExactOutcome,
    NoOutcome,
    Outcome,
    Rows,
)
from dkmd.inference.riemann_test import riemann_outcome
from dkmd.inference.scale import Scale, Shape, fitted_scale, require_squares, scale_of
from dkmd.inference.sides import Side
from dkmd.inference.tails import Tails
from dkmd.statistic.witness import Witness

ALTERNATIVES = ("two-sided", "less", "greater")
NAN_POLICIES = ("propagate", "omit", "raise")
ESTIMATORS = ("exact", "riemann")


@dataclass(frozen=True)
class Options:
    """How to compare; checked once."""

    witness: Witness | None
    scale: float | str | None
    estimator: str
    alternative: str
    method: Any
    nan_policy: str

    @property
    def label_free(self) -> bool:
        """Whether the width may not depend on labels at all: permutations are exact then."""
        return type(self.method).__name__ == "PermutationMethod"

    def on_logs(self) -> Options:
        """The same for logarithms: a scale in data units means nothing there."""
        scale = self.scale if isinstance(self.scale, str) else None
        return replace(self, witness=None, scale=scale)


def dkmd_2samp(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    *,
    witness: Witness | None = None,
    scale: float | str | None = None,
    estimator: str = "exact",
    alternative: str = "two-sided",
    method: Any = None,
    groups: Any = None,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> DkmdResult:
    """Which of two samples is larger, by how much, and is that real?

    Parameters
    ----------
    x, y : array_like or Summary
        Two independent samples of real numbers. ±inf is data. Two summaries must share a grid.
    witness : Witness, optional
        A ψ with its centre fixed, as in the paper; the variance is then Welch's. By default σ = τ
        come from ``scale`` and the centre is the M-centre of the pooled data, whose own variance
        is counted.
    scale : float, "robust" or "adaptive", optional
        σ = τ in data units; 1 × 1.4826·MAD of the pooled data; or (the default) the multiple of
        that between 1/8 and 16 which is most efficient on the pooled data. Not with ``witness``.
    estimator : {"exact", "riemann"}
        "riemann" tests the paper's estimator against its permutation distribution, with the
        witness centred at 0 like the paper's unless one is given; it has no shift.
    alternative : {"two-sided", "less", "greater"}
        "greater": x tends to be larger than y.
    method : PermutationMethod or BootstrapMethod of scipy.stats, optional
        A permutation p-value (studentised, so exact when P = Q and right when only spreads differ;
        complete when there are few relabellings), or bootstrap intervals.
    groups : (array_like, array_like), optional
        A label per value of x and of y: values with one label are repeated measurements. The
        variance is then by groups, with G − 1 degrees of freedom. A label of x has nothing to do
        with an equal label of y. One-dimensional samples only. For summaries: two functions that
        give the design effect and the number of groups of x and of y at a witness.
    axis, nan_policy, keepdims
        As in ``scipy.stats.ttest_ind``.

    Returns
    -------
    DkmdResult
        ``statistic``, ``pvalue``, ``df``, ``standard_error``, ``shift``, ``direction``,
        ``witness``, ``confidence_interval()``, ``shift_interval()``. Unpacks as
        (statistic, pvalue).

    Notes
    -----
    Cost: one pass over the data; everything else works on at most some thousand bins.
    Degenerate samples: see the table in docs/inference.md.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> before, after = rng.gamma(4, 5, 500) + 80, rng.gamma(4, 5, 500) + 83
    >>> after[:3] = np.inf  # timed out
    >>> result = dkmd_2samp(after, before)
    >>> result.direction, round(result.shift, 1), bool(result.pvalue < 1e-4)
    ('x is larger', 3.1, True)
    >>> low, high = result.shift_interval()
    >>> round(low, 1), round(high, 1)
    (1.8, 4.3)
    """
    options = check_options(witness, scale, estimator, alternative, method, nan_policy)
    result = run(x, y, options, groups, axis, keepdims)
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    return result


def run(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    groups: Any = None,
    axis: int | None = 0,
    keepdims: bool = False,
) -> DkmdResult:
    """``dkmd_2samp`` without its warnings: they are in ``notes`` of the result."""
    if isinstance(x, Summary) or isinstance(y, Summary):
        return _of_summaries(x, y, options, groups)
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    if groups is not None:
        if first.ndim != 1 or second.ndim != 1:
            raise ValueError("groups need one-dimensional samples")
        outcome = _compare_grouped(first, second, check_groups(groups), options)
        return _result(outcome, first, second, options, groups)
    rows_x, rows_y, shape = _slices(first, second, axis, keepdims)
    if not shape:
        return _result(_compare(rows_x[0], rows_y[0], options), rows_x[0], rows_y[0], options, None)
    return DkmdResult(_compare_all(rows_x, rows_y, options).shaped(shape))


def _compare_all(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Rows:
    """Many comparisons, (rows, values) each: in compiled code what can be, else one by one."""
    one_by_one = options.witness is not None or options.method is not None
    if one_by_one or options.estimator != "exact" or not _is_small(x.shape[1], y.shape[1]):
        return Rows.of([_compare(a, b, options) for a, b in zip(x, y, strict=True)])
    numbers = compare_rows(x, y, options.scale, options.label_free)
    if options.nan_policy == "raise" and (numbers.state == NO_NUMBERS).any():
        raise ValueError("The input contains nan values")

    def outcome(row: int) -> Outcome:
        if numbers.state[row] != FINE:
            return _compare(x[row], y[row], options)
        small = small_sides(present(x[row]), present(y[row]), options.label_free)
        width = float(numbers.width[row])
        pair = _pair(*small, Witness(width, width), options)
        test = studentized(numbers, row, pair.origin, x.shape[1], y.shape[1])
        return _outcome(pair, test, small.shape.spread, options)

    pvalues = numbers.pvalues(x.shape[1], y.shape[1], options.alternative)
    return Rows(numbers, pvalues, outcome)


def row_tails(
    x: Array,
    y: Array,
    scale: float | str | None = None,
    delta: float = 0.0,
) -> Tails:
    """Both one-sided p-values of (x − delta, y) for rows of x and y: what simulations run on.

    A row that tells nothing, because all its values are alike, has 1.
    """
    numbers = compare_rows(x, y, scale, delta=delta)
    tails = [numbers.pvalues(x.shape[1], y.shape[1], side) for side in ("greater", "less")]
    for row in np.flatnonzero(numbers.state != FINE):
        for tail, side in zip(tails, ("greater", "less"), strict=True):
            options = check_options(None, scale, "exact", side, None, "propagate")
            tail[row] = _compare(x[row] - delta, y[row], options).pvalue
    upper, lower = (np.where(np.isnan(tail), 1.0, tail) for tail in tails)
    return Tails(upper, lower)


def compare_summaries(x: Summary, y: Summary, options: Options, grouped: Any = None) -> Outcome:
    """The test of two summaries of one grid; ``grouped(witness)`` gives what groups add to it."""
    if min(x.size, y.size) < 2:
        return _too_small(options)
    low, high = min(x.minimum, y.minimum), max(x.maximum, y.maximum)
    if high > low:
        # a wide range may be one outlier, but a narrow one bounds the scale, and so does the unit
        require_squares(min(high - low, 1.0))
        require_squares(max(x.grid.unit, 1.0))
    if x.grid != y.grid:
        raise ValueError(f"summaries of different grids cannot be compared: {x.grid} and {y.grid}")
    fitted = fitted_scale(x, y, _scale_asked(options), options.label_free)
    sides = Side.of(x), Side.of(y)
    return _compare_sides(*sides, x.grid.center, fitted, options, grouped)


def _scale_asked(options: Options) -> float | str | None:
    """The scale that was asked for; a witness brings its own."""
    if options.witness is None:
        return options.scale
    require_squares(options.witness.length)
    return options.witness.sigma


def _compare_sides(
    x: Side, y: Side, origin: float, fitted: Scale, options: Options, grouped: Any = None
) -> Outcome:
    """The test of two sides at a width that was chosen."""
    shape = fitted.shape
    if x.finite + y.finite <= abs(x.lean + y.lean):
        return test_at_infinity(x, y, options.alternative)
    if options.witness is not None:
        psi = options.witness
        _require_linear_if_unbounded(psi, x, y)
    elif fitted.width > 0.0:
        psi = Witness(fitted.width, fitted.width)
    else:
        return NoOutcome(
            options.alternative, statistic=0.0, standard_error=0.0, shift=0.0, notes=(ALL_EQUAL,)
        )
    pair = _pair(x, y, origin, shape, psi, options)
    test = pair.coarsened().test(near=shape.median)
    notes: tuple[str, ...] = ()
    if math.isfinite(test.center) and grouped is not None:
        at_center = replace(psi, center=origin + test.center)
        clusters, notes = grouped(at_center)
        pair = replace(pair, clusters=clusters)
        test = pair.coarsened().test(near=test.center)
    return _outcome(pair, test, shape.spread or math.nan, options, notes)


def _pair(x: Side, y: Side, origin: float, shape: Shape, psi: Witness, options: Options) -> Pair:
    """Two sides with the ψ that compares them."""
    return Pair(
        x, y, psi, origin,
        fixed=options.witness is not None,
        separation=shape.separation,
        allowance=math.inf if options.label_free else shape.allowance,
    )  # fmt: skip


ALL_EQUAL = "all values are equal: there is no scale to compare on"
NOTHING_VARIES = (
    "the values do not vary within the samples: the p-value only counts how many ways there are to "
    "share them out"
)


def _outcome(
    pair: Pair, test: Studentized, robust: float, options: Options, notes: tuple[str, ...] = ()
) -> Outcome:
    """Turn the studentised statistic into an outcome, by the method that was asked for."""
    if pair.constant and test.statistic != 0.0:
        notes = (*notes, NOTHING_VARIES)
    center_x, center_y = pair.centers(near=test.center)
    shift = center_x - center_y
    probability = test.pvalue(options.alternative)
    bootstrap = None
    if options.method is not None:
        if pair.clusters is not None:
            raise ValueError("groups and a resampling method cannot be combined")
        from scipy.stats import BootstrapMethod

        if isinstance(options.method, BootstrapMethod):
            bootstrap = Bootstrap(pair, test, shift, options.method)
        else:
            probability = permutation_pvalue(pair, test, options.alternative, options.method)
    witness = replace(pair.witness, center=pair.origin + test.center)
    return ExactOutcome(
        pair, test, probability, shift, witness, options.alternative, robust, bootstrap, notes
    )


def check_options(
    witness: Witness | None,
    scale: float | str | None,
    estimator: str,
    alternative: str,
    method: Any,
    nan_policy: str,
) -> Options:
    """Check what can be checked without data."""
    for name, value, known in (
        ("estimator", estimator, ESTIMATORS),
        ("alternative", alternative, ALTERNATIVES),
        ("nan_policy", nan_policy, NAN_POLICIES),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
    if witness is not None and not isinstance(witness, Witness):
        raise TypeError(f"witness must be a Witness, got {witness!r}")
    if witness is not None and scale is not None:
        raise ValueError("give either a witness, which has its own scale, or a scale")
    if method is not None:
        from scipy.stats import BootstrapMethod, PermutationMethod

        if not isinstance(method, PermutationMethod | BootstrapMethod):
            raise TypeError(
                "method must be a PermutationMethod or BootstrapMethod of scipy.stats, "
                f"got {method!r}"
            )
        if estimator == "riemann" and isinstance(method, BootstrapMethod):
            raise ValueError("the Riemann estimator has no intervals to bootstrap")
    return Options(witness, scale, estimator, alternative, method, nan_policy)


def _slices(
    x: npt.NDArray[Any], y: npt.NDArray[Any], axis: int | None, keepdims: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[int, ...]]:
    """Rows to compare, (slices, values) each, and the shape of the result; SciPy's rules."""
    ndim = max(x.ndim, y.ndim)
    if axis is None:
        return x.reshape(1, -1), y.reshape(1, -1), (1,) * ndim if keepdims else ()
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    axis %= ndim
    last = [np.moveaxis(a.reshape((1,) * (ndim - a.ndim) + a.shape), axis, -1) for a in (x, y)]
    batch = np.broadcast_shapes(last[0].shape[:-1], last[1].shape[:-1])
    rows = [np.broadcast_to(a, (*batch, a.shape[-1])) for a in last]
    count = math.prod(batch)
    flat_x, flat_y = (a.reshape(count, a.shape[-1]) for a in rows)
    shape = (*batch[:axis], 1, *batch[axis:]) if keepdims else batch
    return flat_x, flat_y, shape


def _compare(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison of two one-dimensional arrays."""
    if options.estimator == "riemann":
        return _compare_riemann(x, y, options)
    if options.witness is None and _is_small(x.size, y.size):
        return _compare_small(x, y, options)
    grid = _grid(x, y, options.witness)
    summary_x, summary_y = _summaries(x, y, grid)
    if _stopped_by_nan(summary_x.nan + summary_y.nan, options):
        return NoOutcome(options.alternative)
    return compare_summaries(summary_x, summary_y, options)


def _summaries(x: npt.NDArray[Any], y: npt.NDArray[Any], grid: Grid) -> tuple[Summary, Summary]:
    """Both samples on a grid; side by side where each is too small to be worth threads alone."""
    apart = max(x.size, y.size) < WORTH_THREADS <= 4 * (x.size + y.size)
    one, other = spread(lambda a: Summary.of(a, grid), (x, y), WORTH_THREADS if apart else 0)
    return one, other


def _is_small(n: int, m: int) -> bool:
    """Whether values are compared one by one."""
    return n + m <= MOST_VALUES


def _compare_small(
    x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options, grouped: Any = None
) -> Outcome:
    """One comparison of few values, without bins."""
    kept = present(x), present(y)
    if _stopped_by_nan(x.size + y.size - kept[0].size - kept[1].size, options):
        return NoOutcome(options.alternative)
    if min(kept[0].size, kept[1].size) < 2:
        return _too_small(options)
    small = small_sides(*kept, options.label_free)
    fitted = scale_of(small.x, small.y, small.shape, options.scale)
    return _compare_sides(small.x, small.y, small.origin, fitted, options, grouped)


def _compare_grouped(
    x: npt.NDArray[Any], y: npt.NDArray[Any], groups: tuple[Any, Any], options: Options
) -> Outcome:
    """One comparison of repeated measurements: as ``_compare``, with variances by groups."""
    if options.estimator == "riemann":
        raise ValueError("groups need estimator='exact'")
    codes = [group_codes(g, a.size, name) for g, a, name in zip(groups, (x, y), "xy", strict=True)]
    missing = [np.isnan(a) for a in (x, y)]
    if _stopped_by_nan(int(sum(gone.sum() for gone in missing)), options):
        return NoOutcome(options.alternative)
    values = [a[~gone].astype(np.float64) for a, gone in zip((x, y), missing, strict=True)]
    codes = [
        np.unique(c[~gone], return_inverse=True)[1] for c, gone in zip(codes, missing, strict=True)
    ]

    def sums(witness: Witness) -> tuple[GroupSums, GroupSums]:
        of_x, of_y = (
            GroupSums.of_values(witness(v) / witness.length, c)
            for v, c in zip(values, codes, strict=True)
        )
        return of_x, of_y

    if options.witness is None and _is_small(values[0].size, values[1].size):
        return _compare_small(values[0], values[1], options, _clustering(sums))
    grid = _grid(values[0], values[1], options.witness)
    return compare_summaries(
        Summary.of(values[0], grid), Summary.of(values[1], grid), options, _clustering(sums)
    )


GroupsAt = Callable[[Witness], tuple[GroupSums, GroupSums]]


def _clustering(sums: GroupsAt) -> Callable[[Witness], tuple[Clusters, tuple[str, ...]]]:
    """What groups do to a test, and what to say of them."""

    def at(witness: Witness) -> tuple[Clusters, tuple[str, ...]]:
        of_x, of_y = sums(witness)
        note = note_on_few(of_x, of_y)
        return Clusters.of(of_x, of_y), (note,) if note else ()

    return at


def _compare_riemann(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One comparison by the paper's estimator."""
    kept = [a[~np.isnan(a)] for a in (x, y)]
    if _stopped_by_nan(x.size + y.size - kept[0].size - kept[1].size, options):
        return NoOutcome(options.alternative)
    if min(a.size for a in kept) < 2:
        return _too_small(options)
    psi = options.witness
    if psi is None:
        grid = Grid.fit(*kept)
        before, after = (Summary.of(side, grid) for side in kept)
        fitted = fitted_scale(before, after, options.scale or "robust", label_free=True)
        if not fitted.width > 0.0:
            return NoOutcome(
                options.alternative,
                statistic=0.0, standard_error=0.0, shift=0.0, notes=(ALL_EQUAL,),
            )  # fmt: skip
        psi = Witness(fitted.width, fitted.width)
    return riemann_outcome(kept[0], kept[1], psi, options.alternative, options.method)


def _of_summaries(x: Any, y: Any, options: Options, groups: Any) -> DkmdResult:
    """One comparison of two summaries."""
    if not (isinstance(x, Summary) and isinstance(y, Summary)):
        raise TypeError("x and y must both be summaries, or both arrays")
    if options.estimator == "riemann":
        raise ValueError("summaries hold no single values: no Riemann estimator")
    grouped = None if groups is None else _known_groups(groups)
    outcome: Outcome = NoOutcome(options.alternative)
    if not _stopped_by_nan(x.nan + y.nan, options):
        outcome = compare_summaries(x, y, options, grouped)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def _known_groups(groups: Any) -> Callable[[Witness], tuple[Clusters, tuple[str, ...]]]:
    """Groups whose sums are worked out by whoever holds the data."""
    of_x, of_y = check_groups(groups)
    if not (callable(of_x) and callable(of_y)):
        raise ValueError("summaries hold no single values: no groups")
    return _clustering(lambda witness: (of_x(witness), of_y(witness)))


def _result(
    outcome: Outcome, x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options, groups: Any
) -> DkmdResult:
    """A result of one comparison that can be repeated on logarithms."""

    def on_logs() -> DkmdResult:
        if options.estimator == "riemann":
            raise ValueError(NO_SHIFT)
        if not (np.nanmin(x) > 0.0 and np.nanmin(y) > 0.0):
            raise ColumnError("percentages need positive data; there are values of 0 or below")
        # nobody asks for logarithms of logarithms, which would keep the values
        return run(np.log(x), np.log(y), options.on_logs(), groups).with_logs(None)

    return DkmdResult(Rows.of([outcome]).shaped(()), on_logs)


def _grid(x: npt.NDArray[Any], y: npt.NDArray[Any], witness: Witness | None) -> Grid:
    """A grid for the data; for a given witness, one that is centred on it and fine enough."""
    grid = Grid.fit(x, y)
    if witness is None:
        return grid
    width = witness.sigma if witness.weight == "sign" else min(witness.sigma, witness.tau)
    return Grid(witness.center, min(grid.unit, width / UNITS_PER_SCALE))


def _stopped_by_nan(count: int, options: Options) -> bool:
    """Whether NaN decides the outcome under this policy."""
    if count and options.nan_policy == "raise":
        raise ColumnError("The input contains nan values")
    return bool(count) and options.nan_policy == "propagate"


def _too_small(options: Options) -> Outcome:
    note = "each sample needs at least two values; all returned values are NaN"
    return NoOutcome(options.alternative, notes=(note,))


def _require_linear_if_unbounded(witness: Witness, x: Side, y: Side) -> None:
    if math.isfinite(witness.bound):
        return
    if witness.weight != "linear":
        raise ValueError("the test needs a bounded weight, or 'linear'")
    if x.finite + y.finite < x.size + y.size:
        raise ValueError("infinite values need a bounded weight such as 'tanh', not 'linear'")
