"""``dkmd_rel``: the test of pairs, with the signature of ``scipy.stats.ttest_rel``."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from dkmd.base.arrays import Array, real_numbers
from dkmd.bins.grid import PER_MAD, Grid
from dkmd.bins.summary import Summary
from dkmd.inference.test.one_sample import OneSample, flip_pvalue, leaning
from dkmd.inference.test.one_test import (
    ALL_EQUAL,
    MOST_VALUES,
    require_positive_values,
    stopped_by_nan,
)
from dkmd.inference.test.options import DesignArguments, Options, check_options, slices
from dkmd.inference.test.result import MIRRORED, DkmdResult, ExactOutcome, NoOutcome, Outcome
from dkmd.inference.test.rows import Rows
from dkmd.inference.test.sides import Side, side_of_values
from dkmd.statistic.witness import Witness

WIDTH_FROM = MOST_VALUES // 2
"""Up to this many differences choose the width of ψ themselves; of more, so many quantiles do."""


def dkmd_rel(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    scale: float | None = None,
    alternative: str = "two-sided",
    method: Any = None,
    estimand: str = "shift",
    axis: int | None = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> DkmdResult:
    """Did the same units change? Pairs of measurements: which way, by how much, and is that real?

    Parameters
    ----------
    x, y : array_like
        Pairs: x[i] and y[i] are two measurements of one unit. ±inf is data. Pairs that are infinite
        on both sides with the same sign have no difference and are left out.
    scale : float, optional
        σ = τ in data units. By default 0.6 times the robust scale of the differences.
    alternative : {"two-sided", "less", "greater"}
        "greater": x tends to be larger than y.
    method : PermutationMethod of scipy.stats, optional
        A p-value by sign flips of the differences. Few flips are all enumerated.
    estimand : {"shift", "mean"}
        "mean" compares the means: the paired t-test.
    axis, nan_policy, keepdims
        As in ``scipy.stats.ttest_rel``. A pair with a NaN on either side counts as NaN.

    Returns
    -------
    DkmdResult
        As for ``dkmd_2samp``. ``statistic`` is the mean of ψ(x − y), and ``shift`` the M-centre of
        the differences.

    Notes
    -----
    What the two values of a unit share cancels, so units may differ far more than they change.
    docs/inference.md has the formulas.

    Examples
    --------
    Twelve hosts that differ a lot, each 1 ms slower:

    >>> import numpy as np
    >>> rng = np.random.default_rng(4)
    >>> before = rng.lognormal(3, 1, 12)
    >>> after = before + 1.0 + 0.3 * rng.standard_t(3, 12)
    >>> result = dkmd_rel(after, before)
    >>> result.direction, round(result.shift, 1), bool(result.pvalue < 1e-3)
    ('x is larger', 0.9, True)
    """
    options = check_options(
        None, scale, "exact", alternative, method, nan_policy, "units", estimand
    )
    require_flips(method)
    result = run_rel(x, y, options, axis, keepdims)
    for note in result.notes:
        warnings.warn(note, RuntimeWarning, stacklevel=2)
    return result


def require_flips(method: Any) -> None:
    """Reject methods other than sign flips."""
    if method is not None and type(method).__name__ != "PermutationMethod":
        raise ValueError("pairs can be resampled by a PermutationMethod (sign flips) only")


def run_rel(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    options: Options,
    axis: int | None = 0,
    keepdims: bool = False,
) -> DkmdResult:
    """``dkmd_rel`` without warnings. They are in ``notes`` of the result."""
    first, second = real_numbers(x, "x"), real_numbers(y, "y")
    rows_x, rows_y, shape = slices(first, second, axis, keepdims)
    if rows_x.shape[1] != rows_y.shape[1]:
        raise ValueError(
            f"pairs need as many values in x as in y, got {rows_x.shape[1]} and {rows_y.shape[1]}"
        )
    compare = compare_pairs if options.estimand == "shift" else _compare_means
    rows = Rows.of([compare(a, b, options) for a, b in zip(rows_x, rows_y, strict=True)])
    if shape:
        return DkmdResult(rows.shaped(shape))

    def on_logs() -> DkmdResult:
        require_positive_values(first, second)
        return run_rel(np.log(first), np.log(second), options.on_logs(), axis).with_logs(None)

    return DkmdResult(rows.shaped(()), on_logs)


def _compare_means(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """The mean of the differences: each pair is a unit on both sides."""
    from dkmd.inference.design.outcome import compare_designed

    both = ~(np.isnan(x) | np.isnan(y))
    if stopped_by_nan(int((~both).sum()), options):
        return NoOutcome(options.alternative)
    pairs = np.arange(int(both.sum()))
    return compare_designed(x[both], y[both], DesignArguments((pairs, pairs)), options)


def compare_pairs(x: npt.NDArray[Any], y: npt.NDArray[Any], options: Options) -> Outcome:
    """One test of pairs."""
    old, new = np.asarray(y, dtype=np.float64), np.asarray(x, dtype=np.float64)
    both = np.isinf(new) & (new == old)
    with np.errstate(invalid="ignore"):
        differences = new - old
    notes: tuple[str, ...] = ()
    if both.any():
        differences, old = differences[~both], old[~both]
        count = int(both.sum())
        word = "pair is" if count == 1 else "pairs are"
        notes = (f"{count:,} {word} infinite on both sides and left out",)
    missing = np.isnan(differences)
    if stopped_by_nan(int(missing.sum()), options):
        return NoOutcome(options.alternative)
    if missing.any():
        differences, old = differences[~missing], old[~missing]
    if differences.size < 2:
        note = "at least two pairs are needed, so there is no answer"
        return NoOutcome(options.alternative, notes=(*notes, note))
    return compare_differences(differences, options, old, notes)


def compare_differences(
    differences: Array, options: Options, reference: Array, notes: tuple[str, ...] = ()
) -> Outcome:
    """The test that differences without NaN have the M-centre 0. ``reference`` is y."""
    sign = leaning(differences)
    side, origin, few = _side(-differences if sign < 0.0 else differences)
    width, robust = paired_width(few, options)
    if not width > 0.0:
        if origin == 0.0:
            return NoOutcome(
                options.alternative,
                statistic=0.0, standard_error=0.0, shift=0.0, notes=(*notes, ALL_EQUAL),
            )  # fmt: skip
        width = abs(origin)  # all differences are alike: only their size is left
    sample = OneSample(side, origin, Witness(width, width))
    test = sample.test()
    alternative = options.alternative if sign >= 0.0 else MIRRORED[options.alternative]
    if options.method is None:
        probability = test.pvalue(alternative)
    else:
        probability = flip_pvalue(sample, alternative, options.method)
    if differences.size < FEWEST_CLEAR:
        notes = (*notes, FEW_PAIRS.format(differences.size))
    return ExactOutcome(
        tester=sample,
        sign=sign,
        test=test,
        pvalue=probability,
        shift=sign * sample.shift() if sign else 0.0,
        alternative=options.alternative,
        robust_scale=robust,
        reference=reference,
        notes=notes,
    )


def _side(differences: Array) -> tuple[Side, float, Array]:
    """Differences as a side, its origin, and the values (or quantiles) that choose the width."""
    if differences.size <= WIDTH_FROM:
        ordered = np.sort(differences)
        origin = float(ordered[ordered.size // 2])
        origin = origin if math.isfinite(origin) else 0.0
        return side_of_values(ordered, origin), origin, ordered
    summary = Summary.of(differences, Grid.fit(differences))
    levels = (np.arange(WIDTH_FROM) + 0.5) / WIDTH_FROM
    return Side.of(summary), summary.grid.center, np.asarray(summary.quantile(levels))


def paired_width(differences: Array, options: Options) -> tuple[float, float]:
    """The width of ψ and the robust scale s, from sorted differences: 0.6·s (DESIGN 2.3).

    s is 1.4826·median |d − median d|, and not below IQR/1.349. If half of the differences or more
    are the median, only the others count. With a ``PermutationMethod`` the median is replaced by 0,
    because the width must not depend on the signs.
    """
    middle = 0.0 if options.label_free else float(np.median(differences))
    with np.errstate(invalid="ignore"):
        away = np.abs(differences - (middle if math.isfinite(middle) else 0.0))
    if 2 * np.count_nonzero(away == 0.0) >= away.size:
        away = away[away > 0.0]
    if not away.size:
        return 0.0, math.nan
    low, high = np.quantile(differences, [0.25, 0.75], method="inverted_cdf")
    robust = PER_MAD * float(np.median(away))
    if math.isfinite(high - low):
        robust = max(robust, float(high - low) / IQR_OF_NORMAL)
    if not math.isfinite(robust):  # half of the differences are infinite
        finite = away[np.isfinite(away)]
        robust = PER_MAD * float(np.median(finite)) if finite.size else 1.0
    return (WIDTH * robust if options.scale is None else options.scale), robust


WIDTH = 0.6
"""The width of ψ in robust scales of the differences (DESIGN 2.3)."""

IQR_OF_NORMAL = 1.349
"""The distance of the quartiles of a normal distribution, in standard deviations."""

FEWEST_CLEAR = 6
"""With fewer pairs, even equal signs have p = 2/2^n > 5%."""

FEW_PAIRS = "{} pairs: with fewer than 6, no change can be clear at the 5% level"
