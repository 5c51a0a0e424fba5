"""Grid and Summary: bins, sums, merging, quantiles and files."""

from __future__ import annotations

import gzip
import json
import math
import os
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from families import FAMILIES, Array
from hypothesis import given
from hypothesis import strategies as st

from dkmd import Grid, Summary, SummaryFileError, Witness, fit_witness
from dkmd.base.documents import _checksum
from dkmd.bins.grid import EDGES, SIDE
from dkmd.inference.test.sides import Side, side_sums
from dkmd.sources.column_data import StreamedColumn
from dkmd.sources.engines.connections import open_engine_table

VALUES = st.lists(st.floats(), max_size=40)


def _mixture(rng: np.random.Generator, n: int) -> Array:
    return np.where(rng.random(n) < 0.5, rng.normal(size=n), 1e6 + rng.normal(size=n))


def _offset(rng: np.random.Generator, n: int) -> Array:
    return 1e9 + rng.normal(size=n)


SAMPLES = {**FAMILIES, "far mixture": _mixture, "offset 1e9": _offset}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SAMPLES))
@pytest.mark.parametrize("moved", [0.0, -3.0, 2.0])
@pytest.mark.parametrize("multiple", [1.0, 4.0])
def test_sums_over_bins_are_the_direct_sums_to_1e9_of_the_bound(
    name: str, moved: float, multiple: float
) -> None:
    values = SAMPLES[name](np.random.default_rng(8), 200_000)
    grid = Grid.fit(values)
    scale = 8.0 * grid.unit * multiple
    psi = Witness(scale, scale, grid.center + moved * scale)
    sums = side_sums(Side.of(Summary.of(values, grid)), psi, psi.center - grid.center)
    direct = psi(values)
    assert abs(sums.mean - direct.mean()) <= 1e-9 * psi.bound
    assert abs(sums.variance - direct.var(ddof=1)) <= 1e-9 * psi.bound**2
    assert abs(sums.slope - psi.derivative(values).mean()) <= 1e-9 * psi.bound / scale


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normal", "cauchy", "lognormal"])
def test_a_witness_an_eighth_as_wide_is_still_exact_at_the_centre(name: str) -> None:
    values = SAMPLES[name](np.random.default_rng(9), 200_000)
    grid = Grid.fit(values)
    psi = Witness(grid.unit, grid.unit, grid.center)
    sums = side_sums(Side.of(Summary.of(values, grid)), psi, 0.0)
    assert abs(sums.mean - psi(values).mean()) <= 1e-9 * psi.bound


