"""The paper's estimator: its definition, its scans, its blocks, and rejected input."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import naive
import numpy as np
import pytest
from conftest import vectors
from hypothesis import given
from hypothesis import strategies as st

from dkmd import Witness, exact, riemann, riemann_witness
from dkmd.statistic import riemann as module
from dkmd.statistic.riemann import _decays

VALUES = st.lists(st.floats(-50, 50).map(lambda v: round(v, 2)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "case", vectors("samples.json"), ids=lambda c: f"{c['name']}-{c['sigma']}-{c['tau']}"
)
def test_reference_samples_hold_to_1e12(case: dict[str, Any]) -> None:
    psi = Witness(case["sigma"], case["tau"], case["center"])
    expected = pytest.approx(float(case["riemann"]), rel=1e-12, abs=1e-13 * psi.bound)
    assert riemann(case["x"], case["y"], psi) == expected
    _, values, from_x = riemann_witness(case["x"], case["y"], psi)
    assert values[from_x].mean() - values[~from_x].mean() == expected


@given(VALUES, VALUES, st.sampled_from(["tanh", "erf", "algebraic", "sign", "linear"]))
def test_it_is_the_double_sum_that_defines_it(x: list[float], y: list[float], weight: str) -> None:
    """Ties, unequal sizes and single values included."""
    psi = Witness(sigma=1.5, tau=0.8, center=1.0, weight=weight)
    expected = naive.riemann(x, y, 1.5, lambda z: float(psi.weigh(z)))
    size = max(1.0, max(map(abs, [*x, *y])) ** (2 if weight == "linear" else 1))
    assert riemann(x, y, psi) == pytest.approx(expected, rel=1e-12, abs=1e-13 * size)


def test_a_sign_weight_is_one_right_up_to_the_centre() -> None:
    psi = Witness(weight="sign")
    x, y = [-1e-3, 1e-3], [-2e-3, 0.0, 3e-3]
    expected = naive.riemann(x, y, 1.0, lambda z: float(np.sign(z)))
    assert riemann(x, y, psi) == pytest.approx(expected, rel=1e-12)


def test_the_weight_is_the_named_one() -> None:
    psi = Witness(tau=2.0, center=1.0)
    assert psi.weigh(3.0) == math.tanh(1.0)
    assert Witness(tau=2.0, center=1.0, weight="linear").weigh(4.0) == 3.0


@given(VALUES, VALUES, st.integers(1, 9), st.sampled_from(["tanh", "erf"]))
def test_blocks_of_any_size_give_the_same(
    x: list[float], y: list[float], size: int, weight: str
) -> None:
    psi = Witness(sigma=2.0, weight=weight)
    expected = pytest.approx(riemann(x, y, psi), rel=1e-12, abs=1e-11)
    with patch.object(module, "BLOCK", size):
        assert riemann(x, y, psi) == expected


@pytest.mark.slow
def test_many_blocks_and_threads_agree_with_algorithm_1(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=300_000).round(4), rng.normal(0.2, 1, size=200_000).astype(np.float32)
    psi = Witness()
    z, values, from_x = riemann_witness(x, y, psi)
    assert np.array_equal(z, np.sort(np.concatenate([x, y.astype(float)])))
    expected = math.fsum(values[from_x]) / x.size - math.fsum(values[~from_x]) / y.size
    results = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("DKMD_NUM_THREADS", threads)
        results.add(riemann(x, y, psi))
    assert len(results) == 1
    assert results.pop() == pytest.approx(expected, rel=1e-12)


def test_gaps_of_thousands_of_widths_underflow_quietly() -> None:
    with np.errstate(all="raise", under="ignore"):
        value = riemann([0.0, 1e6], [-1e6, 5e5], Witness(sigma=1e-3, tau=1e-3))
    # only self terms remain: steps 1e6·(+1/2 at 0: weight 0), 5e5·(−1/2), 5e5·(+1/2)
    assert value == 0.0
    assert riemann([1e300], [-1e300], Witness()) == pytest.approx(2e300)


@pytest.mark.parametrize("kernel", ["gaussian", "matern32", np.exp])
def test_other_kernels_are_refused(kernel: Any) -> None:
    for function in (riemann, riemann_witness):
        with pytest.raises(ValueError, match="needs kernel='laplace'"):
            function([1.0], [2.0], Witness(kernel=kernel))


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([math.inf], r"finite range, got .*inf.*exact\(\) accepts such values"),
        ([-math.inf, 1.0], "finite range"),
        ([math.nan], "NaN"),
        ([-1.7e308, 1.7e308], "finite range"),
        ([], "x is empty"),
    ],
)
def test_what_has_no_finite_range_is_refused(x: list[float], message: str) -> None:
    for function in (riemann, riemann_witness):
        with pytest.raises(ValueError, match=message):
            function(x, [0.0], Witness())


@pytest.mark.parametrize("package", ["ibis.expr.types", "pyspark.sql", "_duckdb"])
def test_tables_of_an_engine_are_not_fetched_silently(package: str) -> None:
    table: Any = type("Table", (), {"__module__": package, "__array__": None})()
    for function in (riemann, riemann_witness):
        with pytest.raises(TypeError, match=r"^y is in an engine, .*: fetch the column$"):
            function([1.0], table, Witness())


def test_integers_booleans_and_float32_are_sorted_as_they_are() -> None:
    x, y = np.array([3, -2, 7], dtype=np.int8), np.array([True, False])
    psi = Witness()
    assert riemann(x, y, psi) == riemann(x.astype(float), y.astype(float), psi)


def test_bias_the_sum_stops_at_the_range_of_the_data() -> None:
    """Two uniform samples one width apart: exact sees the whole shift, riemann a fraction."""
    x, y = np.linspace(-0.5, 0.5, 101), np.linspace(0.5, 1.5, 101)
    psi = Witness(sigma=4.0, tau=4.0)
    assert abs(riemann(x, y, psi)) < 0.25 * abs(exact(x, y, psi))


def test_unbounded_influence_one_outlier_moves_it_as_far_as_it_likes() -> None:
    x, y = [-0.4, 0.1, 0.2], [0.6, 0.9, 1.1]
    psi = Witness()
    for outlier in (1e3, 1e6, 1e9):
        moved = riemann([*x, outlier], y, psi)
        assert moved == pytest.approx(outlier / 4, rel=1e-2)  # the outlier's step is its weight
        assert exact([*x, outlier], y, psi) < 0.0
    z, values, _ = riemann_witness([*x, 1e6], y, psi)
    assert values[z == 1e6][0] > 1e5 * psi.bound


def test_points_so_dense_that_a_series_serves_are_as_exact() -> None:
    """Within σ/64 of each other: at that distance every term of the series counts."""
    x, y = [0.0, 0.0151], [0.0004, 0.0153]
    psi = Witness(center=-0.5)
    expected = naive.riemann(x, y, 1.0, lambda z: float(psi.weigh(z)))
    assert riemann(x, y, psi) == pytest.approx(expected, rel=1e-13, abs=0.0)


@pytest.mark.parametrize("whole", [0.999 / 64.0, 1.001 / 64.0])
def test_decays_are_exponentials_of_the_gaps_by_either_way(whole: float) -> None:
    """On both sides of the seam: without its sixth term the series would be off by 2e-14."""
    sigma = 2.0
    z = 5.0 + sigma * whole * np.array([0.0, 0.01, 0.02, 1.0])
    decay = np.empty(z.size)
    _decays(z, 4.0, sigma, decay)
    expected = [math.exp((a - b) / sigma) for a, b in pairwise([4.0, *z.tolist()])]
    assert decay.tolist() == pytest.approx(expected, rel=5e-16, abs=0.0)
