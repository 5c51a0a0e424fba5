"""Figures: curves from bins show the data, and every output shows the same curves."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from outcomes import exact_outcome

from dkmd import Grid, Summary, dkmd_2samp, dkmd_rel, embedding_difference
from dkmd.render.figures import colours, drawings, forest
from dkmd.render.figures.curves import Curves, SampleCurves, can_be_drawn, curves_of
from dkmd.render.figures.svg import Axis, clean, escape, path, tick_words, ticks

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]

MANY = pytest.param(200_000, marks=pytest.mark.slow)

FAMILIES: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(100.0, 10.0, n),
    "exponential": lambda rng, n: rng.exponential(1.0, n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "two peaks": lambda rng, n: rng.normal(0, 0.3, n) + 2.0 * (rng.random(n) < 0.5),
    "far away": lambda rng, n: 1e9 + rng.normal(0.0, 1.0, n),
}


def _curves(reference: npt.ArrayLike, current: npt.ArrayLike) -> Curves:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neighbours that are alike, and of constant samples
        return curves_of(exact_outcome(dkmd_2samp(current, reference)))


def _pair(draw: Draw, n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(11)
    return draw(rng, n), draw(rng, n)


@pytest.mark.parametrize("n", [8, 500, MANY])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_density_holds_the_share_of_values_in_its_window(family: str, n: int) -> None:
    y, x = _pair(FAMILIES[family], n)
    curves = _curves(y, x)
    for shape in (curves.reference, curves.current):
        inside = 1.0 - (shape.below + shape.above) / n
        # a kernel reaches out of the window at its ends: a few percent of few values
        assert np.trapezoid(shape.density, curves.x) == pytest.approx(inside, abs=0.06)


@pytest.mark.slow
def test_a_density_of_many_values_is_the_true_one() -> None:
    y, x = _pair(FAMILIES["normal"], 400_000)
    curves = _curves(y, x)
    at = curves.origin + curves.x
    truth = np.exp(-0.5 * ((at - 100.0) / 10.0) ** 2) / (10.0 * math.sqrt(2.0 * math.pi))
    assert np.abs(curves.reference.density - truth).max() < 0.02 * truth.max()


@pytest.mark.parametrize("n", [500, MANY])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_cdf_is_the_share_of_values_up_to_there(family: str, n: int) -> None:
    y, x = _pair(FAMILIES[family], n)
    curves = _curves(y, x)
    at, share = curves.current.steps
    assert np.all(np.diff(at) >= 0.0)
    assert np.all(np.diff(share) >= -1e-12)
    counted = np.searchsorted(np.sort(x), curves.origin + at, side="right") / n
    before = np.searchsorted(np.sort(x), curves.origin + at, side="left") / n
    tolerance = 0.01  # within a bin values are spread evenly
    assert np.all((share >= before - tolerance) & (share <= counted + tolerance))


def test_few_values_step_exactly() -> None:
    curves = _curves([1.0, 2.0, 2.0, 5.0], [2.0, 3.0, 4.0, 9.0])
    at, share = curves.current.steps
    assert (curves.origin + at[1:-1]).tolist() == pytest.approx([2, 2, 3, 3, 4, 4, 9, 9])
    assert share.tolist() == [0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1]


def _atoms(curves: Curves, shape: SampleCurves) -> dict[float, float]:
    values = (round(curves.origin + float(at), 6) for at in shape.atoms.at)
    return dict(zip(values, shape.atoms.share.tolist(), strict=True))


def test_counts_and_booleans_are_bars_of_their_shares() -> None:
    rng = np.random.default_rng(2)
    y, x = rng.poisson(3.0, 900), rng.poisson(3.5, 1100)
    curves = _curves(y, x)
    assert curves.discrete
    shares = _atoms(curves, curves.current)
    for value in range(8):
        assert shares[value] == pytest.approx(np.mean(x == value))
    curves = _curves(rng.random(300) < 0.3, rng.random(300) < 0.4)
    assert set(_atoms(curves, curves.reference)) == {0.0, 1.0}


def test_values_with_rounding_in_their_bins_are_one_bar() -> None:
    y, x = np.repeat([0.1, 0.2, 0.3], [30, 50, 20]), np.repeat([0.1, 0.2, 0.3], [7, 11, 13])
    curves = _curves(y, x)
    assert _atoms(curves, curves.reference) == pytest.approx({0.1: 0.3, 0.2: 0.5, 0.3: 0.2})


def test_many_zeros_are_a_bar_beside_a_density() -> None:
    rng = np.random.default_rng(4)
    y, x = (np.where(rng.random(3000) < 0.9, 0.0, rng.lognormal(3, 1, 3000)) for _ in range(2))
    curves = _curves(y, x)
    assert not curves.discrete
    assert _atoms(curves, curves.current) == {0.0: pytest.approx(np.mean(x == 0.0))}
    assert np.trapezoid(curves.current.density, curves.x) == pytest.approx(0.1, abs=0.03)


def test_peaks_are_drawn_as_narrow_as_they_are() -> None:
    """Two peaks in one sample, and two distant samples, whose quartiles share a bin."""
    rng = np.random.default_rng(5)
    two = [rng.normal(0, 1, 1000) + 50.0 * (rng.random(1000) < 0.5) for _ in range(2)]
    for y, x in (two, (rng.normal(0, 1, 1000), rng.normal(1000, 1, 1000))):
        curves = _curves(y, x)
        density, step = curves.reference.density, curves.x[1] - curves.x[0]
        high = np.count_nonzero(density > 0.5 * density.max()) * step
        assert high < max(12.0, 4.0 * step)


def test_most_of_both_samples_is_in_the_window() -> None:
    rng = np.random.default_rng(6)
    for y, x in (
        (np.full(1000, 5.0), rng.normal(5, 3, 1000)),
        (rng.normal(0, 0.1, 1000), rng.normal(0, 100, 1000)),
        (rng.choice([1.0, 2.0, 3.0, 40.0], 1000, p=[0.3, 0.3, 0.24, 0.16]), rng.normal(2, 1, 1000)),
    ):
        curves = _curves(y, x)
        for shape in (curves.reference, curves.current):
            assert shape.below + shape.above <= 100


def test_whole_numbers_over_a_wide_range_draw_no_comb() -> None:
    rng = np.random.default_rng(6)
    curves = _curves(rng.integers(0, 300, 20_000), rng.integers(10, 310, 20_000))
    middle = curves.reference.density[30:60]
    assert middle.max() < 1.15 * middle.min()


def test_what_is_outside_the_window_is_counted() -> None:
    rng = np.random.default_rng(8)
    y, x = rng.standard_cauchy(2000), rng.standard_cauchy(2000)
    x[:7], y[:3] = math.inf, -math.inf
    curves = _curves(y, x)
    low, high = curves.origin + curves.low, curves.origin + curves.high
    finite = x[np.isfinite(x)]
    assert curves.current.below + curves.current.above == ((finite < low) | (finite > high)).sum()
    assert (curves.current.plus_inf, curves.reference.minus_inf) == (7, 3)


def test_where_samples_differ_is_the_difference_of_mean_embeddings() -> None:
    y, x = _pair(FAMILIES["two peaks"], 3000)
    x = x + 0.2
    curves = _curves(y, x)
    direct = embedding_difference(x, y, curves.origin + curves.x, curves.kernel)
    assert np.abs(curves.difference - direct).max() < 1e-3


def test_the_medians_and_the_shift_are_those_of_the_test() -> None:
    y, x = _pair(FAMILIES["exponential"], 400)
    outcome = exact_outcome(dkmd_2samp(x + 0.5, y))
    curves = curves_of(outcome)
    shown = curves.origin + curves.current.median, curves.origin + curves.reference.median
    assert shown == pytest.approx((np.median(x + 0.5), np.median(y)))
    assert curves.shift == outcome.shift


def test_the_arrow_has_the_length_of_the_shift() -> None:
    """Its ends are the reference's median and that median plus the shift."""
    y, x = _pair(FAMILIES["exponential"], 400)
    curves = _curves(y, 3.0 * x)
    across = Axis(curves.low, curves.high, drawings.LEFT, drawings.RIGHT)
    drawn = drawings.density(curves, colours.on_page)
    tip = re.search(r"M([\d.]+) 24l-5-3v6z", drawn)
    assert tip is not None
    end = across(curves.reference.median + curves.shift)
    assert float(tip[1]) == pytest.approx(end, abs=0.051)
    assert abs(end - across(curves.current.median)) > 1.0  # the medians are another difference


