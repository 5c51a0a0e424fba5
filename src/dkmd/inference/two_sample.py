"""The test with SciPy's signature: validate, bin, infer, wrap.

This module handles shapes, axes and NaN. What remains is one comparison of two small samples
(``direct``) or of two summaries (``compare_summaries``).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, RealArray, present, real_numbers
from dkmd.base.errors import ColumnError
from dkmd.binned.summary import Summary
from dkmd.inference.counted import REPEATED, compare_counted, stands_for
from dkmd.inference.covariates import check_known
from dkmd.inference.designs import Asked, Given, Labels, compare_designed
from dkmd.inference.direct import (
    FINE,
    NO_NUMBERS,
    compare_rows,
    small_sides,
    studentized,
)
from dkmd.inference.groups import (
    Groups,
    check_groups,
    checked_labels,
)
from dkmd.inference.neighbours import ALIKE, alike
from dkmd.inference.one_test import (
    Clustering,
    clustering_of,
    compare_grouped,
    compare_summaries,
    compare_values,
    is_small,
    outcome_of,
    pair_of,
    stopped_by_nan,
)
from dkmd.inference.options import Options, check_options
from dkmd.inference.rel import require_flips, run_rel
from dkmd.inference.result import (
    DkmdResult,
    NoOutcome,
    Outcome,
    Rows,
)
from dkmd.inference.riemann_outcome import NO_SHIFT
from dkmd.inference.slices import slices
from dkmd.inference.tails import Tails
from dkmd.inference.unit_design import Index
from dkmd.inference.units import compare_units
from dkmd.inference.weights import Weights, check_counts, check_weights, repeated
from dkmd.statistic.witness import Witness


def dkmd_2samp(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    *,
    witness: Witness | None = None,
    scale: float | str | None = None,
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
        A ψ with a fixed centre, as in the paper. The variance is then Welch's. By default σ = τ
        come from ``scale``, the centre is the M-centre of the pooled data, and the variance
        includes that of the centre.
    scale : float, "robust" or "adaptive", optional
        A number is σ = τ in data units. "robust" is 1.4826·MAD of the pooled data. "adaptive", the
        default, is the multiple of "robust", from 1/8 to 8, that is most efficient on the pooled
        data. Do not give both ``scale`` and ``witness``.
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
        need one-dimensional samples. Summaries need two functions instead. They return the
        ``GroupSums`` of x and y at a witness.
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
    The data are read once. Everything else works on at most a few thousand bins.
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
    (1.8, 4.3)
    """
    options = check_options(
        witness, scale, estimator, alternative, method, nan_policy, weigh if paired else None
    )
    asked = Asked(covariate, strata, randomized, weights, counts)
    x, y = _as_arrays(x, "x"), _as_arrays(y, "y")
    result = run(x, y, options, groups, axis, keepdims, asked)
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
    if outcome is not None and alike((x, y), outcome.witness):
        return result.with_note(ALIKE)
    return result


def run(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    groups: Groups | None = None,
    axis: int | None = 0,
    keepdims: bool = False,
    asked: Asked | None = None,
) -> DkmdResult:
    """``dkmd_2samp`` without warnings. They are in ``notes`` of the result."""
    if asked is not None and not asked.nothing:
        return _run_designed(x, y, options, groups, asked)
    if options.weigh is not None:
        return _run_paired(x, y, options, groups, axis, keepdims)
    if isinstance(x, Summary) or isinstance(y, Summary):
        return _of_summaries(x, y, options, groups)
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    if groups is not None:
        if first.ndim != 1 or second.ndim != 1:
            raise ValueError("groups need one-dimensional samples")
        outcome = compare_grouped(first, second, check_groups(groups), options)
        return _result(outcome, first, second, options, groups)
    rows_x, rows_y, shape = slices(first, second, axis, keepdims)
    if not shape:
        return _result(
            compare_values(rows_x[0], rows_y[0], options), rows_x[0], rows_y[0], options, None
        )
    return DkmdResult(_compare_all(rows_x, rows_y, options).shaped(shape))


def _run_designed(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    groups: Groups | None,
    asked: Asked,
) -> DkmdResult:
    """``run`` with covariates, strata, weights or counts."""
    if isinstance(x, Summary) or isinstance(y, Summary):
        raise ValueError(
            "covariates, strata, weights and counts need single values, which summaries do not hold"
        )
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError("covariates, strata, weights and counts need one-dimensional samples")
    sizes = first.size, second.size
    counts = check_counts(asked.counts, sizes)
    known = check_known(asked.covariate, asked.strata, asked.randomized, sizes)
    given = Given(known, check_weights(asked.weights, sizes))
    labels = None if groups is None else check_groups(groups)
    if counts is not None and stands_for(counts) > REPEATED:
        alone = labels is None and options.weigh is None and options.method is None
        if alone and known is None and options.estimator == "exact":
            return _counted((first, second), counts, given.weights, options)
    if counts is not None:
        rows = repeated(counts)
        first, second, given = first[rows[0]], second[rows[1]], given.kept(rows)
        if labels is not None:
            labels = _repeated_labels(labels, rows, sizes)
    return _designed(first, second, options, labels, given)


def _counted(
    samples: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    counts: tuple[Index, Index],
    weights: Weights | None,
    options: Options,
) -> DkmdResult:
    """Rows that stand for many values, which are not repeated."""

    def on_logs() -> DkmdResult:
        require_positive_values(*samples)
        logs = np.log(samples[0]), np.log(samples[1])
        return _counted(logs, counts, weights, options.on_logs()).with_logs(None)

    outcome = compare_counted(samples, counts, weights, options)
    return DkmdResult(Rows.of([outcome]).shaped(()), on_logs)