@given(VALUES, st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_every_value_is_counted_in_its_bin(values: list[float], center: float, unit: float) -> None:
    grid = Grid(center, unit)
    summary = Summary.of(values, grid)
    array = np.array(values, dtype=float)
    finite = array[np.isfinite(array)]
    bins, counts = np.unique(grid.bin_of(finite), return_counts=True)
    assert np.array_equal(summary.counts.sum(), finite.size)
    # a value within a rounding error of an edge may land on either side of it
    assert np.all(np.isin(summary.bins, [bins - 1, bins, bins + 1]))
    assert counts.sum() == summary.counts.sum()
    assert summary.nan == np.isnan(array).sum()
    assert summary.plus_inf == (array == math.inf).sum()
    assert summary.minus_inf == (array == -math.inf).sum()
    assert summary.size == array.size - summary.nan
    if finite.size:
        assert (summary.minimum, summary.maximum) == (finite.min(), finite.max())


def test_values_at_and_beside_every_edge_are_in_the_bin_that_the_grid_names() -> None:
    powers = np.ldexp(1.0, np.arange(40))
    cells = (powers[:, None] * (1.0 + np.arange(256) / 256)).reshape(-1) - 1.0
    corners = np.concatenate([EDGES, cells])
    u = np.concatenate([corners, np.nextafter(corners, 0.0), np.nextafter(corners, math.inf)])
    u = u[u < 2.0**40]
    u = np.concatenate([u, -u])  # −0.0 among them
    grid = Grid(0.0, 1.0)
    bins, counts = np.unique(grid.bin_of(u), return_counts=True)
    summary = Summary.of(u, grid)
    assert summary.bins.tolist() == bins.tolist()
    assert summary.counts.tolist() == counts.tolist()


@pytest.mark.parametrize("values", [[1e30], [-1e30], [2.0**41, 1e300], [-(2.0**41), 0.0]])
def test_samples_beyond_the_grid_are_in_its_overflow_bins(values: list[float]) -> None:
    summary = Summary.of(values, Grid(0.0, 1.0))
    assert summary.bins.tolist() == sorted(set(Grid(0.0, 1.0).bin_of(values).tolist()))
    assert summary.size == len(values)


def test_a_grid_is_the_median_and_an_eighth_of_the_spread() -> None:
    rng = np.random.default_rng(4)
    for size in (1, 2, 7, 1_000):
        values = rng.normal(3.0, 2.0, size)
        center = np.median(values)
        grid = Grid.fit([*values, math.nan, math.inf])
        assert grid.center == center
        if size > 1:
            assert grid.unit == 1.4826 * np.median(np.abs(values - center)) / 8


def test_atoms_are_in_order_and_weigh_what_the_sample_does() -> None:
    values = np.random.default_rng(5).lognormal(0.0, 2.0, 5_000)
    values[:3], values[3:8] = math.inf, -math.inf
    summary = Summary.of(values, Grid.fit(values))
    atoms, points = summary.atoms(), summary.all_points()
    assert np.all(np.diff(atoms.offset[1:-1]) >= 0.0)
    assert (atoms.offset[0], atoms.offset[-1]) == (-math.inf, math.inf)
    assert (atoms.weights[0], atoms.weights[-1]) == (5.0, 3.0)
    assert math.isclose(atoms.weights.sum(), summary.size, rel_tol=1e-12)
    finite = np.isfinite(points.values)
    offset = points.values[finite] - summary.grid.center
    # points and atoms spread a bin alike about its mean, with 8 and with 4 places
    assert math.isclose(
        atoms.offset[1:-1] @ atoms.weights[1:-1], offset @ points.weights[finite], rel_tol=1e-12
    )


def test_bins_are_floors_of_logarithms_on_either_side() -> None:
    grid = Grid(0.0, 1.0)
    u = np.array([0.0, 0.5, 3.0, 1e6, 2.0**39])
    expected = np.floor(128 * np.log1p(u)).astype(int)
    assert grid.bin_of(u).tolist() == expected.tolist()
    assert grid.bin_of(-u[1:]).tolist() == (-1 - expected[1:]).tolist()
    assert Summary.of([1e30, -1e300], grid).bins.tolist() == [-1 - SIDE, SIDE]


@given(VALUES, VALUES, VALUES)
def test_merging_is_exact_commutative_and_associative_for_counts(
    a: list[float], b: list[float], c: list[float]
) -> None:
    grid = Grid(0.3, 0.7)
    one, two, three = (Summary.of(v, grid) for v in (a, b, c))
    whole = Summary.of([*a, *b, *c], grid)
    for merged in ((one + two) + three, one + (two + three), three + two + one):
        assert np.array_equal(merged.bins, whole.bins)
        assert np.array_equal(merged.counts, whole.counts)
        np.testing.assert_allclose(merged.sums, whole.sums, rtol=1e-12, atol=1e-300)
        assert merged.size == whole.size
    assert one + two == two + one


@pytest.mark.slow
def test_batch_stream_and_shards_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(10).standard_cauchy(600_000)
    grid = Grid.fit(values)
    batch = Summary.of(values, grid)
    stream = Summary(grid)
    for part in np.array_split(values, 37):
        stream.update(part)
    assert np.array_equal(stream.counts, batch.counts)
    np.testing.assert_allclose(stream.sums, batch.sums, rtol=1e-11)
    monkeypatch.setenv("DKMD_NUM_THREADS", "1")
    assert Summary.of(values, grid) == batch  # to the bit, whatever the number of threads


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "?", ">f8"])
def test_other_types_are_filled_like_float64(dtype: str) -> None:
    values = (np.arange(200) % (2 if dtype == "?" else 256)).astype(dtype)
    grid = Grid(50.0, 3.0)
    assert Summary.of(values, grid) == Summary.of(values.astype(float), grid)
    assert Summary.of(values.reshape(-1, 2)[:, ::-1], grid).size == values.size
    with pytest.raises(TypeError, match="real numbers"):
        Summary.of(["a"], grid)


