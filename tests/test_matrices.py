"""Several columns at once: the witness, the estimates, the null distributions, odd data."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import naive
import numpy as np
import pytest
from scipy import stats

import dkmd
from dkmd.base.errors import DkmdError, NanError, TooLittleError
from dkmd.matrices import center, fit, flipping, relabelling
from dkmd.matrices.blocks import equal_blocks, random_blocks
from dkmd.matrices.center import Slope
from dkmd.matrices.flipping import Influences, flips_of
from dkmd.matrices.length import length_interval, noisiest_direction
from dkmd.matrices.multivariate import dkmd_multivariate, run_multivariate
from dkmd.matrices.radial import PSI, radial, slopes, width
from dkmd.matrices.relabelling import Relabelling, Staying
from dkmd.matrices.rows import Frame, Rows, sums_of
from dkmd.matrices.tails import START, LargestTail, SumTail, beyond
from dkmd.matrices.whitening import whitening
from dkmd.statistic.witness import Witness

pytestmark = pytest.mark.slow  # plain Python would need minutes

Array = naive.Array


def _samples(seed: int, n: int = 40, m: int = 27, d: int = 3) -> tuple[Array, Array]:
    """Two samples of other sizes and shapes: correlated normal rows, and t rows that moved."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / math.sqrt(d) + np.eye(d)
    x = rng.normal(size=(n, d)) @ mix + 0.3
    return x, rng.standard_t(3, size=(m, d)) * np.linspace(1, 2, d)


def _psi(z: Array) -> Array:
    """Ψ of one standardised row by the table."""
    across, _ = slopes(float(z @ z), *radial(z.size)[:2])
    return across * z


@pytest.mark.parametrize("d", [2, 3, 10, 60])
@pytest.mark.parametrize("length", [1e-6, 0.3, 1.0, 4.0])
def test_the_table_is_the_average_over_all_directions(d: int, length: float) -> None:
    z = np.linspace(-1, 2, d)
    z *= length * math.sqrt(d) / np.linalg.norm(z)
    np.testing.assert_allclose(_psi(z), naive.radial_psi(z), rtol=1e-10)


def test_a_million_random_slices_agree_with_the_table() -> None:
    rng = np.random.default_rng(2)
    z = np.array([0.5, -2.0, 1.0, 0.1])
    u = rng.normal(size=(1_000_000, 4))
    u /= np.linalg.norm(u, axis=1)[:, None]
    terms = 4 * u * Witness(width(4), width(4))(u @ z)[:, None]
    error = terms.std(axis=0) / 1000
    assert np.all(np.abs(terms.mean(axis=0) - _psi(z)) < 4 * error)


def test_one_column_has_the_witness_of_one_column() -> None:
    for value in (-30.0, -1.0, 0.0, 1e-200, 0.2, 5.0, 1e6):
        assert _psi(np.array([value]))[0] == pytest.approx(PSI(value), rel=1e-12)


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


def test_statistic_and_shift_follow_their_definitions() -> None:
    x, y = _samples(1, n=21, m=14)
    result = run_multivariate(x, y, n_resamples=9)
    assert result.fit is not None
    pooled = np.vstack([x, y])
    median = np.median(pooled, axis=0)
    scale = 1.4826022185056018 * np.median(np.abs(pooled - median), axis=0)
    z = (pooled - median) / scale
    c = naive.vector_center(z, np.zeros(3))
    psi = np.array([naive.radial_psi(row - c) for row in z])
    expected = scale * (psi[:21].mean(axis=0) - psi[21:].mean(axis=0))
    np.testing.assert_allclose(result.statistic, expected, rtol=1e-7, atol=1e-9)
    own = np.concatenate([side - np.median(side, axis=0) for side in (x, y)])
    within = 1.4826022185056018 * np.median(np.abs(own), axis=0)
    np.testing.assert_allclose(result.scale, within, rtol=1e-12)
    centers = [naive.vector_center(side / within, np.zeros(3)) for side in (x, y)]
    np.testing.assert_allclose(
        result.shift, within * (centers[0] - centers[1]), rtol=1e-7, atol=1e-8
    )


@pytest.mark.parametrize("rows", [30, 4])
def test_the_slope_of_the_mean_is_its_derivative(rows: int) -> None:
    """With fewer rows than columns it is solved by a matrix of rows by rows."""
    z, _ = _samples(4, n=rows, d=5)
    slope = Slope.of(z, radial(5))
    assert slope.wide == (rows < 5)
    vectors = np.arange(10.0).reshape(2, 5)
    expected = np.linalg.solve(naive.vector_slope(z), vectors.T).T
    np.testing.assert_allclose(slope.solve(vectors), expected, rtol=1e-6)


def test_one_column_agrees_with_the_test_of_one_column() -> None:
    x, y = _samples(3, n=60, m=45, d=1)
    found = run_multivariate(x, y, n_resamples=99)
    assert found.fit is not None
    pooled = np.vstack([x, y])
    scale = 1.4826022185056018 * np.median(np.abs(pooled - np.median(pooled)))
    one = dkmd.dkmd_2samp(x[:, 0], y[:, 0], scale=float(scale))
    assert found.statistic[0] == pytest.approx(one.statistic, rel=1e-8)
    within = dkmd.dkmd_2samp(x[:, 0], y[:, 0], scale=float(found.scale[0]))
    assert found.shift[0] == pytest.approx(within.shift, rel=1e-8)
    low, high = within.shift_interval()
    error = (high - low) / 2 / 1.98  # the interval of the other test inverts it, so 5% apart
    assert found.standard_error[0] == pytest.approx(error, rel=0.05)


