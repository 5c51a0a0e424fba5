"""The witness of all directions: its table, its bound, its slope."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from matrix_samples import psi_of

from dkmd.matrices.radial import PSI, radial, slopes, width
from dkmd.statistic.witness import Witness

pytestmark = pytest.mark.slow  # plain Python would need minutes


@pytest.mark.parametrize("d", [2, 3, 10, 60])
@pytest.mark.parametrize("length", [1e-6, 0.3, 1.0, 4.0])
def test_the_table_is_the_average_over_all_directions(d: int, length: float) -> None:
    z = np.linspace(-1, 2, d)
    z *= length * math.sqrt(d) / np.linalg.norm(z)
    np.testing.assert_allclose(psi_of(z), naive.radial_psi(z), rtol=1e-10)


def test_a_million_random_slices_agree_with_the_table() -> None:
    rng = np.random.default_rng(2)
    z = np.array([0.5, -2.0, 1.0, 0.1])
    u = rng.normal(size=(1_000_000, 4))
    u /= np.linalg.norm(u, axis=1)[:, None]
    terms = 4 * u * Witness(width(4), width(4))(u @ z)[:, None]
    error = terms.std(axis=0) / 1000
    assert np.all(np.abs(terms.mean(axis=0) - psi_of(z)) < 4 * error)


def test_one_column_has_the_witness_of_one_column() -> None:
    for value in (-30.0, -1.0, 0.0, 1e-200, 0.2, 5.0, 1e6):
        assert psi_of(np.array([value]))[0] == pytest.approx(PSI(value), rel=1e-12)


def test_the_witness_is_bounded_and_the_slope_along_a_row_is_the_derivative() -> None:
    for d in (1, 2, 7, 768):
        table, root, limit = radial(d)
        rho = np.array([1e-3, 0.1, 1.0, 3.0, 50.0, 1e5, 1e150])
        found = np.array([slopes(float(r * r * d), table, root) for r in rho])
        height = found[:, 0] * rho
        assert np.all(height <= limit * (1 + 1e-12))
        assert height[-1] == pytest.approx(limit, rel=1e-12)
        assert np.all(found[:, 1] <= found[:, 0] * (1 + 1e-9))  # h is concave
        step = 1e-5 * rho[:4]
        ends = [
            np.array([slopes(float(r * r * d), table, root)[0] * r for r in rho[:4] + s * step])
            for s in (1, -1)
        ]
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), found[:4, 1], rtol=1e-5)


def test_many_columns_are_close_to_the_normal_limit() -> None:
    """With t standard normal, h(ρ) = ρ·E ψ'(ρt)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    for widths in (0.3, 1.0, 2.0):
        limit = float(weights @ PSI.derivative(widths * nodes)) / math.sqrt(2 * math.pi)
        rho = widths * width(1_000_000)
        across, _ = slopes(rho * rho * 1e6, *radial(1_000_000)[:2])
        assert across == pytest.approx(limit, abs=1e-5)