@pytest.mark.slow
def test_filling_needs_less_than_a_mebibyte_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=3_000_000)
    grid = Grid.fit(values)
    Summary.of(values[:100], grid)
    for threads in (1, 2):
        monkeypatch.setenv("DKMD_NUM_THREADS", str(threads))
        tracemalloc.start()
        Summary.of(values, grid)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * 2**20


@pytest.mark.parametrize("name", list(SAMPLES))
def test_mean_variance_quantiles_and_cdf_are_as_good_as_promised(name: str) -> None:
    values = SAMPLES[name](np.random.default_rng(11), 20_001)
    grid = Grid.fit(values)
    summary = Summary.of(values, grid)
    assert summary.mean == pytest.approx(values.mean(), rel=1e-11)
    assert summary.variance == pytest.approx(values.var(ddof=1), rel=1e-9)
    for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999, 1.0):
        exact = np.quantile(values, [q, max(0, q - 1e-4), min(1, q + 1e-4)])
        one_bin = (1 + np.abs(exact[0] - grid.center) / grid.unit) / 128 * grid.unit
        value = summary.quantile(q)
        # within one bin, or between neighbouring order statistics where the data have a gap
        near = abs(value - exact[0]) <= 1.5 * one_bin
        assert near or exact[1] <= value <= exact[2], (q, value, exact)
        if not near:
            continue
        low, high = (np.mean(values <= exact[0] + side * one_bin) for side in (-1.5, 1.5))
        assert low - 1e-9 <= summary.cdf(exact[0]) <= high + 1e-9


@given(st.lists(st.floats(-100, 100).map(lambda v: round(v, 1)), min_size=1, max_size=12))
def test_small_samples_have_exact_medians(values: list[float]) -> None:
    """Bins with one value, two values or ties return these values exactly."""
    summary = Summary.of(values, Grid(0.05, 0.01))
    assert summary.median() == pytest.approx(np.median(values), abs=1e-12)


@pytest.mark.parametrize("infinite", [-math.inf, math.inf])
def test_infinite_values_leave_no_variance(infinite: float) -> None:
    summary = Summary.of([1.0, 2.0, 4.0, infinite], Grid(0.0, 0.1))
    assert summary.mean == infinite
    assert math.isnan(summary.variance)
    assert math.isnan(Summary.of([1.0], Grid(0.0, 0.1)).variance)


def test_a_summary_on_a_coarser_grid_keeps_its_moments() -> None:
    values = np.random.default_rng(5).normal(3.0, 2.0, 5_000)
    fine = Summary.of(np.append(values, math.nan), Grid(3.0, 0.25))
    coarse = fine.on(Grid(2.0, 4.0))
    assert coarse.bins.size < fine.bins.size
    assert coarse.mean == pytest.approx(values.mean(), rel=1e-12)
    assert coarse.variance == pytest.approx(values.var(ddof=1), rel=1e-9)
    assert (coarse.size, coarse.nan, coarse.minimum, coarse.maximum) == (
        5_000, 1, values.min(), values.max()
    )  # fmt: skip


