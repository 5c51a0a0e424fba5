"""The same tests for every engine: bins and answers equal those in memory."""

from __future__ import annotations

import math
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

from dkmd import Grid, Summary, compare, drift
from dkmd.answers.comparison import Comparison, Comparisons
from dkmd.sources.column_data import StreamedColumn
from dkmd.sources.engines.connections import open_engine_table

SCALE = 5.0
"""A fixed σ = τ. A scale chosen from the data would depend on the bins, to about 1e-6."""

ODD = 'select "x"; --'


def latencies(rng: np.random.Generator, size: int = 20_000) -> pd.DataFrame:
    """Two builds of a service, the second a little slower. Each of 40 hosts has its own effect."""
    build = rng.choice(["o'ld", 'n"ew'], size, p=[0.4, 0.6])
    host = rng.integers(0, 40, size)
    ms = 80.0 + rng.gamma(4.0, 5.0, size) + 0.5 * (build == 'n"ew') + rng.normal(0, 1, 40)[host]
    ms[:3] = [math.inf, math.nan, math.inf]
    return pd.DataFrame({"ms": ms, "build": build, "host": host})


LEVELS: Any = {"column": "ms", "by": "build", "reference": "o'ld", "current": 'n"ew'}


def assert_same(found: Comparison, expected: Comparison) -> None:
    """Equal to 1e-8 of the scale, which bins of any grid give, and p-values accordingly."""
    scale = expected.scale
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-8 * scale)
    assert found.shift == pytest.approx(expected.shift, abs=1e-8 * scale)
    # ends are searched on merged bins, which depend on the grid
    assert found.shift_interval == pytest.approx(expected.shift_interval, abs=1e-6 * scale)
    # if the medians lie far apart, their distance is known only to within a bin
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-4)
    for side in ("reference", "current"):
        ours, theirs = getattr(found, side), getattr(expected, side)
        counts = ("size", "nan", "minus_inf", "plus_inf")
        assert [getattr(ours, n) for n in counts] == [getattr(theirs, n) for n in counts]


@pytest.fixture(scope="module")
def table(engine: Any) -> tuple[pd.DataFrame, Any]:
    """The same data in memory and in the engine."""
    frame = latencies(np.random.default_rng(7))
    return frame, engine.load(frame, "requests")


