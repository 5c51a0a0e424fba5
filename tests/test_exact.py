"""The exact estimator: values, types, memory, threads, and rejected input."""

from __future__ import annotations

import math
import os
import tracemalloc
import warnings
from typing import Any

import naive
import numpy as np
import pytest
from conftest import vectors

import dkmd
from dkmd import Witness, exact
from dkmd.base.arrays import PIECE
from dkmd.base.compiled import WORTH_THREADS

SAMPLES = vectors("samples.json")


@pytest.mark.parametrize("case", SAMPLES, ids=lambda c: f"{c['name']}-{c['sigma']}-{c['tau']}")
def test_reference_samples_hold_to_1e12(case: dict[str, Any]) -> None:
    psi = Witness(case["sigma"], case["tau"], case["center"])
    # an offset of 1e9 leaves a double 1.2e-7 of resolution, but these values are exact doubles
    # and so are their differences from the centre: nothing is lost
    expected = pytest.approx(float(case["exact"]), rel=1e-12, abs=1e-13 * psi.bound)
    assert exact(case["x"], case["y"], psi) == expected


def test_it_is_the_difference_of_mean_witness_values() -> None:
    x, y = [0.3, -1.2, 2.5], [0.1, 4.0]
    expected = sum(naive.psi(v, 2.0, 0.5, "matern52", "erf") for v in x) / 3
    expected -= sum(naive.psi(v, 2.0, 0.5, "matern52", "erf") for v in y) / 2
    psi = Witness(2.0, 0.5, kernel="matern52", weight="erf")
    assert exact(x, y, psi) == pytest.approx(float(expected), rel=1e-12)


def test_infinite_values_are_data() -> None:
    psi = Witness(sigma=3.0)
    assert exact([math.inf], [0.0], psi) == 6.0
    assert exact([math.inf, -math.inf], [0.0], psi) == 0.0
    assert exact([1e300], [-1e300], psi) == 12.0


def test_infinite_values_need_a_bounded_weight() -> None:
    with pytest.raises(ValueError, match="infinite values need a bounded weight"):
        exact([math.inf], [0.0], Witness(weight="linear"))


def test_a_linear_weight_gives_twice_sigma_times_the_mean_difference() -> None:
    x, y = [1.0, 2.0, 6.0], [0.0, 1.0]
    assert exact(x, y, Witness(sigma=4.0, tau=9.0, weight="linear")) == pytest.approx(8.0 * 2.5)


@pytest.mark.parametrize(
    "dtype", ["f4", "f2", "i1", "i4", "i8", "u2", "u8", "?", ">f8", ">i4", "longdouble"]
)
def test_every_real_type_gives_the_same_as_float64(dtype: str) -> None:
    values = np.arange(100) % 2 if dtype == "?" else np.arange(100)
    x = values.astype(dtype)
    psi = Witness(10.0, 10.0, 40.0)
    assert exact(x, x[:7], psi) == exact(values.astype(float), values[:7].astype(float), psi)


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[1::3]])
def test_strided_views_are_accepted(view: slice) -> None:
    x = np.random.default_rng(1).normal(size=1000)
    psi = Witness()
    assert exact(x[view], x, psi) == exact(x[view].copy(), x, psi)


def test_read_only_arrays_are_accepted() -> None:
    x = np.arange(5.0)
    x.setflags(write=False)
    assert exact(x, x, Witness()) == 0.0


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([], ValueError, "x is empty"),
        ([1.0, math.nan], ValueError, "x has 1 value that is NaN"),
        ([math.nan, math.nan], ValueError, "x has 2 values that are NaN"),
        ([[1.0]], ValueError, r"x must be one-dimensional, got shape \(1, 1\)"),
        (3.0, ValueError, r"x must be one-dimensional, got shape \(\)"),
        (["a"], TypeError, "x must hold real numbers"),
        ([1j], TypeError, "x must hold real numbers, got an array of complex"),
        (np.ma.array([1.0], mask=[True]), TypeError, "masked"),
        (np.array(["2020-01-01"], "M8[D]"), TypeError, "real numbers"),
    ],
)
def test_bad_samples_are_refused_by_name(x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        exact(x, [1.0], Witness())


def test_the_second_sample_is_checked_too() -> None:
    with pytest.raises(ValueError, match="y has 1 value that is NaN"):
        exact([1.0], [math.nan], Witness())


@pytest.mark.slow
def test_threads_do_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=WORTH_THREADS), rng.standard_cauchy(size=70_001)
    results = set()
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("DKMD_NUM_THREADS", threads)
        results.add(exact(x, y, Witness()))
    assert len(results) == 1


def test_a_senseless_number_of_threads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DKMD_NUM_THREADS", "many")
    x = np.zeros(WORTH_THREADS)
    with pytest.raises(ValueError, match="DKMD_NUM_THREADS must be a whole number"):
        exact(x, x, Witness())


@pytest.mark.slow
def test_the_sum_of_1e8_values_is_accurate_to_1e13() -> None:
    """Ten values repeated 1e7 times: the true mean is that of the ten."""
    ten = np.array([0.1, 0.2, 0.35, 0.7, 1.1, 1.9, 2.5, 3.3, 7.0, 40.0])
    psi = Witness()
    tiled = np.tile(ten.astype(np.float32), 10_000_000)
    assert tiled.size == 10**8
    expected = math.fsum(psi(ten.astype(np.float32))) / 10
    assert exact(tiled, [0.0], psi) == pytest.approx(expected, rel=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_no_temporary_has_the_size_of_the_data(dtype: str) -> None:
    x = np.arange(4_000_000).astype(dtype)
    psi = Witness(1e6, 1e6, 2e6)
    exact(x[:10], x[:10], psi)
    tracemalloc.start()
    exact(x[::-1], x, psi)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20  # the inputs are 16 to 32 MB


def test_every_public_name_is_there() -> None:
    for name in dkmd.__all__:
        assert getattr(dkmd, name).__doc__


@pytest.mark.slow
def test_threads_survive_a_fork() -> None:
    """A forked child has none of its parent's threads, so it must not wait for them."""
    x = np.arange(float(WORTH_THREADS))
    expected = exact(x, x[:-1], Witness(1e5, 1e5))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: threads and fork
        child = os.fork()
    if child == 0:
        os._exit(0 if exact(x, x[:-1], Witness(1e5, 1e5)) == expected else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_samples_of_several_pieces_and_unequal_sizes_are_kept_apart() -> None:
    """x fills just over one piece, y just over two. Sums of x must not go to y."""
    rng = np.random.default_rng(12)
    x, y = rng.normal(1.0, 1.0, PIECE + 300), rng.normal(0.0, 1.0, 2 * PIECE + 7)
    psi = Witness()
    assert exact(x, y, psi) == pytest.approx(psi(x).mean() - psi(y).mean(), abs=1e-13)
    assert exact(x, y[:5], psi) == pytest.approx(psi(x).mean() - psi(y[:5]).mean(), abs=1e-13)


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_an_unbounded_weight_takes_no_infinite_value(infinite: float) -> None:
    with pytest.raises(ValueError, match="need a bounded weight"):
        exact([1.0, infinite], [2.0], Witness(weight="linear"))