def test_an_overflow_bin_is_a_point() -> None:
    """The bin has no width over which to spread values."""
    summary = Summary.of([1e30, 3e30, -1e30, -1e30], Grid(0.0, 1.0))
    assert summary.bins.tolist() == [-1 - SIDE, SIDE]
    assert summary.moments().variance.tolist() == [0.0, 0.0]
    assert summary.points().values.size == 2


def test_points_stay_within_the_range_of_the_data() -> None:
    """Spread evenly with their variance, the points of a bin go beyond its two values."""
    summary = Summary.of([10.0, 10.1] * 50, Grid(0.0, 100.0))
    assert summary.bins.size == 1
    inner = summary.points().values
    assert inner.min() < 10.0
    assert inner.max() > 10.1
    assert (summary.quantile(0.0), summary.quantile(1.0)) == (10.0, 10.1)


def test_rounded_grids_stand_on_powers_of_2_and_even_multiples() -> None:
    """So similar samples get the same grid."""
    assert Grid(10.9, 1.7).rounded() == Grid(10.0, 1.0)
    assert Grid(11.1, 1.1).rounded() == Grid(12.0, 1.0)
    assert Grid(-3.1, 0.3).rounded() == Grid(-3.0, 0.25)
    assert Grid(-3.3, 0.3).rounded() == Grid(-3.5, 0.25)


@pytest.mark.parametrize("center", [5.0, -5.0])
def test_values_that_are_all_alike_have_a_unit_that_doubles_tell_apart(center: float) -> None:
    alike = np.full(4, center)
    assert Grid.fit(alike) == Grid(center, 5.0 * 2.0**-40)
    assert Grid.fit_weighted(alike, np.array([1.0, 3.0, 2.0, 1.0])) == Grid.fit(alike)


def test_a_weight_counts_a_value_as_often_as_it_says() -> None:
    values, weights = (
        np.array([7.0, 3.0, 40.0, math.inf, 12.0]),
        np.array([2.0, 5.0, 1.0, 9.0, 3.0]),
    )
    repeated = np.repeat(values, weights.astype(np.int64))
    found, expected = Grid.fit_weighted(values, weights), Grid.fit(repeated)
    assert (found.center, found.unit) == pytest.approx((expected.center, expected.unit))
    assert found.center == 7.0  # of eleven finite values, five are 3 and four larger than 7


def test_bins_are_as_wide_on_either_side_of_the_centre() -> None:
    grid = Grid(3.0, 2.0)
    assert grid.width_at(10.0) == grid.width_at(-4.0) == 9.0 / 128.0


def test_every_sample_has_its_share_in_a_grid() -> None:
    """A sample does not count more because it has many more values."""
    rng = np.random.default_rng(6)
    many, few = rng.normal(0.0, 1.0, 2_000_000), rng.normal(100.0, 1.0, 10_000)
    grid = Grid.fit(many, few)
    assert grid.center == pytest.approx(50.0, abs=5.0)
    assert grid.unit * 8.0 / 1.4826 == pytest.approx(50.0, abs=5.0)


def test_the_cdf_counts_a_value_from_itself_on() -> None:
    """At v the cdf is the share of values ≤ v. Just below v it is the share of values < v."""
    summary = Summary.of([1.0, 2.0, 2.0, 5.0], Grid(0.0, 0.1))
    values = np.array([1.0, 2.0, 5.0])
    assert summary.cdf(values).tolist() == [0.25, 0.75, 1.0]
    assert summary.cdf(values - 1e-9).tolist() == [0.0, 0.25, 0.75]
    assert summary.cdf(1.5) == 0.25
    infinite = Summary.of([-math.inf, 1.0, math.inf, math.inf], Grid(0.0, 0.1))
    assert infinite.cdf([-math.inf, 1.0, 9.0, math.inf]).tolist() == [0.25, 0.5, 0.5, 1.0]


