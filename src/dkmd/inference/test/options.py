"""How to test: the options of ``dkmd_2samp``, their checks, and slices of arrays along an axis."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dkmd.statistic.witness import Witness, positive_width

ALTERNATIVES = ("two-sided", "less", "greater")


NAN_POLICIES = ("propagate", "omit", "raise")


ESTIMATORS = ("exact", "riemann")

ESTIMANDS = ("shift", "mean")


WEIGH = ("units", "values")


class DesignArguments(NamedTuple):
    """What belongs together, what was known before, and how much each value counts, as given.

    Each is a pair, of x and of y, or None.
    """

    groups: Any = None
    covariate: Any = None
    strata: Any = None
    randomized: bool = False
    weights: Any = None
    counts: Any = None
    denominator: Any = None

    @property
    def plain(self) -> bool:
        """Whether values are independent, count the same and nothing else is known of them."""
        given = (self.groups, self.covariate, self.strata, self.weights, self.counts)
        return all(each is None for each in (*given, self.denominator))


@dataclass(frozen=True)
class Options:
    """How to compare. The options are checked once."""

    witness: Witness | None
    scale: float | None
    estimator: str
    alternative: str
    method: Any
    nan_policy: str
    weigh: str | None = None
    """How units on both sides are weighed; None unless equal labels are one unit."""
    estimand: str = "shift"
    """What is compared: the shift, or the mean."""

    @property
    def label_free(self) -> bool:
        """Whether the width must not depend on labels, so that permutations are exact."""
        return type(self.method).__name__ == "PermutationMethod"

    def of_means(self) -> Options:
        """The same options for the means."""
        return replace(self, witness=None, scale=None, method=None, estimand="mean")

    def without_method(self) -> Options:
        """The same options without resampling."""
        return replace(self, method=None)

    def on_logs(self) -> Options:
        """The same options for logarithms, without a scale in data units, which has no meaning."""
        return replace(self, witness=None, scale=None)


def check_options(
    witness: Witness | None,
    scale: float | None,
    estimator: str,
    alternative: str,
    method: Any,
    nan_policy: str,
    weigh: str | None = None,
    estimand: str = "shift",
) -> Options:
    """Check everything that needs no data."""
    for name, value, known in (
        ("estimator", estimator, ESTIMATORS),
        ("alternative", alternative, ALTERNATIVES),
        ("nan_policy", nan_policy, NAN_POLICIES),
        ("weigh", weigh, WEIGH),
        ("estimand", estimand, ESTIMANDS),
    ):
        if value is not None and value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
    if witness is not None and not isinstance(witness, Witness):
        raise TypeError(f"witness must be a Witness, got {witness!r}")
    if witness is not None and scale is not None:
        raise ValueError("give a witness or a scale, not both: a witness has its own scale")
    if isinstance(scale, str):
        raise ValueError(f"scale must be a number in data units, got {scale!r}")
    if scale is not None:
        scale = positive_width("scale", scale)
    if method is not None:
        from scipy.stats import BootstrapMethod, PermutationMethod

        if not isinstance(method, PermutationMethod | BootstrapMethod):
            raise TypeError(
                "method must be a PermutationMethod or BootstrapMethod of scipy.stats, "
                f"got {method!r}"
            )
        if estimator == "riemann" and isinstance(method, BootstrapMethod):
            raise ValueError("the Riemann estimator has no intervals to bootstrap")
    plain = witness is None and scale is None and estimator == "exact" and method is None
    if estimand == "mean" and not plain:
        raise ValueError(
            "the estimand 'mean' has no witness, scale, other estimator or resampling method"
        )
    return Options(witness, scale, estimator, alternative, method, nan_policy, weigh, estimand)


def slices(
    x: npt.NDArray[Any], y: npt.NDArray[Any], axis: int | None, keepdims: bool
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[int, ...]]:
    """Rows to compare, (slices, values) each, and the shape of the result, by SciPy's rules."""
    if x.ndim == y.ndim == 1 and axis in (0, -1):  # the common case, without the general code
        return x[None], y[None], (1,) if keepdims else ()
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