def test_swapping_the_samples_flips_the_signs() -> None:
    x, y = _samples(5)
    first, second = run_multivariate(x, y), run_multivariate(y, x)
    np.testing.assert_allclose(first.statistic, -second.statistic, rtol=1e-9)
    np.testing.assert_allclose(first.shift, -second.shift, rtol=1e-7)
    assert first.length == pytest.approx(second.length, rel=1e-7)


def test_other_units_and_offsets_change_no_p_value() -> None:
    x, y = _samples(6, d=4)
    units, offset = np.array([1e-6, 1.0, 250.0, 1e9]), np.array([1e3, -5.0, 0.0, 1e12])
    first = run_multivariate(x, y)
    second = run_multivariate(x * units + offset, y * units + offset)
    np.testing.assert_allclose(second.shift, first.shift * units, rtol=1e-5)
    assert second.pvalue == pytest.approx(first.pvalue, rel=1e-3)


@pytest.mark.parametrize("resting", [0.0, 1.0])
def test_all_relabellings_of_few_rows_give_the_exact_p_value(resting: float) -> None:
    """By hand: every choice of 3 of 8 blocks, each with its own slopes and covariances.

    With ``resting``, 9 rows of x and 5 rows of y stay where they are.
    """
    rng = np.random.default_rng(7)
    sums, sizes = rng.normal(size=(8, 2)), np.array([1.0, 2, 1, 1, 3, 1, 2, 1])
    slopes = sizes * rng.uniform(0.3, 1.0, size=8)
    unit = sums / np.sqrt((sums**2).sum(axis=0))
    still = (
        Staying(resting * np.array([1.0, -2.0]), resting * 9.0, resting * 5.0),
        Staying(resting * np.array([0.5, 1.5]), resting * 5.0, resting * 4.0),
    )
    pooled = (slopes.sum() + still[0].slope + still[1].slope) / (
        sizes.sum() + still[0].size + still[1].size
    )

    def statistics(chosen: tuple[int, ...]) -> tuple[float, float]:
        difference, variance, terms = np.zeros(2), np.zeros(2), np.zeros((8, 2))
        others = sorted({*range(8)} - {*chosen})
        for of_side, sign, rest in ((list(chosen), 1.0, still[0]), (others, -1.0, still[1])):
            moving, count = sizes[of_side].sum(), len(of_side)
            rows = moving + rest.size
            step = pooled / ((slopes[of_side].sum() + rest.slope) / rows)
            mean = (sums[of_side].sum(axis=0) + rest.sums) / rows
            # the blocks that move stand for the rows that stay, too
            per = step / math.sqrt(moving * rows)
            about = per * (sums[of_side] - sizes[of_side][:, None] * mean)
            variance += (about**2).sum(axis=0) * count / (count - 1)
            difference += sign * step * mean
            terms[of_side] = per * unit[of_side]
        t = difference**2 / variance
        pairs = sum((terms[i] @ terms[j]) ** 2 for i in range(8) for j in range(8) if i != j)
        freedom = min(max((terms**2).sum() ** 2 / pairs, 1.0), 2.0)
        return -stats.chi2.logsf(t.sum() * freedom / 2, freedom), float(t.max())

    found = Relabelling(sums, sizes, slopes, 3, still).statistics(999, rng, False)
    every = np.array([statistics(chosen) for chosen in combinations(range(8), 3)])
    assert found.complete
    np.testing.assert_allclose(np.sort(found.total), np.sort(every[:, 0]), rtol=1e-9)
    np.testing.assert_allclose(np.sort(found.largest), np.sort(every[:, 1]), rtol=1e-9)
    assert found.pvalues()[0] == pytest.approx(np.mean(every[:, 0] >= every[0, 0] * (1 - 1e-10)))


def test_many_blocks_in_single_precision_have_the_same_statistics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    sums, sizes = rng.normal(size=(90, 7)), np.ones(90)
    still = Staying(rng.normal(size=7), 40.0, 30.0), Staying(rng.normal(size=7), 5.0, 4.0)
    given = Relabelling(sums, sizes, rng.uniform(0.3, 1.0, size=90), 30, still)
    single = given.statistics(99, np.random.default_rng(1), False)
    monkeypatch.setattr(relabelling, "SMALL", 90)
    double = given.statistics(99, np.random.default_rng(1), False)
    np.testing.assert_allclose(single.total, double.total, rtol=1e-4)
    np.testing.assert_allclose(single.largest, double.largest, rtol=1e-4)
    assert single.columns is not None
    assert single.columns.max() == pytest.approx(single.observed_largest)


def test_relabelling_is_about_right_if_only_spreads_and_correlations_differ() -> None:
    """The variance of D alone rejected 12%; 300 trials of 5% have more than 9% once in 900 runs."""
    rng = np.random.default_rng(21)
    rejected = 0
    for trial in range(300):
        x = rng.normal(size=(60, 10))
        y = 3.0 * (rng.normal(size=(120, 10)) + rng.normal(size=(120, 1))) / math.sqrt(2.0)
        found = run_multivariate(x, y, n_resamples=99, rng=trial)
        assert found.fit is not None
        rejected += found.fit.relabelled.pvalues()[2] <= 0.05
    assert rejected <= 27