def test_infinite_values_take_part_in_quantiles() -> None:
    summary = Summary.of([-math.inf, 1.0, 2.0, math.inf, math.inf], Grid(1.0, 0.1))
    assert summary.quantile([0.0, 0.9, 1.0]).tolist() == [-math.inf, math.inf, math.inf]
    assert summary.cdf([1.5, math.inf]).tolist() == [0.4, 1.0]
    assert summary.median() == 2.0
    assert math.isnan(summary.variance)
    assert Summary.of([1.0, math.inf], Grid(1.0, 0.1)).mean == math.inf


def test_an_empty_summary_has_no_numbers() -> None:
    summary = Summary(Grid(0.0, 1.0))
    assert summary.size == 0
    assert math.isnan(summary.mean)
    assert math.isnan(summary.variance)
    assert math.isnan(summary.quantile(0.5))
    with pytest.raises(ValueError, match="between 0 and 1"):
        summary.quantile(1.5)


def test_grids_of_odd_samples_are_decided_on_purpose() -> None:
    assert Grid.fit([]) == Grid(0.0, 1.0)
    assert Grid.fit([math.nan, math.inf]) == Grid(0.0, 1.0)
    assert Grid.fit([5.0, 5.0]).center == 5.0
    mostly_zero = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    assert Grid.fit(mostly_zero).unit == pytest.approx(1.4826 * 5.5 / 8)  # of values that differ
    big = np.random.default_rng(0).normal(7, 2, 500_000)
    assert Grid.fit(big) == Grid.fit(big)
    assert Grid.fit(big).center == pytest.approx(7, abs=0.05)
    for center, unit in ((math.nan, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, math.inf)):
        with pytest.raises(ValueError, match="must be a"):
            Grid(center, unit)


def test_summaries_of_different_grids_do_not_mix() -> None:
    with pytest.raises(ValueError, match="different grids"):
        Summary.of([1.0], Grid(0, 1)).merge(Summary.of([1.0], Grid(0, 2)))


def test_a_saved_summary_reads_back_to_the_bit_and_is_small(tmp_path: Path) -> None:
    values = np.r_[np.random.default_rng(12).standard_cauchy(100_000), math.inf, math.nan]
    summary = Summary.of(values, Grid.fit(values))
    path = tmp_path / "a.dkmd"
    summary.save(path)
    assert Summary.load(path) == summary
    assert path.stat().st_size < 60_000
    first = path.read_bytes()
    summary.save(path)
    assert path.read_bytes() == first
    empty = Summary(Grid(0.0, 1.0))
    empty.save(path)
    assert Summary.load(path) == empty


def test_a_summary_remembers_its_column(tmp_path: Path) -> None:
    named, plain = (Summary.of([1.0, 2.0], Grid(0.0, 1.0)) for _ in range(2))
    named.column, named.column_unit = "größe_ms", "ms"
    path = tmp_path / "a.dkmd"
    named.save(path)
    loaded = Summary.load(path)
    assert (loaded.column, loaded.column_unit) == ("größe_ms", "ms")
    assert loaded == plain
    assert [(s.column, s.column_unit) for s in (loaded + plain, plain + loaded)] == [
        ("größe_ms", "ms")
    ] * 2
    named.column = "other"
    assert (loaded + named).column == (loaded + named).column_unit == ""
    path.write_bytes(_document())  # a file without names
    assert Summary.load(path).column == ""


