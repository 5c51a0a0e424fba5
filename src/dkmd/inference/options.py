"""How to test: the options of ``dkmd_2samp`` and their checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dkmd.statistic.witness import Witness

ALTERNATIVES = ("two-sided", "less", "greater")


NAN_POLICIES = ("propagate", "omit", "raise")


ESTIMATORS = ("exact", "riemann")


WEIGH = ("units", "values")


@dataclass(frozen=True)
class Options:
    """How to compare. The options are checked once."""

    witness: Witness | None
    scale: float | str | None
    estimator: str
    alternative: str
    method: Any
    nan_policy: str
    weigh: str | None = None
    """How units on both sides are weighed; None unless equal labels are one unit."""

    @property
    def label_free(self) -> bool:
        """Whether the width must not depend on labels, so that permutations are exact."""
        return type(self.method).__name__ == "PermutationMethod"

    def on_logs(self) -> Options:
        """The same options for logarithms, without a scale in data units, which has no meaning."""
        scale = self.scale if isinstance(self.scale, str) else None
        return replace(self, witness=None, scale=scale)


def check_options(
    witness: Witness | None,
    scale: float | str | None,
    estimator: str,
    alternative: str,
    method: Any,
    nan_policy: str,
    weigh: str | None = None,
) -> Options:
    """Check everything that needs no data."""
    for name, value, known in (
        ("estimator", estimator, ESTIMATORS),
        ("alternative", alternative, ALTERNATIVES),
        ("nan_policy", nan_policy, NAN_POLICIES),
        ("weigh", weigh, WEIGH),
    ):
        if value is not None and value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
    if witness is not None and not isinstance(witness, Witness):
        raise TypeError(f"witness must be a Witness, got {witness!r}")
    if witness is not None and scale is not None:
        raise ValueError("give a witness or a scale, not both: a witness has its own scale")
    if method is not None:
        from scipy.stats import BootstrapMethod, PermutationMethod

        if not isinstance(method, PermutationMethod | BootstrapMethod):
            raise TypeError(
                "method must be a PermutationMethod or BootstrapMethod of scipy.stats, "
                f"got {method!r}"
            )
        if estimator == "riemann" and isinstance(method, BootstrapMethod):
            raise ValueError("the Riemann estimator has no intervals to bootstrap")
    return Options(witness, scale, estimator, alternative, method, nan_policy, weigh)