def _repeated_labels(labels: Labels, rows: tuple[Index, Index], sizes: tuple[int, int]) -> Labels:
    one, two = (
        checked_labels(g, size, name)[at]
        for g, at, size, name in zip(labels, rows, sizes, "xy", strict=True)
    )
    return one, two


def _designed(
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    options: Options,
    groups: Labels | None,
    given: Given,
) -> DkmdResult:
    """One comparison of a design, which can be repeated on logarithms."""
    if given == Given():
        return run(x, y, options, groups)

    def on_logs() -> DkmdResult:
        require_positive_values(x, y)
        return _designed(np.log(x), np.log(y), options.on_logs(), groups, given).with_logs(None)

    outcome = compare_designed(x, y, groups, options, given)
    return DkmdResult(Rows.of([outcome]).shaped(()), on_logs)


def require_positive_values(x: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Reject values of 0 or below, which have no percentages."""
    if not (np.nanmin(x) > 0.0 and np.nanmin(y) > 0.0):
        raise ColumnError("percentages need positive data; there are values of 0 or below")


def _run_paired(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    groups: Groups | None,
    axis: int | None,
    keepdims: bool,
) -> DkmdResult:
    """``run`` for the same units on both sides."""
    if isinstance(x, Summary) or isinstance(y, Summary):
        raise ValueError("pairs need single values, which summaries do not hold")
    if groups is None:
        if options.witness is not None or options.estimator != "exact":
            raise ValueError("pairs without groups have neither a witness nor another estimator")
        require_flips(options.method)
        return run_rel(x, y, options, axis, keepdims)
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError("groups need one-dimensional samples")
    outcome = compare_units(first, second, check_groups(groups), options)
    return _result(outcome, first, second, options, groups)


def _compare_all(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Rows:
    """Compare each row of x with the same row of y, in compiled code where that is possible."""
    one_by_one = options.witness is not None or options.method is not None
    if one_by_one or options.estimator != "exact" or not is_small(x.shape[1], y.shape[1]):
        return Rows.of([compare_values(a, b, options) for a, b in zip(x, y, strict=True)])
    numbers = compare_rows(x, y, options.scale, options.label_free)
    if options.nan_policy == "raise" and (numbers.state == NO_NUMBERS).any():
        raise ValueError("The input contains nan values")

    def outcome(row: int) -> Outcome:
        if numbers.state[row] != FINE:
            return compare_values(x[row], y[row], options)
        small = small_sides(present(x[row]), present(y[row]), options.label_free)
        width = float(numbers.width[row])
        pair = pair_of(*small, Witness(width, width), options)
        test = studentized(numbers, row, pair.origin, x.shape[1], y.shape[1])
        return outcome_of(pair, test, small.shape.spread, options)

    pvalues = numbers.pvalues(x.shape[1], y.shape[1], options.alternative)
    return Rows(numbers, pvalues, outcome)


def row_tails(
    x: Array,
    y: Array,
    scale: float | str | None = None,
    delta: float = 0.0,
) -> Tails:
    """Both one-sided p-values of (x − delta, y) for rows of x and y. Simulations use them.

    The p-values are 1 for a row that cannot be tested, for example if all its values are equal.
    """
    numbers = compare_rows(x, y, scale, delta=delta)
    tails = [numbers.pvalues(x.shape[1], y.shape[1], side) for side in ("greater", "less")]
    for row in np.flatnonzero(numbers.state != FINE):
        for tail, side in zip(tails, ("greater", "less"), strict=True):
            options = check_options(None, scale, "exact", side, None, "propagate")
            tail[row] = compare_values(x[row] - delta, y[row], options).pvalue
    upper, lower = (np.where(np.isnan(tail), 1.0, tail) for tail in tails)
    return Tails(upper, lower)


def _of_summaries(
    x: npt.ArrayLike | Summary,
    y: npt.ArrayLike | Summary,
    options: Options,
    groups: Groups | None,
) -> DkmdResult:
    """One comparison of two summaries."""
    if not (isinstance(x, Summary) and isinstance(y, Summary)):
        raise TypeError("x and y must both be summaries, or both arrays")
    if options.estimator == "riemann":
        raise ValueError("the Riemann estimator needs single values, which summaries do not hold")
    grouped = None if groups is None else _known_groups(groups)
    outcome: Outcome = NoOutcome(options.alternative)
    if not stopped_by_nan(x.nan + y.nan, options):
        outcome = compare_summaries(x, y, options, grouped)
    return DkmdResult(Rows.of([outcome]).shaped(()))


def _known_groups(groups: Groups) -> Clustering:
    """Groups given as two functions for their sums."""
    of_x, of_y = check_groups(groups)
    if not (callable(of_x) and callable(of_y)):
        raise ValueError("group labels need single values, which summaries do not hold")
    return clustering_of(lambda witness: (of_x(witness), of_y(witness)))


def _result(
    outcome: Outcome,
    x: npt.NDArray[Any],
    y: npt.NDArray[Any],
    options: Options,
    groups: Groups | None,
) -> DkmdResult:
    """The result of one comparison, which can be repeated on logarithms."""

    def on_logs() -> DkmdResult:
        if options.estimator == "riemann":
            raise ValueError(NO_SHIFT)
        require_positive_values(x, y)
        # logarithms of logarithms are never needed, and offering them would keep the values
        return run(np.log(x), np.log(y), options.on_logs(), groups).with_logs(None)

    return DkmdResult(Rows.of([outcome]).shaped(()), on_logs)
