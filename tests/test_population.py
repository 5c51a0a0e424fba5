"""DKMD of distributions: reference values, closed forms, and rejected input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import vectors
from scipy import stats

from dkmd import Witness, population


def _normal(spec: list[Any]) -> Any:
    assert spec[0] == "normal"
    return stats.norm(spec[1], spec[2])


@pytest.mark.parametrize("case", vectors("population.json"), ids=str)
def test_reference_values_hold(case: dict[str, Any]) -> None:
    psi = Witness(case["sigma"], case["tau"])
    value = population(_normal(case["p"]), _normal(case["q"]), psi)
    assert value == pytest.approx(float(case["dkmd"]), rel=1e-9, abs=1e-12)


def test_a_callable_cdf_is_as_good_as_a_distribution() -> None:
    p, q = stats.cauchy(0, 1), stats.cauchy(1, 1)
    assert population(p.cdf, q.cdf, Witness()) == population(p, q, Witness())


def test_a_narrow_distribution_far_from_the_centre_is_found() -> None:
    far, near = stats.norm(1e6, 1e-3), stats.norm(-1e6, 1e-3)
    psi = Witness()
    assert population(far, near, psi) == pytest.approx(2 * psi.bound, rel=1e-12)
    psi = Witness(1e-3, 1e-3, center=1e6)
    shifted = stats.norm(1e6 + 1e-3, 1e-3)
    expected = 1e-3 * population(stats.norm(1, 1), stats.norm(0, 1), Witness())
    assert population(shifted, far, psi) == pytest.approx(expected, rel=1e-6)


def test_discrete_distributions_are_summed_over_their_support() -> None:
    p, q = stats.poisson(3), stats.poisson(4, loc=0.5)
    psi = Witness(2.0, 2.0)
    k = np.arange(200.0)
    expected = psi(k) @ stats.poisson(3).pmf(k) - psi(k + 0.5) @ stats.poisson(4).pmf(k)
    assert population(p, q, psi) == pytest.approx(expected, rel=1e-11)
    mixed = psi(k) @ stats.poisson(3).pmf(k) - population(stats.norm(2), stats.norm(0), psi)
    assert population(p, stats.norm(2), psi) == pytest.approx(mixed, rel=1e-10)


class _Counted:
    """A distribution that counts the points at which its cdf is evaluated."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.points = inner, 0
        if isinstance(inner.dist, stats.rv_discrete):
            self.pmf, self.ppf = inner.pmf, inner.ppf

    def cdf(self, x: Any, /) -> Any:
        self.points += np.size(x)
        return self.inner.cdf(x)


@pytest.mark.parametrize("swapped", [False, True])
def test_jumps_of_either_distribution_are_cut_at_and_not_searched_for(swapped: bool) -> None:
    """Bisection to each of some sixty jumps would need several times as many points."""
    psi = Witness(20.0, 20.0, center=20.0)
    discrete, smooth = _Counted(stats.poisson(20)), _Counted(stats.norm(20))
    p, q = (stats.norm(20), discrete) if swapped else (discrete, stats.norm(20))
    population(p, q, psi)
    population(smooth, stats.norm(21), psi)
    assert discrete.points < 2 * smooth.points


def test_the_linear_weight_takes_means() -> None:
    psi = Witness(sigma=3.0, weight="linear")
    assert population(stats.expon(scale=4), stats.norm(1), psi) == pytest.approx(18.0)
    with pytest.raises(ValueError, match="bounded weight"):
        population(stats.norm(0).cdf, stats.norm(1).cdf, psi)


def test_the_jumps_of_a_callable_cdf_are_found() -> None:
    value = population(lambda t: (t >= 0.3).astype(float), stats.norm(0).cdf, Witness())
    assert value == pytest.approx(Witness()(0.3), rel=1e-11)


def test_what_does_not_settle_is_not_given_silently() -> None:
    def noisy(t: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(stats.norm.cdf(t) + 1e-3 * np.sin(1e9 * t))

    with pytest.warns(RuntimeWarning, match="is the cdf monotone"):
        population(noisy, stats.norm(0).cdf, Witness())


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(TypeError, match="q must be a frozen distribution or a callable cdf, got 3"):
        population(stats.norm(0), 3, Witness())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="likely values"):
        population(stats.poisson(1e15), stats.norm(0), Witness())