def test_bins_are_those_of_a_summary(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    data = open_engine_table(remote, "t").read("ms")
    assert isinstance(data, StreamedColumn)
    assert 0 < data.preview.size <= 1 << 15
    grid = Grid.fit(frame["ms"]).rounded()
    found, expected = data.summary(grid), Summary.of(frame["ms"], grid)
    assert (found.size, found.nan, found.plus_inf) == (expected.size, 1, 2)
    # a value within a rounding error of an edge may land on either side of it
    common, ours, theirs = np.intersect1d(found.bins, expected.bins, return_indices=True)
    assert common.size >= expected.bins.size - 2
    assert np.abs(found.counts[ours] - expected.counts[theirs]).sum() <= 4
    assert found.sums.sum() == pytest.approx(expected.sums.sum(), rel=1e-12)
    assert found.squares.sum() == pytest.approx(expected.squares.sum(), rel=1e-12)


def test_two_levels_compare_as_in_memory(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    expected = compare(frame, **LEVELS, scale=SCALE)
    found = compare(remote, **LEVELS, scale=SCALE)
    assert_same(found, expected)
    # logarithms have their own scale, which bins give to a thousandth
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=1e-4)
    assert found.verdict == expected.verdict == "higher"


def test_the_scale_of_its_own_is_nearly_the_same(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    expected, found = compare(frame, **LEVELS), compare(remote, **LEVELS)
    assert found.shift == pytest.approx(expected.shift, rel=1e-4)
    assert found.scale == pytest.approx(expected.scale, rel=1e-3)


def test_groups_compare_as_in_memory(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    expected = compare(frame, **LEVELS, scale=SCALE, groups="host")
    found = compare(remote, **LEVELS, scale=SCALE, groups="host")
    assert_same(found, expected)
    assert found.df == pytest.approx(expected.df, rel=1e-4)  # medians far apart: to within a bin
    assert found.relative_shift_interval == pytest.approx(
        expected.relative_shift_interval, rel=1e-3
    )


def test_two_tables_compare_as_in_memory(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    old, new = (frame[frame["build"] == level] for level in ("o'ld", 'n"ew'))
    expected = compare(old, new, column="ms", scale=SCALE)
    sides = [remote.filter(remote["build"] == level) for level in ("o'ld", 'n"ew')]
    assert_same(compare(*sides, column="ms", scale=SCALE), expected)


def test_where_takes_some_rows(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    expected = compare(frame[frame["host"] < 20], **LEVELS, scale=SCALE)
    assert_same(compare(remote, **LEVELS, scale=SCALE, where=ibis._.host < 20), expected)


def test_more_levels_than_two(engine: Any, rng: np.random.Generator) -> None:
    """If levels lie far apart, each pair is compared on a grid that fits it."""
    level = rng.integers(0, 4, 8_000)
    place = np.array([0.0, 0.1, 1_000.0, 1_000.1])[level]
    frame = pd.DataFrame({"v": rng.normal(size=8_000) + place, "k": level})
    expected = compare(frame, column="v", by="k", reference=0, scale=1.0)
    found = compare(engine.load(frame, "four"), column="v", by="k", reference=0, scale=1.0)
    assert isinstance(found, Comparisons)
    assert isinstance(expected, Comparisons)
    assert list(found) == list(expected) == ["1", "2", "3"]
    assert_same(found["1"], expected["1"])
    for name in ("2", "3"):
        assert found[name].statistic == pytest.approx(expected[name].statistic, abs=1e-6)


def test_types_of_columns(engine: Any, rng: np.random.Generator) -> None:
    """Decimals, integers, booleans and durations are numbers; NULL is missing; dates are not."""
    seconds = rng.integers(1, 5_000, 4_000) / 4.0
    frame = pd.DataFrame({"s": seconds, "k": rng.integers(0, 2, 4_000)})
    remote = engine.load(frame, "types")
    remote = engine.durations(remote, "s").mutate(
        money=lambda t: t.s.cast("decimal(18, 2)"),
        whole=lambda t: (t.s * 4.0).cast("int64"),
        flag=lambda t: t.s > 600.0,
        none=lambda t: t.s.nullif(t.s),
    )
    frame = frame.assign(
        duration=frame["s"], money=frame["s"], whole=frame["s"] * 4.0, flag=frame["s"] > 600.0
    )
    kinds = open_engine_table(remote, "t").kinds()
    assert kinds["duration"] == "durations"
    for name in ("duration", "money", "whole", "flag"):
        options: Any = {"column": name, "by": "k", "reference": 0, "current": 1}
        options["scale"] = 200.0 if name == "whole" else 50.0  # a tenth of the spread
        found = compare(remote, **options)
        assert_same(found, compare(frame, **options))
        assert found.unit == ("s" if name == "duration" else "")
    empty = open_engine_table(remote, "t").read("none").summary(Grid(0.0, 1.0))
    assert (empty.size, empty.nan) == (0, 4_000)
    timed = remote.mutate(noon=ibis.time(12, 0, 0))
    with pytest.raises(TypeError, match="'noon' holds points in time"):
        compare(timed, column="noon", by="k", reference=0, current=1)


def test_odd_names_are_names(engine: Any, rng: np.random.Generator) -> None:
    frame = latencies(rng, 3_000).rename(columns={"ms": ODD, "build": "a'b", "host": "c d"})
    options: Any = LEVELS | {"column": ODD, "by": "a'b", "groups": "c d", "scale": SCALE}
    assert_same(compare(engine.load(frame, "odd"), **options), compare(frame, **options))


def test_values_at_the_ends_of_doubles(engine: Any) -> None:
    """No query stops at an overflow. Values that are too far away count as infinite."""
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 1.7e308, -1.7e308, math.inf, -math.inf, 1e-308] * 20
    frame = pd.DataFrame({"v": values, "k": np.arange(200) % 20 // 10})
    found = compare(engine.load(frame, "ends"), column="v", by="k", reference=0, current=1)
    expected = compare(frame, column="v", by="k", reference=0, current=1)
    assert found.shift == pytest.approx(expected.shift, abs=1e-9)
    assert found.current.size == 100


def test_levels_that_are_not_there_are_named(table: tuple[pd.DataFrame, Any]) -> None:
    _, remote = table
    with pytest.raises(ValueError, match="has no level 'never'"):
        compare(remote, **(LEVELS | {"current": "never"}))
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        compare(remote, **(LEVELS | {"column": "nothing"}))


def test_empty_tables_have_no_answer(table: tuple[pd.DataFrame, Any]) -> None:
    _, remote = table
    nothing = remote.filter(remote["host"] < 0)
    found = compare(nothing, remote, column="ms")
    assert math.isnan(found.pvalue)
    assert found.reference.size == 0
    with pytest.raises(ValueError, match="has no level"):
        compare(nothing, **LEVELS)


def test_rows_without_a_group_label_are_left_out(engine: Any, rng: np.random.Generator) -> None:
    frame = latencies(rng, 2_000)
    remote = engine.load(frame, "unlabelled")
    remote = remote.mutate(host=remote["host"].nullif(3))
    _assert_left_out(remote, frame)


def _assert_left_out(remote: Any, frame: pd.DataFrame) -> None:
    """The answer is that of all rows but those of host 3, and it says how many these are."""
    found = compare(remote, **LEVELS, groups="host", scale=SCALE)
    rows = int((frame["host"] == 3).sum())
    assert f"{rows} rows have no label in column 'host' and were left out" in found.warnings[0]
    assert_same(found, compare(frame[frame["host"] != 3], **LEVELS, groups="host", scale=SCALE))


def test_drift_compares_every_column(engine: Any, rng: np.random.Generator) -> None:
    columns = {f"c{i}": rng.normal(i, 1.0 + i / 40, 2_000) for i in range(40)}
    old = pd.DataFrame(columns)
    new = old + np.arange(40) % 2 * 0.5
    expected = drift(old, new, scale=1.0)
    found = drift(engine.load(old, "d_old"), engine.load(new, "d_new"), scale=1.0)
    assert set(found) == set(expected)
    for name in expected:
        assert_same(found[name], expected[name])


def test_a_grid_from_an_odd_sample_is_mended(
    table: tuple[pd.DataFrame, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is the same even if the sample shows only one end of the data."""
    from dkmd.sources.engines import tables as engines

    frame, remote = table
    whole = vars(engines)["preview_of"]
    monkeypatch.setattr(engines, "preview_of", lambda rows: np.sort(whole(rows))[:50])
    assert_same(compare(remote, **LEVELS, scale=SCALE), compare(frame, **LEVELS, scale=SCALE))


def test_other_doors_lead_to_the_same_table(table: tuple[pd.DataFrame, Any], engine: Any) -> None:
    """A DuckDB relation, a Spark DataFrame with a duration, the URL of a database."""
    frame, _ = table
    expected = compare(frame, **LEVELS, scale=SCALE)
    if engine.name == "duckdb":
        import duckdb

        assert_same(compare(duckdb.sql("FROM frame"), **LEVELS, scale=SCALE), expected)
    elif engine.name == "postgres":
        url = engine.server.url.replace("postgresql://", "postgresql+psycopg://")
        assert_same(compare(url, table="public.requests", **LEVELS, scale=SCALE), expected)
    else:
        spark = engine.session.sql(
            "SELECT *, make_dt_interval(0, 0, 0, CAST(host AS DECIMAL(18, 6))) AS d FROM requests"
        )
        assert_same(compare(spark, **LEVELS, scale=SCALE), expected)
        options: Any = LEVELS | {"scale": SCALE}
        found = compare(spark, **(options | {"column": "d"}))
        assert_same(found, compare(frame, **(options | {"column": "host"})))


def test_frames_of_polars_come_through_ibis_too(table: tuple[pd.DataFrame, Any]) -> None:
    import polars as pl

    frame, _ = table
    remote = ibis.polars.connect({"t": pl.from_pandas(frame)}).table("t")
    found = compare(remote, **LEVELS, scale=SCALE, where=ibis._.host < 20)
    assert_same(found, compare(frame[frame["host"] < 20], **LEVELS, scale=SCALE))


def test_few_queries_are_made(
    table: tuple[pd.DataFrame, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sample and one aggregate, for two levels or many; groups need some more queries."""
    from dkmd.sources.engines import backends

    _, remote = table
    queries: list[str] = []
    for name in ("sample", "run"):
        inner = getattr(backends.IbisEngine, name)

        def counted(engine: Any, *words: Any, name: str = name, inner: Any = inner) -> Any:
            queries.append(name)
            return inner(engine, *words)

        monkeypatch.setattr(backends.IbisEngine, name, counted)
    compare(remote, **LEVELS)
    sampling = [*queries]
    assert sampling.count("sample") == 1
    assert sampling[-1] == "run"
    assert len(sampling) <= 4  # some engines sample by running queries
    queries.clear()
    compare(remote, **LEVELS, groups="host")
    # rows without a label; of each level the units of the values, and those of their logarithms
    # and their bins, which have no cheaper source
    assert len(queries) <= len(sampling) + 1 + 2 * 3


def _near_zero(rng: np.random.Generator, kind: str) -> pd.DataFrame:
    """Positive values, some far below a tenth of the centre."""
    size = 20_000
    values = rng.lognormal(0.0, 2.0, size) if kind == "lognormal" else rng.exponential(size=size)
    if kind == "whole":
        values = rng.integers(1, 1_000, size).astype(np.float64)
    some = rng.random(size) < 0.01
    values[some] = {"tiny": 1e-30, "huge": 1e30}.get(kind, values[some])
    values[:2] = [math.nan, math.inf]
    k = rng.integers(0, 2, size)
    return pd.DataFrame({"v": values * (1.0 + 0.1 * k), "k": k})


@pytest.mark.parametrize(
    ("kind", "aggregates"),
    [("lognormal", 1), ("exponential", 1), ("whole", 1), ("tiny", 3), ("huge", 2)],
)
def test_percentages_of_values_near_0_come_from_the_same_bins(
    engine: Any,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    aggregates: int,
) -> None:
    """One aggregate. Values too near or too far for the bins need another, and a minimum."""
    from dkmd.sources.engines import backends

    frame = _near_zero(rng, kind)
    remote = engine.load(frame, "near_zero")
    options: Any = {"column": "v", "by": "k", "reference": 0, "current": 1}
    options["scale"] = 100.0 if kind == "whole" else 1.0  # not far below what bins are made for
    expected = compare(frame, **options)
    queries: list[Any] = []
    inner = backends.IbisEngine.run

    def counted(engine: Any, expression: Any) -> Any:
        queries.extend([expression] if "count" in expression.columns else [])
        queries.extend([expression] if "lowest" in expression.columns else [])
        return inner(engine, expression)

    monkeypatch.setattr(backends.IbisEngine, "run", counted)
    found = compare(remote, **options)
    assert_same(found, expected)
    # the scale of the logarithms is chosen by the data: bins give it to a few thousandths
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=3e-4)
    assert found.relative_shift_interval == pytest.approx(
        expected.relative_shift_interval, rel=1e-3
    )
    assert found.reference.nan + found.current.nan == 1
    assert len(queries) == aggregates


@pytest.mark.parametrize("odd", [0.0, -1e-9])
def test_one_value_without_a_logarithm_takes_the_percentage_away(
    engine: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, odd: float
) -> None:
    """The aggregate finds it even if the sample does not show it."""
    from dkmd.sources.engines import tables as engines

    frame = _near_zero(rng, "exponential")
    frame.loc[7, "v"] = odd
    whole = vars(engines)["preview_of"]
    monkeypatch.setattr(engines, "preview_of", lambda rows: (v := whole(rows))[~(v <= 0.0)])
    remote = engine.load(frame, "one_without")
    options: Any = {"column": "v", "by": "k", "reference": 0, "current": 1, "scale": 1.0}
    found = compare(remote, **options)
    assert_same(found, compare(frame, **options))
    assert found.relative_shift is None


def test_views_and_levels_among_many_others(engine: Any, rng: np.random.Generator) -> None:
    """Other levels do not come back, however many there are. Views work like tables."""
    frame = latencies(rng, 30_000)
    frame["build"] = np.where(rng.random(30_000) < 0.4, np.arange(30_000).astype(str), frame.build)
    remote = engine.load(frame, "many")
    remote = engine.backend.create_view("many_view", remote, overwrite=True)
    expected = compare(frame, **LEVELS, scale=SCALE)
    assert_same(compare(remote, **LEVELS, scale=SCALE), expected)


def test_data_that_change_between_the_queries_are_noticed(
    table: tuple[pd.DataFrame, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A separate query scores the rows."""
    from dkmd.sources.engines import stored_rows

    _, remote = table
    module: Any = stored_rows
    inner = module.with_scores

    def changed(rows: Any, *words: Any) -> Any:
        return inner(rows.filter(rows.measured_on != 3), *words)

    monkeypatch.setattr(stored_rows, "with_scores", changed)
    with pytest.raises(ValueError, match="the data changed between two queries"):
        compare(remote, **LEVELS, groups="host")


def test_levels_that_doubles_do_not_tell_apart(engine: Any, rng: np.random.Generator) -> None:
    """2^53, 2^53 + 1 and 2^53 + 2 are three different levels."""
    k = 2**53 + rng.integers(0, 3, 3_000)
    frame = pd.DataFrame({"v": rng.normal(size=3_000) + 0.4 * (k - 2**53), "k": k})
    remote = engine.load(frame, "large_levels")
    for current in (2**53 + 1, 2**53 + 2):
        options: Any = {"column": "v", "by": "k", "reference": 2**53, "scale": 1.0}
        found = compare(remote, **options, current=current)
        assert_same(found, compare(frame, **options, current=current))


@pytest.mark.parametrize(
    ("by", "levels"),
    [
        ("whole", [0.9, "main", "", "nan", "inf", 10**30, "1.5"]),
        ("flag", ["5", "t", "", "0.5"]),
        ("real", ["main", "", "nan"]),
    ],
)
def test_words_that_are_no_levels_are_named(engine: Any, by: str, levels: list[Any]) -> None:
    """For columns of any type, as in memory."""
    k = np.arange(400) % 2
    frame = pd.DataFrame({"v": 1.0 * np.arange(400), "whole": k, "flag": k == 1, "real": k * 0.5})
    remote = engine.load(frame, "words")
    there = {"whole": "'0', '1'", "flag": "'false', 'true'", "real": "'0', '0.5'"}[by]
    for level in levels:
        for side, other in (("reference", "current"), ("current", "reference")):
            with pytest.raises(
                ValueError, match=f"'{by}' has no level {str(level)!r}: it has {there}"
            ):
                compare(remote, column="v", by=by, **{side: level, other: there.split("'")[1]})


def test_two_words_for_one_level_are_not_two_levels(table: tuple[pd.DataFrame, Any]) -> None:
    _, remote = table
    with pytest.raises(ValueError, match=r"'host' has no level '01': the nearest .* are '0', '1'"):
        compare(remote, column="ms", by="host", reference="1", current="01")


def test_a_level_that_is_not_there_costs_one_short_list(
    engine: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dkmd.sources.engines import backends

    frame = pd.DataFrame({"v": rng.normal(size=3_000), "k": np.arange(3_000) % 500})
    remote = engine.load(frame, "many_levels")
    returned: list[int] = []
    inner = backends.IbisEngine.run

    def counted(engine: Any, expression: Any) -> Any:
        found = inner(engine, expression)
        returned.extend(column.size for column in list(found.values())[:1] if len(found) == 1)
        return found

    monkeypatch.setattr(backends.IbisEngine, "run", counted)
    nearest = "has no level '777': the nearest that it has are '480', .*, '498', '499'$"
    with pytest.raises(ValueError, match=nearest):
        compare(remote, column="v", by="k", reference=0, current=777)
    assert returned == [21, 0]


def test_group_labels_that_are_nan_are_missing(engine: Any, rng: np.random.Generator) -> None:
    frame = latencies(rng, 2_000)
    some = frame.assign(host=np.where(frame["host"] == 3, np.nan, frame["host"]))
    _assert_left_out(engine.load(some, "nan_labels"), frame)


def test_columns_of_ibis_are_samples(table: tuple[pd.DataFrame, Any]) -> None:
    frame, remote = table
    slower = remote["ms"] + 1.0
    found = compare(remote["ms"], slower.name("ms"), scale=SCALE)
    assert_same(found, compare(frame["ms"], frame["ms"] + 1.0, scale=SCALE))
    with pytest.raises(TypeError, match="must be a table or a column"):
        compare(remote["ms"].mean(), remote["ms"])


def test_dates_are_exact_and_rounded_numbers_are_refused(engine: Any) -> None:
    """Around 1.7e18 doubles are 256 apart; timestamps have microseconds."""
    rng = np.random.default_rng(8)
    small = rng.normal(0.0, 1_000.0, 400).astype(np.int64) + np.arange(400) % 2 * 306
    start = pd.Timestamp("2026-01-01")
    frame = pd.DataFrame(
        {
            "k": np.arange(400) % 2,
            "small": small,
            "large": small + 1_700_000_000_000_000_000,
            "doubles": small * 256 + 1_700_000_000_000_000_000,
            "text": [str(start + pd.Timedelta(microseconds=int(v))) for v in small],
        }
    )
    remote = engine.load(frame, "far_from_zero")
    when = remote.text.cast("timestamp")
    remote = remote.mutate(when=when, day=when.date())
    options: Any = {"by": "k", "reference": 0, "current": 1}
    expected = compare(frame, column="small", **options)
    with pytest.raises(ValueError, match=r"column 'large': 1[67]\d{17} is beyond 2\^53"):
        compare(remote, column="large", **options)
    large, dated = (compare(remote, column=name, **options) for name in ("doubles", "when"))
    # the scale comes from bins, so the shift follows to about 1e-5 of the scale
    assert large.shift == pytest.approx(256 * expected.shift, abs=256)
    assert dated.shift == pytest.approx(1e-6 * expected.shift, rel=1e-4)
    assert large.pvalue == pytest.approx(expected.pvalue, rel=1e-3)
    assert dated.pvalue == pytest.approx(expected.pvalue, rel=1e-3)
    shown = {row[0]: row[1] for row in dated.rows()}["median"]
    assert shown.startswith(("2025-12-31", "2026-01-01"))
    days = compare(remote, column="day", **options)
    assert days.reference.size == 200


def test_categories_are_counted_alike_everywhere(engine: Any, rng: np.random.Generator) -> None:
    """Levels and missing values by SQL equal those in memory, for odd names and odd levels."""
    levels = ["DE", "FR", "it's", 'say "x"', "ü", "", None]
    shares = [0.4, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05]

    def table(size: int, moved: float) -> pd.DataFrame:
        odds = np.array(shares) * np.where(np.arange(7) == 1, 1.0 + moved, 1.0)
        drawn = rng.choice(len(levels), size, p=odds / odds.sum())
        land = pd.Series([levels[i] for i in drawn], dtype=object)
        return pd.DataFrame({"land": land, "v": rng.normal(size=size)})

    old, new = table(900, 0.0), table(1100, 1.5)
    expected = drift(old, new)
    found = drift(engine.load(old, "cat_old"), engine.load(new, "cat_new"))
    assert list(found) == list(expected)
    one, other = found["land"], expected["land"]
    assert {each.level: each.counts for each in one.levels} == {
        each.level: each.counts for each in other.levels
    }
    assert one.pvalue == other.pvalue
    assert (one.reference.nan, one.current.nan) == (other.reference.nan, other.current.nan)
    assert "category" in one.changed
    alone = compare(engine.load(old, "cat_old"), engine.load(new, "cat_new"), column="land")
    assert alone.pvalue == other.pvalue