def test_samples_at_infinity_and_pairs_are_drawn_as_far_as_possible() -> None:
    far = _curves(np.full(9, -math.inf), np.full(8, math.inf))
    assert (far.current.plus_inf, far.reference.minus_inf) == (8, 9)
    assert math.isinf(far.current.median)
    assert "the shift is" in drawings.density(far, colours.on_page)
    assert not can_be_drawn(dkmd_rel(np.arange(9.0) ** 2, np.arange(9.0)).outcome())


def test_data_far_from_zero_draw_the_same() -> None:
    rng = np.random.default_rng(9)
    y, x = rng.integers(-400, 400, 700) / 256, rng.integers(-390, 410, 700) / 256
    here, far = _curves(y, x), _curves(y + 2.0**30, x + 2.0**30)
    assert far.current.density == pytest.approx(here.current.density, rel=1e-6, abs=1e-9)


def test_summaries_draw_what_their_values_draw() -> None:
    y, x = _pair(FAMILIES["normal"], 5000)
    grid = Grid.fit(x, y)  # as the test fits it
    held = _curves(y, x)
    stored = curves_of(exact_outcome(dkmd_2samp(Summary.of(x, grid), Summary.of(y, grid))))
    peak = held.current.density.max()
    assert np.abs(held.current.density - stored.current.density).max() < 1e-3 * peak