def test_a_failed_save_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.dkmd"
    summary = Summary.of([1.0], Grid(0.0, 1.0))
    summary.save(path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        Summary.of([2.0], Grid(0.0, 1.0)).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def _document(**changes: Any) -> bytes:
    document: dict[str, Any] = {
        "format": "dkmd-summary", "version": 2, "center": 0.0, "unit": 1.0, "nan": 0,
        "minus_inf": 0, "plus_inf": 0, "minimum": 1.0, "maximum": 1.0, "bins": [88],
        "counts": [1], "sums": [1.0], "squares": [1.0],
    }  # fmt: skip
    document.update(changes)
    document.setdefault("checksum", _checksum(document))
    return gzip.compress(json.dumps(document).encode(), mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a dkmd summary|truncated"),
        (b"name,value\n1,2\n", "not a dkmd summary"),
        (gzip.compress(b"hello", mtime=0), "not a dkmd summary"),
        (gzip.compress(b"[1, 2]", mtime=0), "not a dkmd summary"),
        (gzip.compress(b"[" * 100_000, mtime=0), "not a dkmd summary"),
        (_document()[:-12], "truncated"),
        (_document(format="other"), "not a dkmd summary"),
        (_document(version=3), "has version 3 .* install a newer dkmd"),
        (_document(version=1), "has version 1 .* no longer reads. Make it again with dkmd summ"),
        (_document(checksum="0"), "its checksum does not match"),
        (_document(counts=[2**62], nan=2**62), "more values than there can be"),
        (_document(counts=[0]), "count that is not above 0"),
        (_document(counts=["1"]), "whole numbers"),
        (_document(counts=[10**30]), "damaged"),
        (_document(bins=[5, 5]), "differ in length"),
        (_document(bins=[10**6]), "out of order or range"),
        (
            _document(bins=[88, 88], counts=[1, 1], sums=[1.0, 1.0], squares=[1.0, 1.0]),
            "out of order or range",
        ),
        (_document(nan=-1), "negative"),
        (_document(unit=0.0), "unit must be"),
        (_document(sums=["1"]), "is not a finite number"),
        (_document(sums=[True]), "is not a finite number"),
        (_document(minimum=None), "is not a finite number"),
        (_document(minimum=3.0), "above its maximum"),
        (_document(column=7), "is not a name"),
        (_document(column_unit=None), "is not a name"),
        (gzip.compress(b" " * 17 * 2**20, mtime=0), "too large"),
    ],
)
def test_a_file_that_is_no_summary_is_refused_with_a_reason(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.dkmd"
    path.write_bytes(content)
    with pytest.raises(SummaryFileError, match=message):
        Summary.load(path)


@given(st.integers(0, 200), st.binary(min_size=1, max_size=3))
def test_a_damaged_file_is_an_error_or_reads_right(at: int, garbage: bytes) -> None:
    import tempfile

    content = bytearray(_document())
    content[at % len(content) : at % len(content) + len(garbage)] = garbage
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.dkmd"
        path.write_bytes(bytes(content))
        try:
            loaded = Summary.load(path)
        except SummaryFileError:
            return
    assert loaded.size == 1


def test_a_grid_and_a_witness_fit_samples_of_any_shape() -> None:
    flat = np.random.default_rng(8).normal(100.0, 5.0, 60_000)
    for shape in ((2, 30_000), (30_000, 2), (3, 4, 5_000)):
        folded = flat.reshape(shape)
        assert Grid.fit(folded, folded) == Grid.fit(flat, flat)
        assert Summary.of(folded, Grid.fit(folded)) == Summary.of(flat, Grid.fit(flat))
        assert fit_witness(folded) == fit_witness(flat)
    assert Grid.fit(5.0) == Grid.fit([5.0])


def test_values_that_lie_too_far_apart_have_no_grid() -> None:
    far = np.where(np.arange(300) % 2, 1.7e308, -1.7e308)
    with pytest.raises(ValueError, match="too far apart to be compared as doubles"):
        Grid.fit(far)
    with pytest.raises(ValueError, match="too far apart to be compared as doubles"):
        Grid.fit_weighted(far, np.ones(300))


def _saved(summary: Summary, path: Path) -> dict[str, Any]:
    """The content of a file, for tests to change."""
    summary.save(path)
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return document


def _written(document: dict[str, Any], path: Path) -> Path:
    path.write_bytes(gzip.compress(json.dumps(document).encode(), mtime=0))
    return path


GRIDS = st.builds(Grid, st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))


