"""The test with SciPy's signature: validate, infer, wrap.

This module handles shapes, axes and NaN. What remains is one comparison of two small samples or of
two summaries (``one_test``), of many rows (``rows``), of pairs (``rel``), or of a design.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, real_numbers
from dkmd.bins.summary import Summary
from dkmd.inference.kinds.neighbours import ALIKE, alike
from dkmd.inference.test.one_test import (
    compare_summaries,
    compare_values,
    is_small,
    require_positive_values,
    stopped_by_nan,
)
from dkmd.inference.test.options import DesignArguments, Options, check_options, slices
from dkmd.inference.test.rel import require_flips, run_rel
from dkmd.inference.test.result import DkmdResult, NoOutcome, Outcome
from dkmd.inference.test.riemann_test import NO_SHIFT
from dkmd.inference.test.rows import NO_NUMBERS, Rows, compare_rows
from dkmd.inference.test.tails import Tails
from dkmd.statistic.witness import Witness

PLAIN = DesignArguments()

Groups = Sequence[npt.ArrayLike]
"""A label for each value of x and of y, as a pair."""


def dkmd_2samp(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    *,
    witness: Witness | None = None,
    scale: float | None = None,
    estimator: str = "exact",
    alternative: str = "two-sided",
    method: Any = None,
    groups: Groups | None = None,
    paired: bool = False,
    weigh: str = "units",
    covariate: Any = None,
    strata: Any = None,
    randomized: bool = False,
    weights: Any = None,
    counts: Any = None,
    estimand: str = "shift",
    denominator: Any = None,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> DkmdResult:
    """Which of two samples is larger, by how much, and how sure is that?

    Parameters
    ----------
    x, y : array_like or Summary
        Two independent samples of real numbers. ±inf is data. Two summaries must share a grid.
    witness : Witness, optional
        A ψ with a fixed centre, as in the paper: the statistic is mean ψ(x) − mean ψ(y), and its
        variance is Welch's. By default ψ compares the differences x − y with 0.
    scale : float, optional
        The width σ = τ of ψ in data units. By default a tenth of the robust scale of both samples.
        Do not give both ``scale`` and ``witness``.
    estimator : {"exact", "riemann"}
        "riemann" tests the paper's estimator against its permutation distribution. Without a
        ``witness``, ψ is centred at 0 as in the paper. This estimator has no shift.
    alternative : {"two-sided", "less", "greater"}
        "greater": x tends to be larger than y.
    method : PermutationMethod or BootstrapMethod of scipy.stats, optional
        A permutation p-value or bootstrap intervals. The permutation test is studentised, so it is
        exact if P = Q and right if only spreads differ. Few relabellings are all enumerated.
    groups : (array_like, array_like), optional
        A label for each value of x and of y. Values with the same label are repeated measurements
        of one unit. The variance is then by groups. G groups of equal size have G − 1 degrees of
        freedom. The same label in x and y counts as two units, unless ``paired`` is true. Labels
        need one-dimensional samples.
    paired : bool
        The same units were measured on both sides. Without ``groups``, x[i] and y[i] are a pair and
        the test is ``dkmd_rel``. With ``groups``, equal labels in x and y are one unit, which may
        have any number of values. The result's ``pairing`` says how many units were shared, and how
        many times pairing narrowed the interval.
    weigh : {"units", "values"}
        For ``paired`` with ``groups``. "units": each shared unit weighs the same on both sides, so
        values that move between units are no change if no unit changed. Units on one side only
        are left out and counted. "values": each value weighs the same, and all values are used.
    covariate : (array_like, array_like), optional
        What was known about each value of x and of y before the experiment, such as last month's
        revenue: a column each, or arrays with several columns. The statistic, its p-value, the
        shift and its interval are then adjusted. NaN is a stratum of its own, and ±inf is data.
        ``adjustment`` of the result has the raw numbers and what adjusting was worth.
    strata : (array_like, array_like), optional
        Labels of each value, such as its country; arrays with several columns are allowed.
    randomized : bool
        Must be true with a covariate or strata: chance decided which unit joins which side.
    weights : (array_like, array_like), optional
        How much each value stands for: inverse probabilities, survey weights, sampling rates. Only
        ratios within a side matter. 0 leaves a value out. NaN, negative and infinite weights are
        errors. ``effective_sizes`` of the result is (Σw)²/Σw².
    counts : (array_like, array_like), optional
        Whole numbers: a row stands for so many equal rows. 0 leaves a row out.
    estimand : {"shift", "mean"}
        "mean" compares the means, in the same designs: ``shift`` is then the difference of means.
        Covariates enter as they are (CUPED). Infinite values have no mean.
    denominator : (array_like, array_like), optional
        With the estimand "mean": compare ratios of sums, Σx/Σ(its denominator), such as revenue per
        session. The error comes from the delta method.
    axis, nan_policy, keepdims
        As in ``scipy.stats.ttest_ind``.

    Returns
    -------
    DkmdResult
        ``statistic``, ``pvalue``, ``df``, ``standard_error``, ``shift``, ``direction``,
        ``width``, ``witness``, ``confidence_interval()``, ``shift_interval()``. Unpacks as
        (statistic, pvalue).

    Notes
    -----
    The statistic is T = mean ψ(x − y) over all pairs of values. Its p-value is that of Student's
    t, guarded by relabelling. The shift is the δ at which T of (x − δ, y) is 0: pick one value from
    each sample, and the one from x is typically larger by that much. The data are read once.
    Everything else works on at most a few thousand bins.
    For degenerate samples see the table in docs/inference.md.

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
    (1.9, 4.3)
    """
    options = check_options(
        witness, scale, estimator, alternative, method, nan_policy, weigh if paired else None,
        estimand,
    )  # fmt: skip
    design = DesignArguments(groups, covariate, strata, randomized, weights, counts, denominator)
    x, y = _as_arrays(x, "x"), _as_arrays(y, "y")
    result = run(x, y, options, design, axis, keepdims)
    if groups is None and counts is None and not paired:
        result = _with_note_on_neighbours(result, x, y)
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    return result


def _as_arrays(given: npt.ArrayLike | Summary, name: str) -> RealArray | Summary:
    """A sample as an array, if it is not a Summary."""
    return given if isinstance(given, Summary) else real_numbers(given, name)


def _with_note_on_neighbours(
    result: DkmdResult, x: RealArray | Summary, y: RealArray | Summary
) -> DkmdResult:
    """The result, with a note if neighbouring values of one long sample are alike."""
    if isinstance(x, Summary) or isinstance(y, Summary) or x.ndim != 1 or y.ndim != 1:
        return result
    outcome = result.single()
    if outcome is not None and alike((x, y), outcome.middle):
        return result.with_note(ALIKE)
    return result


def run(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    design: DesignArguments = PLAIN,
    axis: int | None = 0,
    keepdims: bool = False,
) -> DkmdResult:
    """``dkmd_2samp`` without warnings. They are in ``notes`` of the result."""
    paired = options.weigh is not None
    if isinstance(x, Summary) or isinstance(y, Summary):
        if paired or not design.plain:
            raise ValueError(
                "groups, pairs, covariates, strata, weights and counts need single values, which "
                "summaries do not hold"
            )
        return _of_summaries(x, y, options)
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    if paired and design.plain and options.estimand == "shift":
        if options.witness is not None or options.estimator != "exact":
            raise ValueError("pairs without groups have neither a witness nor another estimator")
        require_flips(options.method)
        return run_rel(x, y, options, axis, keepdims)
    if not design.plain or options.estimand == "mean":
        if first.ndim != 1 or second.ndim != 1:
            raise ValueError(
                "groups, covariates, strata, weights, counts and means need one-dimensional samples"
            )
        return _designed(first, second, options, design)
    rows_x, rows_y, shape = slices(first, second, axis, keepdims)
    if not shape:
        return _result(compare_values(rows_x[0], rows_y[0], options), rows_x[0], rows_y[0], options)
    return DkmdResult(_compare_all(rows_x, rows_y, options).shaped(shape))


def _designed(
    x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options, design: DesignArguments
) -> DkmdResult:
    """One comparison of a design, which can be repeated on logarithms."""
    from dkmd.inference.design.outcome import compare_designed

    def on_logs() -> DkmdResult:
        require_positive_values(x, y)
        return _designed(np.log(x), np.log(y), options.on_logs(), design).with_logs(None)

    return DkmdResult(Rows.of([compare_designed(x, y, design, options)]).shaped(()), on_logs)


def _compare_all(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Rows:
    """Compare each row of x with the same row of y, in compiled code where that is possible."""
    one_by_one = options.witness is not None or options.method is not None
    if one_by_one or options.estimator != "exact" or not is_small(x.shape[1], y.shape[1]):
        return Rows.of([compare_values(a, b, options) for a, b in zip(x, y, strict=True)])
    if min(x.shape[1], y.shape[1]) < 2:
        return Rows.of([compare_values(a, b, options) for a, b in zip(x, y, strict=True)])
    tests = compare_rows(x, y, options.scale)
    if options.nan_policy == "raise" and (tests.state == NO_NUMBERS).any():
        raise ValueError("The input contains nan values")
    return Rows(
        tests.numbers(options.alternative),
        tests.fine,
        lambda row: compare_values(x[row], y[row], options),
    )


def row_tails(x: Array, y: Array, scale: float | None = None, delta: float = 0.0) -> Tails:
    """Both one-sided p-values of (x − delta, y) for rows of x and y. Simulations use them.

    The p-values are 1 for a row that cannot be tested, for example if all its values are equal.
    """
    tests = compare_rows(x, y, scale, delta)
    tails = tests.tails()
    for row in np.flatnonzero(~tests.fine):
        for tail, side in zip(tails, ("greater", "less"), strict=True):
            options = check_options(None, scale, "exact", side, None, "propagate")
            tail[row] = compare_values(x[row] - delta, y[row], options).pvalue
    upper, lower = (np.where(np.isnan(tail), 1.0, tail) for tail in tails)
    return Tails(upper, lower)


def _of_summaries(
    x: npt.ArrayLike | Summary, y: npt.ArrayLike | Summary, options: Options
) -> DkmdResult:
    """One comparison of two summaries."""
    if not (isinstance(x, Summary) and isinstance(y, Summary)):
        raise TypeError("x and y must both be summaries, or both arrays")
    if options.estimator == "riemann":
        raise ValueError("the Riemann estimator needs single values, which summaries do not hold")
    outcome: Outcome = NoOutcome(options.alternative)
    if not stopped_by_nan(x.nan + y.nan, options):
        if options.estimand == "mean":
            from dkmd.inference.design.outcome import compare_means_of_summaries

            outcome = compare_means_of_summaries(x, y, options)
        else:
            outcome = compare_summaries(x, y, options)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def _result(
    outcome: Outcome, x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options
) -> DkmdResult:
    """The result of one comparison, which can be repeated on logarithms."""

    def on_logs() -> DkmdResult:
        if options.estimator == "riemann":
            raise ValueError(NO_SHIFT)
        require_positive_values(x, y)
        # logarithms of logarithms are never needed, and offering them would keep the values
        return run(np.log(x), np.log(y), options.on_logs()).with_logs(None)

    return DkmdResult(Rows.of([outcome]).shaped(()), on_logs)