def test_a_thinned_path_stays_within_a_third_of_a_pixel() -> None:
    x = np.linspace(0.0, 340.0, 97)
    y = 100.0 + 60.0 * np.sin(x / 40.0) * np.exp(-x / 200.0)
    data = path(x, y)
    start, steps = data[1:].split("l")
    numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", steps)]
    points = np.array([float(n) for n in start.split()]) + np.cumsum(
        np.array([[0.0, 0.0], *np.reshape(numbers, (-1, 2)).tolist()]), axis=0
    )
    assert len(points) < 60
    assert np.abs(np.interp(x, points[:, 0], points[:, 1]) - y).max() < 0.34


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-3.3, 17.0), (1e-6, 3e-6), (1e9, 1e9 + 4), (5.0, 5.1e7)]
)
def test_ticks_are_few_round_and_told_apart(low: float, high: float) -> None:
    at = ticks(low, high)
    assert 2 <= len(at) <= 6
    assert low <= at[0]
    assert at[-1] <= high
    words = tick_words(at)
    assert len(set(words)) == len(words)


def test_a_pixel_stays_inside_its_axis() -> None:
    axis = Axis(0.0, 1.0, 10.0, 20.0)
    assert [axis(v) for v in (-5.0, 0.5, math.inf)] == [10.0, 15.0, 20.0]
    assert 0.5 in axis
    assert 1.5 not in axis


def test_text_from_data_can_end_no_element_and_no_encoding() -> None:
    assert escape("<a href='x'>&\"") == "&lt;a href=&#x27;x&#x27;&gt;&amp;&quot;"
    assert clean("a\x00b\ud800c\x1bd\x85e") == "a\ufffdb\ufffdc\ufffdd\ufffde"
    assert escape("a\r\nb\tc").encode() == b"a&#13;\nb\tc"