@pytest.mark.parametrize("counts", [(12, 17), (7, 30), (12,)])
def test_statistics_of_flipped_signs_follow_their_definition(
    counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand: each side's flipped influences, their variance about their mean, both lengths."""
    rng = np.random.default_rng(30)
    sides = tuple(Influences(rng.normal(size=(n, 3)) / n) for n in counts)
    shift, drawn = np.array([0.3, -0.1, 0.2]), []
    keep = flipping._balanced_signs

    def noted(*given: Any) -> Any:
        drawn.append(keep(*given))
        return drawn[-1]

    monkeypatch.setattr(flipping, "_balanced_signs", noted)
    found = flips_of(sides, shift, 20, np.random.default_rng(4), False)
    moved, variance, long = np.zeros((20, 3)), np.zeros((20, 3)), np.zeros((20, 3))
    for side, signs, sign in zip(sides, drawn, (1.0, -1.0), strict=False):
        n, flipped = side.count, signs.astype(float) @ side.sums
        moved += sign * flipped
        variance += (n * np.sum(side.sums**2, axis=0) - flipped**2) / (n - 1)
        long += sign * flipped * math.sqrt(n / (n - 1))
    t = moved**2 / variance
    np.testing.assert_allclose(found.statistics.total, t.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.statistics.largest, t.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(found.squared, np.sum(long**2, axis=1), rtol=1e-5)
    along = long @ noisiest_direction(shift, np.concatenate([side.sums for side in sides]))
    np.testing.assert_allclose(found.along, along, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("blocks", [10, 11])
def test_balanced_signs_keep_the_variance_of_sums_that_add_up_to_0(blocks: int) -> None:
    """The mean square over every choice of half of the signs, times the factor of the signs."""
    rng = np.random.default_rng(31)
    values = rng.exponential(size=blocks)
    values -= values.mean()
    signs = flipping._balanced_signs(2000, blocks, rng)
    assert np.abs(np.sign(signs).sum(axis=1)).max() <= 1.0
    assert np.sign(signs).mean() == pytest.approx(0.0, abs=0.05)
    chosen = [list(each) for each in combinations(range(blocks), blocks // 2)]
    every = np.array([-2.0 * values[each].sum() for each in chosen])  # as Σ of values is 0
    factor = float(np.abs(signs[0, 0]))
    assert factor**2 * np.mean(every**2) == pytest.approx(np.sum(values**2), rel=1e-6)


def test_sums_over_many_columns_vary_under_flips_as_they_do_in_the_data() -> None:
    """χ² of 1,000 columns has a standard deviation of 45. Independent signs gave 62 at 30:30."""
    rng = np.random.default_rng(32)
    x, y = rng.normal(size=(30, 1000)), rng.normal(size=(30, 1000))
    found = run_multivariate(x, y).fit
    assert found is not None
    assert 42.0 < found.flips.statistics.total.std() < 54.0


@pytest.mark.parametrize("factor", [1e-9, 1.0, 30.0])
def test_a_far_tail_begins_where_resamples_can_be_counted(factor: float) -> None:
    """Of 999 exponential values, and with a tail that is wrong by any factor."""
    null = np.sort(np.random.default_rng(33).exponential(size=999))
    start, far = null[-START], null[-1] + 12.0
    at = beyond(null, np.array([null[500], null[-1], far]), lambda t: factor * np.exp(-t))
    assert at[0] == pytest.approx(500 / 1000)
    assert at[1] == pytest.approx(2 / 1000)
    assert at[2] == pytest.approx(START / 1000 * math.exp(start - far))


def test_a_tail_that_says_nothing_leaves_the_count() -> None:
    null = np.random.default_rng(33).exponential(size=999)
    assert beyond(null, np.array([50.0]), lambda t: 0.0 * t)[0] == pytest.approx(1 / 1000)
    few = beyond(null[:5], np.array([50.0]), lambda t: np.exp(-t))
    assert few[0] == pytest.approx(1 / 6)


def test_the_tail_of_a_sum_is_that_of_its_law() -> None:
    """Three columns without correlation, and one column that is counted twice.

    Moments leave out the squares of single blocks, which is 1 in 400 here and grows in the tail.
    """
    rng = np.random.default_rng(38)
    base = np.linalg.qr(rng.normal(size=(400, 3)))[0]
    base -= base.mean(axis=0)
    at = np.array([3.0, 12.0, 30.0])
    many = SumTail.of((Influences(base),), False)
    np.testing.assert_allclose(many(at), stats.f.sf(at / 3, 3, 399), rtol=0.05)
    logarithms = -stats.chi2.logsf(at, 3)
    np.testing.assert_allclose(many.of_logarithm(logarithms), many(at), rtol=0.05)
    twice = SumTail.of((Influences(base[:, [0, 0]]),), False)
    np.testing.assert_allclose(twice(2.0 * at), stats.f.sf(at, 1, 399), rtol=0.1)
    sides = Influences(3.0 * base[:200]), Influences(base[200:])
    freedom = LargestTail.of(sides).freedom
    parts = [np.sum(side.sums**2, axis=0) for side in sides]
    expected = (parts[0] + parts[1]) ** 2 / (parts[0] ** 2 / 199 + parts[1] ** 2 / 199)
    np.testing.assert_allclose(freedom, expected)
    single = stats.f.sf(9.0, 1, freedom)
    np.testing.assert_allclose(
        LargestTail.of(sides).of_columns(np.full(3, 9.0)), 1 - (1 - single) ** 3
    )


@pytest.mark.parametrize(("n", "m", "guard"), [(30, 200, 0.85), (45, 300, 0.925), (100, 120, 1.0)])
def test_p_is_that_of_relabelling_but_guarded_by_flips(n: int, m: int, guard: float) -> None:
    """The guard depends on the rows of the smaller side. Counts of flips are divided by it."""
    decided = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        found = run_multivariate(rng.normal(size=(n, 3)), 2.0 * rng.normal(size=(m, 3)), rng=seed)
        assert found.fit is not None
        by_label = found.fit.relabelled.pvalues()[2]
        flipped = found.fit.flips.statistics.pvalues()[2]
        by_flips = min(0.001 + (flipped - 0.001) / guard, 1.0)
        assert found.pvalue == pytest.approx(max(by_label, by_flips))
        decided.add(by_label > by_flips)
    assert decided == {True, False}


def test_beyond_all_resamples_the_smaller_of_two_p_values_counts_twice() -> None:
    rng = np.random.default_rng(39)
    x, y = rng.normal(size=(80, 6)), rng.normal(size=(90, 6))
    x[:, 2] += 1.2
    found = run_multivariate(x, y).pvalues
    assert found.largest < 1e-4
    assert found.both == pytest.approx(2.0 * min(found.total, found.largest), abs=0.0)


@pytest.mark.parametrize("seed", [67, 255])
def test_rare_events_have_no_tiny_p_values_by_chance(seed: int) -> None:
    """Data sets of equal sides of which relabelling rejects 3 in 1,000, and flips nearly all.

    The F approximation alone says 1e-12 here.
    """
    rng = np.random.default_rng(seed)
    x, y = (np.asarray(rng.random((n, 60)) < 0.02, dtype=float) for n in (60, 300))
    found = run_multivariate(x, y)
    assert found.fit is not None
    assert found.fit.flips.statistics.pvalues()[2] == pytest.approx(1 / 1000)
    assert found.pvalue == pytest.approx(found.fit.relabelled.pvalues()[2])
    assert 0.001 < found.pvalue < 0.01


def test_blocks_have_equal_sizes_and_the_rest_stays() -> None:
    rng = np.random.default_rng(0)
    blocks = equal_blocks(1003, 10, 60, rng)
    assert blocks.sizes[:-1].tolist() == [10.0] * 60
    assert blocks.sizes[-1] == 403.0
    assert np.bincount(blocks.of_row).tolist() == blocks.sizes.tolist()
    spread = random_blocks(1003, 100, rng)
    assert set(spread.sizes.tolist()) == {10.0, 11.0}
    assert random_blocks(7, 100, rng).of_row.tolist() == list(range(7))


def test_passes_over_many_rows_agree_with_all_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of 300 rows, small pieces and threads: the centre is still that of all rows."""
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(3000, 4)), rng.normal(0.1, 2.0, size=(2000, 4))
    whole = run_multivariate(x, y)
    monkeypatch.setattr(center, "SAMPLED", 300)
    monkeypatch.setattr(center, "FEWEST_SAMPLED", 10)
    monkeypatch.setattr(fit, "MOST_BLOCKS", 64)
    frame = Frame(np.zeros(4), np.ones(4))
    rows = Rows(y, np.arange(2000), np.arange(4))
    few = center.center_of_sample(y[:300], frame, radial(4))
    slope = Slope.of(few.standardized(y[:300]), radial(4))
    found = center.refined((rows,), few, radial(4), slope).center
    expected = center.center_of_sample(y, frame, radial(4)).center
    np.testing.assert_allclose(found, expected, atol=1e-6)
    parts = run_multivariate(x, y)
    np.testing.assert_allclose(parts.shift, whole.shift, atol=0.02)
    assert parts.pvalue < 0.01 or whole.pvalue >= 0.01


def test_a_million_rows_of_100_columns() -> None:
    """float32 of 400 MB. A shift of 0.02 scales is ten standard errors; a row is at infinity."""
    rng = np.random.default_rng(9)
    x, y = (rng.standard_normal((500_000, 100), dtype=np.float32) for _ in range(2))
    x[:, 7] += np.float32(0.02)
    x[3] = np.inf
    found = run_multivariate(x, y)
    assert found.sizes == (500_000, 500_000)
    assert found.pvalue < 1e-10
    carriers = found.carriers()
    assert carriers is not None
    assert carriers.columns.tolist() == [7]
    assert found.shift[7] == pytest.approx(0.02, abs=3 * found.standard_error[7])
    assert found.standard_error[7] == pytest.approx(0.002, rel=0.1)
    low, high = found.length_interval()
    assert low < 0.02 < high < 0.03


@pytest.mark.parametrize("kind", [np.float32, np.int64, "fortran", "big-endian", "strided"])
def test_every_kind_of_array_gives_the_same_answer(kind: Any) -> None:
    rng = np.random.default_rng(9)
    x, y = (np.round(8 * rng.normal(size=(50, 3))) for _ in range(2))
    expected = run_multivariate(x, y, n_resamples=49)

    def other(array: Array) -> Any:
        if kind == "fortran":
            return np.asfortranarray(array)
        if kind == "strided":
            return np.repeat(array, 2, axis=0)[::2]
        return array.astype(">f8" if kind == "big-endian" else kind)

    found = run_multivariate(other(x), other(y), n_resamples=49)
    np.testing.assert_allclose(found.shift, expected.shift, rtol=1e-12, atol=1e-14)
    assert found.pvalue == expected.pvalue


def test_sums_over_blocks_leave_out_rows_and_columns() -> None:
    rng = np.random.default_rng(10)
    values = rng.normal(size=(20, 5))
    rows = Rows(values, np.array([1, 4, 5, 19]), np.array([0, 3]))
    found = sums_of(rows, Frame(np.zeros(2), np.ones(2)), radial(2), np.array([0, 1, 1, 0]), 2)
    expected = [naive.radial_psi(row) for row in values[np.ix_([1, 4, 5, 19], [0, 3])]]
    np.testing.assert_allclose(found.psi[0], expected[0] + expected[3], rtol=1e-9)
    np.testing.assert_allclose(found.psi[1], expected[1] + expected[2], rtol=1e-9)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_slope_of_a_block_is_the_average_over_directions(columns: int) -> None:
    """The trace of the derivative of Ψ, by differences."""
    rng = np.random.default_rng(46)
    row = rng.normal(size=(1, columns))
    rows = Rows(row, np.arange(1), np.arange(columns))
    zero, one = np.zeros(columns), np.ones(columns)
    found = sums_of(rows, Frame(zero, one), radial(columns), np.zeros(1, dtype=np.int64), 1)
    step = 1e-6 * np.eye(columns)
    trace = sum((_psi(row[0] + step[j]) - _psi(row[0] - step[j]))[j] / 2e-6 for j in range(columns))
    assert found.slope[0] == pytest.approx(trace / columns, rel=1e-6)


def test_a_side_at_infinity_has_no_centre() -> None:
    x, y = _samples(12, d=3)
    x[: len(x) // 2, 0] = np.inf
    assert math.isfinite(run_multivariate(x, y, n_resamples=19).length)
    x[:, 0] = np.inf
    with pytest.raises(DkmdError, match="more than half of the rows of x have infinite values"):
        run_multivariate(x, y)


def test_pairs_at_infinity_have_no_centre() -> None:
    x, y = _samples(12, d=3)
    x = x[: len(y)]
    x[: len(x) // 2, 0] = np.inf
    assert math.isfinite(run_multivariate(x, y, paired=True, n_resamples=19).length)
    x[:, 0] = np.inf
    with pytest.raises(DkmdError, match="more than half of the pairs have infinite values"):
        run_multivariate(x, y, paired=True)


@pytest.mark.parametrize("columns", [1, 4, 50])
def test_the_variance_of_a_centre_is_that_of_the_jackknife(columns: int) -> None:
    """Leaving out each row and fitting again gives the same variance, up to 1% for 30 rows."""
    rng = np.random.default_rng(21)
    x, y = rng.standard_t(3, size=(30, columns)), rng.normal(size=(25, columns))
    found = run_multivariate(x, y, n_resamples=19).fit
    assert found is not None
    frame = found.frame

    def centre_of(rows: Array) -> Array:
        return center.center_of_sample(rows, frame, radial(columns)).center / frame.scale

    moves = np.array([centre_of(np.delete(x, i, axis=0)) - centre_of(x) for i in range(len(x))])
    jackknife = (1.0 - 1.0 / len(x)) * np.sum(moves**2, axis=0)
    np.testing.assert_allclose(found.sides[0].variance, jackknife, rtol=0.01)


def test_infinite_values_are_far_points_in_their_direction() -> None:
    x, y = _samples(11, d=3)
    far, farther = x.copy(), x.copy()
    far[0], farther[0] = [-np.inf, 1.0, 2.0], [-1e60, 1.0, 2.0]
    first, second = run_multivariate(far, y), run_multivariate(farther, y)
    np.testing.assert_allclose(first.shift, second.shift, rtol=1e-9)
    assert first.pvalue == second.pvalue
    far[0] = [np.inf, 1.0, -np.inf]
    both = run_multivariate(far, y).shift - run_multivariate(x[1:], y).shift
    assert both[0] > 0.0 > both[2]


def test_missing_values_follow_the_policy() -> None:
    x, y = _samples(12, d=3)
    x[4, 1] = np.nan
    y[:20, 2] = np.nan  # more than half of 27
    assert math.isnan(run_multivariate(x, y).pvalue)
    with pytest.raises(NanError, match="x has missing values in 1 rows, first in row 5"):
        run_multivariate(x, y, nan_policy="raise")
    found = run_multivariate(x, y, nan_policy="omit")
    assert found.sizes == (39, 27)
    assert math.isnan(found.shift[2])
    assert math.isnan(found.column_pvalues[2])
    alone = run_multivariate(np.delete(x, 4, axis=0)[:, :2], y[:, :2])
    np.testing.assert_allclose(found.shift[:2], alone.shift, rtol=1e-9)
    told = " ".join(found.notes)
    assert "more than half of their values are missing: 2" in told
    assert "1 row of x has missing values and was left out" in told
    with pytest.warns(RuntimeWarning, match="left out"):
        dkmd_multivariate(x, y, nan_policy="omit")


def test_constant_and_duplicate_columns() -> None:
    x, y = _samples(13, d=2)
    wide = [np.column_stack([side, np.full(len(side), 7.0), side[:, 0]]) for side in (x, y)]
    found = run_multivariate(wide[0], wide[1])
    assert found.shift[2] == 0.0
    assert found.column_pvalues[2] == 1.0
    assert found.notes == ("column 2 is constant and was left out",)
    assert found.shift[3] == pytest.approx(found.shift[0], rel=1e-9)
    with pytest.raises(DkmdError, match="linear combination"):
        run_multivariate(wide[0], wide[1], whiten=True)
    same = run_multivariate(np.ones((5, 2)), np.ones((4, 2)))
    assert math.isnan(same.pvalue)
    assert same.shift.tolist() == [0.0, 0.0]


def test_a_rare_value_beyond_the_sample_is_not_taken_for_a_constant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(center, "SAMPLED", 50)
    monkeypatch.setattr(center, "FEWEST_SAMPLED", 50)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(400, 2)), rng.normal(size=(400, 2))
    x[:, 1] = y[:, 1] = 0.0
    y[:5, 1] = 3.0
    assert run_multivariate(x, y).notes == ()


def test_columns_that_differ_without_noise_have_a_counted_p_value() -> None:
    """x is always 1 and y always 0: no noise to measure, so only relabellings count."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    x[:, 1], y[:, 1] = 1.0, 0.0
    found = run_multivariate(x, y)
    assert found.pvalue == pytest.approx(1 / 1000)
    assert found.shift[1] == pytest.approx(1.0)
    assert found.scale[1] == pytest.approx(0.5 * center.NORMAL_MAD)  # that of both sides together


def test_more_columns_than_rows() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(12, 80)), rng.normal(size=(15, 80))
    assert run_multivariate(x, y).pvalue > 0.05
    assert run_multivariate(x + 0.8, y).pvalue < 0.01


def test_wrong_input_is_named() -> None:
    x, y = _samples(14, d=3)
    for given, message in (
        ((x, y[:, :2]), "x has 3 columns and y has 2"),
        ((x[:1], y), "x has 1 rows"),
        ((x[None], y), "must have rows and columns"),
        ((x[:, :0], y[:, :0]), "no columns"),
        ((x.astype(complex), y), "real numbers"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            run_multivariate(*given)
    with pytest.raises(ValueError, match="nan_policy"):
        run_multivariate(x, y, nan_policy="drop")
    with pytest.raises(ValueError, match="n_resamples"):
        run_multivariate(x, y, n_resamples=0)
    with pytest.raises(DkmdError, match="more than 5 rows per column"):
        run_multivariate(x[:7], y[:8], whiten=True)
    with pytest.raises(TooLittleError, match="x has 1 rows without missing values"):
        run_multivariate(np.array([[1.0], [np.nan]]), y[:, :1], nan_policy="omit")


def test_whitened_rows_are_like_standard_normal_rows() -> None:
    rng = np.random.default_rng(45)
    rows = rng.normal(size=(4000, 3)) @ np.array([[3.0, 1, 0], [0, 1, 0], [0, 0, 0.1]])
    white = rows @ whitening(rows, rng)
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=0.1)


def test_whitening_makes_the_answer_affine_equivariant() -> None:
    x, y = _samples(15, n=60, m=50, d=3)
    mix = np.array([[2.0, 0.3, -1.0], [0.0, 0.1, 5.0], [1.0, 1.0, 1.0]])
    first, second = (
        run_multivariate(x, y, whiten=True),
        run_multivariate(x @ mix, y @ mix, whiten=True),
    )
    np.testing.assert_allclose(second.shift, first.shift @ mix, rtol=1e-5, atol=1e-6)
    assert second.length == pytest.approx(first.length, rel=1e-5)
    assert second.pvalue == pytest.approx(first.pvalue, abs=2 / 1000)
    with pytest.raises(DkmdError, match="finite"):
        run_multivariate(np.where(x > 2.0, np.inf, x), y, whiten=True)


def test_pairs_cancel_what_units_share() -> None:
    rng = np.random.default_rng(16)
    units = 20 * rng.normal(size=(40, 3))
    y = units + rng.normal(size=(40, 3))
    x = units + rng.normal(size=(40, 3)) + 0.8
    assert run_multivariate(x, y).pvalue > 0.05
    paired = run_multivariate(x, y, paired=True)
    assert paired.pvalue < 1e-4
    np.testing.assert_allclose(paired.shift, 0.8, atol=0.6)
    labels = np.arange(40).astype(str)
    order = rng.permutation(40)
    grouped = run_multivariate(x, y[order], paired=True, groups=(labels, labels[order]))
    np.testing.assert_allclose(grouped.shift, paired.shift, rtol=1e-9)
    alone = run_multivariate(x, y[5:], paired=True, groups=(labels, labels[5:]))
    assert alone.sizes == (35, 35)
    assert "5 units are on one side only" in alone.notes[0]
    with pytest.raises(ValueError, match="as many rows"):
        run_multivariate(x, y[1:], paired=True)


def test_groups_widen_the_noise_of_repeated_rows() -> None:
    rng = np.random.default_rng(17)
    x, y = (np.repeat(rng.normal(size=(15, 4)), 8, axis=0) for _ in range(2))
    labels = np.repeat(np.arange(15), 8)
    grouped = run_multivariate(x, y, groups=(labels, labels))
    alone = run_multivariate(x, y)
    ratio = grouped.standard_error / alone.standard_error
    np.testing.assert_allclose(ratio, math.sqrt(8), rtol=0.15)
    assert grouped.pvalue > alone.pvalue
    with pytest.raises(DkmdError, match="one group"):
        run_multivariate(x, y, groups=(np.zeros(120), labels))


def test_intervals_and_p_values_of_columns_agree() -> None:
    rng = np.random.default_rng(18)
    x, y = rng.normal(size=(80, 12)), rng.normal(size=(60, 12))
    x[:, 3] += 0.9
    found = run_multivariate(x, y)
    for level in (0.9, 0.95):
        low, high = found.shift_interval(level)
        excluded = (low > 0.0) | (high < 0.0)
        np.testing.assert_array_equal(excluded, found.column_pvalues < 1.0 - level)
    assert np.flatnonzero(found.column_pvalues < 0.05).tolist() == [3]


def test_an_interval_holds_0_until_the_level_reaches_the_p_value() -> None:
    """At the level of each counted p-value itself, and just beyond it."""
    rng = np.random.default_rng(41)
    x, y = rng.normal(size=(60, 12)) + np.linspace(0.0, 0.6, 12), rng.normal(size=(70, 12))
    found = run_multivariate(x, y)
    counted = np.flatnonzero((found.column_pvalues > 0.002) & (found.column_pvalues < 0.95))
    assert counted.size >= 4
    for j in counted:
        p = float(found.column_pvalues[j])
        for alpha, inside in ((p - 1e-7, True), (p + 1e-7, False)):
            low, high = (float(end[j]) for end in found.shift_interval(1.0 - alpha))
            assert (low <= 0.0 <= high) == inside


def test_a_column_that_relabelling_does_not_reject_has_an_interval_that_holds_0() -> None:
    """Ten skewed rows against 100. The t of the shift alone would name some columns."""
    rng = np.random.default_rng(35)
    kept_by_relabelling = 0
    for trial in range(12):
        x, y = np.exp(rng.normal(size=(10, 60))), np.exp(rng.normal(size=(100, 60)))
        found = run_multivariate(x, y, rng=trial, n_resamples=199)
        null = found.fit.relabelled if found.fit else None
        assert null is not None
        assert null.columns is not None
        own = np.array([(np.sum(null.largest >= t) + 1) / 200 for t in null.columns])
        assert (found.column_pvalues >= own - 1e-12).all()
        for level in (0.5, 0.9, 0.95):
            low, high = found.shift_interval(level)
            excluded = (low > 0.0) | (high < 0.0)
            np.testing.assert_array_equal(excluded, found.column_pvalues < 1.0 - level)
            half = 0.5 * (high - low) / found.standard_error
            kept_by_relabelling += int(np.ptp(half) > 1e-9)
    assert kept_by_relabelling > 0


def test_the_length_loses_what_noise_adds() -> None:
    """100 columns of nothing at n = 50 have a plain length of 2; a move of 3 stays 3."""
    rng = np.random.default_rng(19)
    plain, lengths, covered = [], [], 0
    for trial in range(40):
        x, y = rng.normal(size=(50, 100)), rng.normal(size=(50, 100))
        found = run_multivariate(x, y, n_resamples=99, rng=trial)
        assert found.fit is not None
        plain.append(math.sqrt(float(found.fit.shift @ found.fit.shift)))
        lengths.append(found.length**2)
        x[:, :9] += 1.0
        low, high = run_multivariate(x, y, n_resamples=199, rng=trial).length_interval()
        covered += low <= 3.0 / float(np.median(found.scale)) <= high
    assert 1.8 < np.mean(plain) < 2.4
    assert np.mean(lengths) < 0.5  # half of them are 0
    assert covered >= 33  # 40 · 0.95 − 3 standard errors


def test_noise_that_all_columns_share_does_not_hide_a_move_in_its_direction() -> None:
    """All columns move by as much, and share a noise. 95% of 100 less 3.5 standard errors is 87.

    With the noise in the direction of the observed shift, 70 intervals held the length, and 32
    moves were called shorter than they are.
    """
    rng = np.random.default_rng(36)
    covered = equivalent = 0
    for trial in range(100):
        x, y = (rng.normal(size=(60, 30)) + rng.normal(size=(60, 1)) for _ in range(2))
        found = run_multivariate(x + 0.25, y, n_resamples=199, rng=trial)
        length = 0.25 * math.sqrt(float(np.sum(found.scale**-2.0)))
        low, high = found.length_interval()
        covered += low <= length <= high
        equivalent += found.equivalence(length) <= 0.05
    assert covered >= 87
    assert equivalent <= 13


def test_the_noisiest_direction_stays_with_a_clear_move() -> None:
    """Noise is long along the last column. A clear move in the first one is where it is."""
    rng = np.random.default_rng(37)
    influences = rng.normal(size=(40, 5)) * np.array([1, 1, 1, 1, 20.0]) / 40
    clear = noisiest_direction(np.array([60.0, 0, 0, 0, 0]), influences)
    assert clear[0] == pytest.approx(1.0, abs=0.02)
    unclear = noisiest_direction(np.array([0.1, 0, 0, 0, 0.5]), influences)
    assert abs(unclear[4]) == pytest.approx(1.0, abs=0.02)
    np.testing.assert_array_equal(noisiest_direction(np.zeros(5), 0.0 * influences), np.zeros(5))


def test_a_direction_that_is_long_by_chance_alone_is_not_taken_for_noise() -> None:
    """1,000 columns and 60 rows: the longest direction seems to have 24 times the noise of any."""
    rng = np.random.default_rng(40)
    influences = rng.normal(size=(60, 1000)) / 60
    toward = noisiest_direction(influences.sum(axis=0), influences)
    along = float(np.sum((influences @ toward) ** 2))
    assert along == pytest.approx(1 / 60, rel=0.5)


def test_the_interval_of_a_length_inverts_its_test() -> None:
    rng = np.random.default_rng(20)
    noise = rng.normal(size=(4000, 5)) * 0.1
    squared, along = np.sum(noise * noise, axis=1), noise[:, 0]
    low, high = length_interval(1.0, squared, along, 0.1)
    for end, above in ((low, True), (high, False)):
        values = end * end + 2 * end * along + squared
        share = np.mean(values >= 1.0) if above else np.mean(values <= 1.0)
        assert share == pytest.approx(0.05, abs=0.005)
    assert length_interval(0.02, squared, along, 0.1)[0] == 0.0


def test_carriers_are_found_on_one_half_and_judged_on_the_other() -> None:
    rng = np.random.default_rng(21)
    x, y = rng.normal(size=(300, 50)), rng.normal(size=(200, 50))
    x[:, [7, 30]] += 0.8
    found = run_multivariate(x, y).carriers()
    assert found is not None
    assert sorted(found.columns.tolist()) == [7, 30]
    assert 0.8 <= found.share <= 1.0
    assert run_multivariate(rng.normal(size=(300, 50)), y).carriers() is None


def test_columns_that_were_chosen_by_chance_carry_no_more_than_others() -> None:
    """All 200 columns move by as much, so 80% of it is in about 160 of them.

    The half of the rows that ranks columns would say that 51 columns carry it.
    """
    rng = np.random.default_rng(42)
    x, y = rng.normal(0.25, 1.0, size=(120, 200)), rng.normal(size=(120, 200))
    carriers = run_multivariate(x, y).carriers()
    assert carriers is not None
    assert carriers.columns.size > 130


def test_the_picture_shows_rows_that_did_not_choose_the_direction() -> None:
    """Noise of 400 columns: rows that choose the direction would lie 4 scales apart."""
    rng = np.random.default_rng(43)
    x, y = rng.normal(size=(60, 400)), rng.normal(size=(60, 400))
    drawn = run_multivariate(x, y, n_resamples=19).picture
    assert drawn is not None
    assert [part.size for part in drawn] == [30, 30]
    assert abs(np.mean(drawn[0]) - np.mean(drawn[1])) < 1.0


def test_columns_without_a_move_do_not_blur_the_picture() -> None:
    """One of 400 columns moves by 3. With the noise of all others it would look like 1.2."""
    rng = np.random.default_rng(44)
    x, y = rng.normal(size=(60, 400)), rng.normal(size=(60, 400))
    x[:, 7] += 3.0
    drawn = run_multivariate(x, y, n_resamples=19).picture
    assert drawn is not None
    assert np.mean(drawn[0]) - np.mean(drawn[1]) > 1.4


def test_a_verdict_needs_the_whole_interval() -> None:
    rng = np.random.default_rng(22)
    x, y = rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3))
    still, moved = run_multivariate(x, y), run_multivariate(x + 0.3, y)
    assert still.verdict(0.3) == "equivalent"
    assert still.equivalence(0.3) < 0.01 < still.equivalence(0.01)
    assert still.verdict() == "inconclusive"
    assert moved.verdict() == moved.verdict(0.2) == "moved"
    assert moved.verdict(float(moved.length)) == "inconclusive"
    with pytest.raises(ValueError, match="margin"):
        still.verdict(-1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("d", "n", "m", "spread"), [(2, 60, 60, 1.0), (40, 30, 90, 1.0), (10, 30, 90, 3.0)]
)
def test_size_is_close_to_the_level(d: int, n: int, m: int, spread: float) -> None:
    """200 trials at 10%: within four standard errors above, and not far below."""
    rng = np.random.default_rng([d, n])
    rejected = 0
    for trial in range(200):
        x = rng.standard_t(3, size=(n, d))
        y = spread * rng.standard_t(3, size=(m, d))
        rejected += run_multivariate(x, y, n_resamples=99, rng=trial).pvalue <= 0.1
    assert 5 <= rejected <= 20 + 4 * math.sqrt(18)


def test_wild_rows_do_not_hide_a_move() -> None:
    """One row in twenty is 50 times as long. Means see nothing, dkmd still does."""
    rng = np.random.default_rng(23)
    x, y = rng.normal(size=(60, 100)), rng.normal(size=(60, 100))
    x[:3] *= 50.0
    y[:3] *= 50.0
    assert run_multivariate(x + 0.25, y).pvalue < 0.01


def test_the_same_data_give_the_same_answer() -> None:
    x, y = _samples(24)
    first, second = run_multivariate(x, y), run_multivariate(x, y)
    assert first.pvalue == second.pvalue
    statistic, pvalue = first
    assert statistic is first.statistic
    assert first[1] == pvalue == first.pvalue
    assert len(first) == 2
    assert "pvalue=" in repr(first)
