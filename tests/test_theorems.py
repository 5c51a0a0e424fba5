"""The paper's theorems as properties: all for exact and population, some for riemann.

Theorem 3.1 antisymmetry, 3.2 symmetric immunity, 3.3 directional monotonicity, and the bound
|ψ| ≤ 2σ of section 5.2. AtLevel the Riemann estimator differs, an example shows it.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from dkmd import Witness, exact, population, riemann

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)
NEAR = st.lists(st.floats(-5, 5), min_size=1, max_size=30)
WIDTHS = st.floats(0.1, 10.0)
WITNESSES = st.builds(
    Witness,
    sigma=WIDTHS,
    tau=WIDTHS,
    center=st.floats(-3, 3),
    kernel=st.sampled_from(["laplace", "gaussian", "matern32", "matern52"]),
    weight=st.sampled_from(["tanh", "erf", "algebraic", "sign"]),
)


@given(VALUES, VALUES, WITNESSES)
def test_swapping_the_samples_flips_the_sign_to_the_bit(
    x: list[float], y: list[float], psi: Witness
) -> None:
    assert exact(y, x, psi) == -exact(x, y, psi)


@given(VALUES, VALUES, WIDTHS)
def test_riemann_is_antisymmetric_too(x: list[float], y: list[float], sigma: float) -> None:
    psi = Witness(sigma=sigma)
    size = max(map(abs, [*x, *y, 1.0]))
    assert riemann(y, x, psi) == pytest.approx(-riemann(x, y, psi), rel=1e-9, abs=1e-14 * size)


@given(VALUES, VALUES, WITNESSES)
def test_the_order_of_values_does_not_matter(x: list[float], y: list[float], psi: Witness) -> None:
    shuffled = exact(x[::-1], sorted(y), psi)
    assert shuffled == pytest.approx(exact(x, y, psi), abs=1e-14 * psi.bound)


@given(NEAR, NEAR, WITNESSES)
def test_reflecting_both_samples_flips_the_sign(
    x: list[float], y: list[float], psi: Witness
) -> None:
    mirrored = [[2 * psi.center - v for v in sample] for sample in (x, y)]
    expected = pytest.approx(-exact(x, y, psi), abs=1e-12 * psi.bound)
    assert exact(mirrored[0], mirrored[1], psi) == expected


@given(NEAR, NEAR, NEAR, NEAR, WITNESSES)
def test_every_symmetric_change_about_the_centre_is_ignored(
    x: list[float], y: list[float], add_x: list[float], add_y: list[float], psi: Witness
) -> None:
    """Two samples symmetric about the centre never differ, whatever their spread or shape.

    Symmetric additions only dilute the mean of ψ on their side.
    """

    def symmetric(offsets: list[float]) -> list[float]:
        return [psi.center + side * d for d in offsets for side in (-1, 1)]

    assert abs(exact(symmetric(x), symmetric(y), psi)) <= 1e-12 * psi.bound
    more_x, more_y = [*x, *symmetric(add_x)], [*y, *symmetric(add_y)]
    diluted = np.sum(psi(x)) / len(more_x) - np.sum(psi(y)) / len(more_y)
    assert exact(more_x, more_y, psi) == pytest.approx(diluted, abs=1e-12 * psi.bound)


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0, 3)), min_size=1, max_size=30),
    WITNESSES.filter(lambda psi: psi.weight != "sign"),
)
def test_a_dominating_sample_has_a_positive_statistic(
    pairs: list[tuple[float, float]], psi: Witness
) -> None:
    """x_i = y_i + d_i with d ≥ 0, not all 0: first-order stochastic dominance."""
    assume(max(d for _, d in pairs) > 1e-6)
    assume(min(psi.sigma, psi.tau) > 0.3)  # closer in, ψ is flat to double precision at ±5
    y = np.array([v for v, _ in pairs])
    x = y + np.array([d for _, d in pairs])
    assert exact(x, y, psi) > 0.0


@given(st.lists(st.floats(), min_size=1).filter(lambda v: not np.isnan(v).any()), NEAR, WITNESSES)
def test_no_sample_moves_it_beyond_the_bound(x: list[float], y: list[float], psi: Witness) -> None:
    assert abs(exact(x, y, psi)) <= 2.0 * psi.bound
    one_more = abs(exact([*x, np.inf], y, psi) - exact(x, y, psi))
    assert one_more <= 2.0 * psi.bound / (len(x) + 1) + 1e-14 * psi.bound


@given(NEAR, NEAR, st.floats(-1e3, 1e3), st.floats(-6, 6), WITNESSES)
def test_it_follows_shifts_and_scales_of_the_data(
    x: list[float], y: list[float], shift: float, exponent: float, psi: Witness
) -> None:
    scale = 10.0**exponent
    moved = Witness(
        scale * psi.sigma, scale * psi.tau, scale * psi.center + shift, psi.kernel, psi.weight
    )
    new_x, new_y = (scale * np.array(v) + shift for v in (x, y))
    # adding `shift` rounds the data to 1e-13 absolute, ψ' is at most 2 for the laplacian kernel
    tolerance = 1e-11 * psi.bound + 1e-11 * abs(shift) / scale
    assert exact(new_x, new_y, moved) / scale == pytest.approx(exact(x, y, psi), abs=tolerance)


@given(NEAR, NEAR, st.floats(-1e3, 1e3), st.floats(-6, 6))
def test_riemann_follows_shifts_and_scales_too(
    x: list[float], y: list[float], shift: float, exponent: float
) -> None:
    scale = 10.0**exponent
    psi, moved = Witness(2.0, 1.0, 0.5), Witness(2.0 * scale, scale, 0.5 * scale + shift)
    new_x, new_y = (scale * np.array(v) + shift for v in (x, y))
    tolerance = 1e-11 + 1e-10 * abs(shift) / scale
    assert riemann(new_x, new_y, moved) / scale == pytest.approx(riemann(x, y, psi), abs=tolerance)


def test_reflection_does_not_flip_riemann() -> None:
    """Steps reach to the left neighbour, so a mirror image has other steps."""
    x, y = [0.2, 1.5], [-0.7, 0.9, 3.0]
    mirrored = riemann([-v for v in x], [-v for v in y], Witness())
    assert abs(mirrored + riemann(x, y, Witness())) > 0.1


FAMILIES = st.sampled_from([stats.norm, stats.cauchy, stats.logistic, stats.laplace, stats.uniform])
LOCATIONS = st.floats(-2, 2).map(lambda v: round(v, 2))
SCALES = st.floats(0.2, 5).map(lambda v: round(v, 2))


@given(FAMILIES, FAMILIES, LOCATIONS, LOCATIONS, SCALES)
def test_population_is_antisymmetric(
    p: stats.rv_continuous, q: stats.rv_continuous, a: float, b: float, scale: float
) -> None:
    psi = Witness()
    forth, back = (population(*pair, psi) for pair in ((p(a), q(b, scale)), (q(b, scale), p(a))))
    assert forth == -back


@given(FAMILIES.filter(lambda f: f is not stats.uniform), LOCATIONS, SCALES, SCALES)
def test_population_ignores_symmetric_changes(
    family: stats.rv_continuous, center: float, one: float, other: float
) -> None:
    psi = Witness(center=center)
    assert abs(population(family(center, one), family(center, other), psi)) < 1e-12 * psi.bound


@given(FAMILIES, LOCATIONS, SCALES, st.floats(0.01, 3), WITNESSES)
def test_population_is_positive_under_dominance(
    family: stats.rv_continuous, location: float, scale: float, step: float, psi: Witness
) -> None:
    higher, lower = family(location + step, scale), family(location, scale)
    assert population(higher, lower, psi) > 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("p", "q"), [(stats.norm(0), stats.norm(1)), (stats.cauchy(0), stats.cauchy(0.5, 2))]
)
def test_exact_is_unbiased_for_the_population_value_and_riemann_is_not(
    p: stats.rv_continuous, q: stats.rv_continuous
) -> None:
    rng = np.random.default_rng(7)
    psi = Witness(sigma=2.0)
    value = population(p, q, psi)
    exacts, riemanns = np.empty(400), np.empty(400)
    for i in range(400):
        x, y = p.rvs(200, random_state=rng), q.rvs(200, random_state=rng)
        exacts[i], riemanns[i] = exact(x, y, psi), riemann(x, y, psi)
    assert abs(exacts.mean() - value) < 4 * exacts.std() / 20
    assert abs(np.median(riemanns) - value) > 4 * exacts.std() / 20


def test_riemann_is_not_immune_to_symmetric_change() -> None:
    """Steps are one-sided, so a symmetric pair of samples does not give 0."""
    x, y = [-1.0, 1.0], [-3.0, 0.0, 3.0]
    assert abs(riemann(x, y, Witness())) > 0.1
    assert abs(exact(x, y, Witness())) < 1e-15


def test_riemann_can_have_the_wrong_sign_under_dominance() -> None:
    x, y = [-0.5, 1.0, 3.0, 0.6], [-0.5, 1.0, 3.0, -100.0]
    assert exact(x, y, Witness()) > 0.0
    assert riemann(x, y, Witness()) < 0.0