def test_notebooks_get_no_styles_and_pages_no_paint() -> None:
    y, x = _pair(FAMILIES["normal"], 300)
    curves = _curves(y, x + 5.0)
    for draw in (drawings.density, drawings.cdf, drawings.differences, drawings.sparkline):
        notebook = draw(curves, colours.in_notebook("up"))
        page = draw(curves, colours.on_page)
        assert "class=" not in notebook
        assert "style" not in notebook + page
        assert not re.search(r'(fill|stroke)="', page)
        shapes = [re.findall(r' d="([^"]*)"', drawn) for drawn in (notebook, page)]
        assert shapes[0] == shapes[1]


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("palette", [colours.LIGHT, colours.DARK])
@pytest.mark.parametrize("ink", ["ink", "muted", "up", "down", "flat"])
def test_words_stand_out_from_the_paper(palette: dict[str, str], ink: str) -> None:
    """WCAG AA: a contrast of 4.5 to 1."""
    for ground in ("paper", "wash"):
        light, dark = sorted((_luminance(palette[ink]), _luminance(palette[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("palette", [colours.LIGHT, colours.DARK])
def test_up_and_down_keep_apart_without_red_or_green_cones(palette: dict[str, str]) -> None:
    """Hue is then blue minus red and green: up and down have opposite signs."""

    def hue(name: str) -> float:
        red, green, blue = (int(palette[name][i : i + 2], 16) for i in (1, 3, 5))
        return blue - 0.5 * (red + green)

    assert hue("up") < -50.0
    assert hue("down") > 50.0


@pytest.mark.parametrize("n", [20, 3000])
def test_a_cdf_starts_at_the_share_of_what_is_minus_infinite(n: int) -> None:
    rng = np.random.default_rng(6)
    y, x = rng.normal(size=n), rng.normal(size=n)
    x[: n // 5], x[n // 5 : 3 * n // 10] = -math.inf, math.inf
    curves = _curves(y, x)
    share = curves.current.steps[1]
    outside = (curves.current.below / n, curves.current.above / n)
    assert share[0] == pytest.approx(0.2 + outside[0], abs=0.01)
    assert share[-1] == pytest.approx(0.9 - outside[1], abs=0.01)
    assert curves.reference.steps[1][0] == pytest.approx(curves.reference.below / n, abs=0.01)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (1.0, math.inf, "to inf"),
        (math.inf, 1.0, "from inf"),
        (1.0, -math.inf, "to inf"),
        (math.inf, math.inf, "both inf"),
        (-math.inf, -math.inf, "both −inf"),
        (math.nan, 1.0, "–"),
    ],
)
def test_a_quantile_at_infinity_is_told_in_words(before: float, after: float, words: str) -> None:
    drawn = drawings.quantile_shifts(
        {0.5: (1.0, 2.0), 0.99: (before, after)}, 1.0, (0.5, 1.5), colours.on_page
    )
    assert f">{words}<" in drawn


def test_verdicts_have_the_colours_of_their_direction() -> None:
    verdicts = ("higher", "lower", "equivalent", "inconclusive")
    assert [drawings.colour_of(v) for v in verdicts] == ["up", "down", "flat", "flat"]


@pytest.mark.parametrize(
    ("interval", "points"), [((-9.0, 0.5), [-1]), ((-0.5, 9.0), [1]), ((-9.0, 9.0), [-1, 1])]
)
def test_an_interval_that_goes_on_points_outwards(
    interval: tuple[float, float], points: list[int]
) -> None:
    axis = forest.ForestAxis(1.0)
    drawn = forest.forest_bar(0.2, interval, (0.0, 0.0), axis, colours.on_page, "bar")
    # the tip of an arrow, and the step back from it to its base
    found = re.findall(r"M[\d.-]+ [\d.]+l(-?)5-4v8z", drawn)
    assert [1 if back else -1 for back in found] == points


def test_the_ends_of_an_axis_belong_to_it() -> None:
    axis = Axis(-1.0, 1.0, 0.0, 100.0)
    assert [value in axis for value in (-1.0, 1.0, -1.0001, 1.0001)] == [True, True, False, False]
    ends = forest.ForestAxis(1.0)
    drawn = forest.forest_bar(1.0, (-1.0, 1.0), (0.0, 0.0), ends, colours.on_page, "bar")
    assert "<circle" in drawn
    assert "v8z" not in drawn


def test_the_axis_of_a_forest_holds_every_finite_interval() -> None:
    for reaches in ([0.1], [1.0, 1.1, 0.9], [0.2, 0.3, 0.25, 900.0], [1e-6, 1e6]):
        axis = forest.ForestAxis.of([*reaches, math.inf])
        assert all(reach in axis for reach in reaches)
        at = [axis(v) for v in sorted([*reaches, *(-r for r in reaches), 0.0])]
        assert at == sorted(set(at))
        assert axis(0.0) == forest.MIDDLE
        assert axis(max(reaches)) > forest.MIDDLE + 0.9 * forest.REACH


def test_far_rows_bend_the_axis_and_leave_the_others_room() -> None:
    near = forest.ForestAxis.of([1.0, 1.1, 0.9, 4.0])
    far = forest.ForestAxis.of([1.0, 1.1, 0.9, 4000.0])
    assert math.isinf(near.bend)
    assert far(1.0) - forest.MIDDLE > 25.0  # a linear axis would leave it a thirtieth of a pixel


@pytest.mark.parametrize("reaches", [[0.3], [1.0, 2.0], [0.2, 0.3, 0.25, 900.0], [3.0, 4e9, 5.0]])
def test_labels_of_a_forest_stand_apart(reaches: list[float]) -> None:
    axis = forest.ForestAxis.of(reaches)
    at = [axis(value) for value in (0.0, *axis.marks())]
    assert len(at) > 1
    assert min(b - a for a, b in pairwise(at)) >= forest.APART - 1e-9
    drawn = forest.forest_scale(axis, True, colours.on_page)
    assert drawn.count("%</text>") == 2 * (len(at) - 1)


def test_labels_stand_where_their_own_area_is_not() -> None:
    """If current has more of the large values, "more current" is on the left."""
    rng = np.random.default_rng(7)
    small, large = rng.normal(0.0, 1.0, 500), rng.normal(2.0, 1.0, 500)
    places = []
    for y, x in ((small, large), (large, small)):
        drawn = drawings.differences(_curves(y, x), colours.on_page)
        found = re.search(r'<text x="([\d.]+)"[^>]*>↑ more current', drawn)
        assert found is not None
        places.append(float(found[1]))
    assert places[0] < 100.0
    assert places[1] > 300.0