@given(VALUES, VALUES, GRIDS, st.integers(1, 5))
def test_no_summary_of_values_is_called_damaged(
    a: list[float], b: list[float], grid: Grid, times: int
) -> None:
    """Summaries of any values, merged in any number."""
    summary = Summary.of(np.repeat(np.asarray(a), times), grid) + Summary.of(np.asarray(b), grid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.dkmd"
        summary.save(path)
        assert Summary.load(path) == summary


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40), GRIDS, GRIDS)
def test_no_summary_that_moved_to_another_grid_is_called_damaged(
    values: list[float], grid: Grid, other: Grid
) -> None:
    summary = Summary.of(np.asarray(values), grid).on(other)
    with tempfile.TemporaryDirectory() as folder:
        summary.save(Path(folder) / "a.dkmd")
        assert Summary.load(Path(folder) / "a.dkmd") == summary


@pytest.mark.slow
def test_a_summary_by_an_engine_is_not_called_damaged(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = np.r_[rng.lognormal(0.0, 3.0, 5_000), np.zeros(700), 1e18, -1e18, math.inf, math.nan]
    grid = Grid.fit(values).rounded()
    connection = duckdb.connect()
    frame = pd.DataFrame({"v": values})
    connection.register("frame", frame)
    table = open_engine_table(connection.sql("SELECT v FROM frame"), "t", None)
    data = table.read("v")
    assert isinstance(data, StreamedColumn)
    summary = data.summary(grid)
    summary.save(tmp_path / "a.dkmd")
    assert Summary.load(tmp_path / "a.dkmd") == summary


TAMPERED: dict[str, list[Any]] = {
    "unit": [1e300, 1e-300, 2.0],
    "center": [1e300, 50.0],
    "minimum": [-1e9, 99.9],
    "maximum": [1e300, 100.1],
    "nan": [2**63 - 1, 2**70],
    "sums": [lambda sums: [-s for s in sums], lambda sums: sums[::-1], lambda sums: [1e300] * 9],
    "squares": [lambda squares: [-s for s in squares], lambda squares: squares[::-1]],
    "counts": [lambda counts: [2**62] * len(counts), lambda counts: [c + 5 for c in counts]],
    "bins": [lambda bins: [b + 1 for b in bins], lambda bins: [-1 - b for b in reversed(bins)]],
}  # fmt: skip
CHANGES = [(key, change) for key, changes in TAMPERED.items() for change in changes]


@pytest.mark.parametrize(("key", "change"), CHANGES)
def test_a_tampered_summary_is_refused(key: str, change: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(9).normal(100.0, 5.0, 500)
    document = _saved(Summary.of(values, Grid(100.0, 0.5)), tmp_path / "a.dkmd")
    document[key] = change(document[key]) if callable(change) else change
    with pytest.raises(SummaryFileError, match=r"a\.dkmd is damaged: "):
        Summary.load(_written(document, tmp_path / "a.dkmd"))


@pytest.mark.parametrize("change", [("column", "other"), ("squares", None), ("checksum", "0" * 64)])
def test_a_checksum_finds_what_would_fit(change: tuple[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.dkmd"
    document = _saved(Summary.of(np.arange(50.0), Grid(25.0, 3.0)), path)
    reordered = dict(reversed(document.items()))
    assert Summary.load(_written(reordered, path)) == Summary.of(np.arange(50.0), Grid(25.0, 3.0))
    key, value = change
    document[key] = [1.0000001 * s for s in document["squares"]] if key == "squares" else value
    with pytest.raises(SummaryFileError, match="its checksum does not match"):
        Summary.load(_written(document, path))


def test_units_whose_square_no_double_holds_are_told() -> None:
    summary = Summary.of([1e200, 2e200, 4e200], Grid(2e200, 1e199))
    with pytest.raises(ValueError, match=r"units of 1e\+199, whose square a double cannot hold"):
        summary.moments()
    with pytest.raises(ValueError, match="divide the values by a constant"):
        _ = summary.variance
