"""Small parts of the sources at their exact limits: bins, names, kinds, levels."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from dkmd import Grid, Summary, compare
from dkmd.answers.page import page_of
from dkmd.base.errors import TooLittleError, TooLongError
from dkmd.base.secrets import gist, without_password
from dkmd.bins.grid import FARTHEST_BIN
from dkmd.sources.column_data import (
    HeldColumn,
    StoredColumn,
    StreamedColumn,
    labelled_column,
    unit_of,
)
from dkmd.sources.engines.summaries import hides_sign, summary_of
from dkmd.sources.files import characters, text_file
from dkmd.sources.files import table as files
from dkmd.sources.files.duckdb_connection import connection, limit_memory, relation
from dkmd.sources.files.duckdb_file import DuckFile
from dkmd.sources.files.spelling import Spelling
from dkmd.sources.kinds import DURATION, NOTHING, NUMBER, OTHER, TEXT, the_numeric_column
from dkmd.sources.memory.columns import as_numbers, kind_of
from dkmd.sources.number_words import level_order, not_a_number, parse_number
from dkmd.sources.pairs import FAR_OFF, _weighted, better_grid, common_grid, summaries_of_pair


def _rows(values: list[float], grid: Grid) -> dict[str, Any]:
    """The rows that an engine's aggregate returns for these values, one per value."""
    u = (np.asarray(values) - grid.center) / grid.unit
    with np.errstate(invalid="ignore"):
        k = np.floor(128.0 * np.log(1.0 + np.abs(u)))
    return {
        "below": [None if math.isnan(each) else bool(each < 0.0) for each in u],
        "bin": k,
        "count": np.ones(u.size),
        "sum": u,
        "squares": u * u,
    }


# bins


@pytest.mark.parametrize(
    ("values", "hidden"),
    [
        ([0.0, 0.001, 0.002], True),  # the first bin starts at 0, and 0 is in it
        ([0.001, 0.002, 5.0], True),
        ([-0.001, -0.002, 5.0], False),  # this one ends at 0, and 0 is not in it
        ([0.5, 0.5001, 7.0], False),
        ([0.001, 7.0], False),  # a single value shows its sign
        ([], False),
    ],
)
def test_a_bin_hides_the_sign_of_its_values_where_0_is_in_it(
    values: list[float], hidden: bool
) -> None:
    grid = Grid(0.0, 1.0)
    assert hides_sign(summary_of(_rows(values, grid), grid)) is hidden
    moved = Grid(3.0, 1.0)
    assert not hides_sign(summary_of(_rows([v + 3.0 for v in values], moved), moved))


def test_a_bin_around_0_hides_the_sign_of_its_values() -> None:
    grid = Grid(100.0, 1.0)  # bins are almost a unit wide at 0
    found = summary_of(_rows([-0.01, 0.01, 100.0], grid), grid)
    assert found.bins.size == 2
    assert hides_sign(found)


def test_rows_of_an_engine_are_the_summary_of_their_values() -> None:
    """Also for missing and infinite values, and values whose square would be infinite."""
    grid = Grid(2.0, 0.5)
    values = [2.0, 1.0, -4.0, 3.0, 3.0, 1e9, -1e9, math.inf, math.inf, -math.inf, math.nan]
    found, expected = summary_of(_rows(values, grid), grid), Summary.of(values, grid)
    assert (found.nan, found.plus_inf, found.minus_inf) == (1, 2, 1)
    assert found.bins.tolist() == expected.bins.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-12)
    assert (found.minimum, found.maximum) == (expected.minimum, expected.maximum)
    far = _rows([1.0], grid)
    for at, (k, below) in enumerate([(FARTHEST_BIN, False), (FARTHEST_BIN, True)]):
        far |= {"bin": np.array([float(k)]), "below": [below]}
        ends = summary_of(far, grid)
        assert (ends.plus_inf, ends.minus_inf) == ((1, 0), (0, 1))[at]
    far |= {"bin": np.array([FARTHEST_BIN - 1.0]), "below": [False]}
    assert summary_of(far, grid).plus_inf == 0


def test_the_ends_of_summed_values_are_those_of_their_outermost_bins() -> None:
    grid = Grid(0.0, 1.0)
    found = summary_of(_rows([-3.001, -3.0, 2.0, 2.001], grid), grid)
    width = math.expm1(1.0 / 128.0)
    for end, value in ((found.minimum, -3.001), (found.maximum, 2.001)):
        assert abs(value) <= abs(end) <= abs(value) + width * (1.0 + abs(value))


# samples


@pytest.mark.parametrize(
    ("column", "kind", "unit"),
    [
        ("s", "", ""),  # a column, not a unit
        ("ms", NUMBER, ""),
        ("latency_s", NUMBER, "s"),
        ("p95_latency_ms", "", "ms"),
        ("_ms", NUMBER, "ms"),
        ("latency_MS", NUMBER, ""),
        ("latency_ms_max", NUMBER, ""),
        ("s", DURATION, "s"),
        ("latency_ms", DURATION, "s"),  # durations are seconds whatever their name
    ],
)
def test_the_unit_of_a_column_is_the_end_of_its_name(column: str, kind: str, unit: str) -> None:
    assert unit_of(column, kind) == unit
    assert labelled_column(HeldColumn(np.ones(2)), column, "x", kind).unit == unit


def test_only_many_values_without_groups_are_summed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dkmd.sources.column_data.LARGE", 3)
    values = np.arange(4.0)
    assert HeldColumn(values).summed
    assert not HeldColumn(values[:3]).summed
    assert not HeldColumn(values, np.array(list("abcd"))).summed


def test_logarithms_of_held_values_stop_below_their_edge() -> None:
    held, grid = HeldColumn(np.array([1.0, 2.0, 4.0, math.nan])), Grid(0.0, 1.0)
    assert held.logs(grid).size == 3
    below = held.logs(grid, 4.0)
    assert below.size == 2
    assert below.maximum == pytest.approx(math.log(2.0))


# pairs


def test_two_sides_share_the_grid_that_one_of_them_fixes() -> None:
    stored = StoredColumn(Summary.of([1.0, 2.0, 3.0], Grid(2.0, 0.25)))
    other = HeldColumn(np.arange(10.0))
    assert common_grid(stored, other) == common_grid(other, stored) == Grid(2.0, 0.25)
    shared = Grid(5.0, 1.0)
    streams = [StreamedColumn(np.arange(9.0), lambda grid, _: Summary(grid), each) for each in
               (shared, shared, Grid(6.0, 1.0), None)]  # fmt: skip
    assert common_grid(streams[0], streams[1]) is shared
    for unlike in (streams[2], streams[3]):
        assert common_grid(streams[0], unlike) not in (shared, unlike.grid)
    fitted = common_grid(streams[3], other)
    assert fitted == fitted.rounded()


@pytest.mark.parametrize(("units", "suits"), [(0.9, True), (2.1, False)])
def test_a_grid_is_too_coarse_from_twice_the_unit_that_suits(units: float, suits: bool) -> None:
    values = np.random.default_rng(0).normal(10.0, 1.0, 5_000)
    best = Grid.fit(values)
    found = better_grid(Summary.of(values, Grid(best.center, units * best.unit)))
    assert (found is None) is suits
    if found is not None:
        assert found.unit == pytest.approx(best.unit, rel=0.5)


@pytest.mark.parametrize(
    ("units", "suits"), [(3.5, True), (-3.5, True), (4.8, False), (-4.8, False)]
)
def test_a_grid_is_off_centre_from_four_units_on(units: float, suits: bool) -> None:
    values = np.random.default_rng(0).normal(10.0, 1.0, 5_000)
    best = Grid.fit(values)
    moved = Grid(best.center + units * best.unit, best.unit)
    assert (better_grid(Summary.of(values, moved)) is None) is suits


@pytest.mark.parametrize(
    ("grid", "kept"),
    [
        (Grid(0.0, 0.125), True),
        (Grid(0.0, 0.125 / 2.0**15), True),
        (Grid(0.0, 0.125 / 2.0**25), False),  # as fitted to equal values
        (Grid(0.0, 1.0), False),  # too coarse
        (Grid(0.9 * FAR_OFF * 0.125, 0.125), True),
        (Grid(1.3 * FAR_OFF * 0.125, 0.125), False),  # too far off
    ],
)
def test_a_stored_grid_is_kept_where_it_suits_both_sides(grid: Grid, kept: bool) -> None:
    rng = np.random.default_rng(1)
    stored = StoredColumn(Summary.of(rng.normal(0.0, 1.0, 500), grid))
    held = HeldColumn(rng.normal(0.0, 1.0, 500))
    for sides in ((stored, held), (held, stored)):
        grids = {summary.grid for summary in summaries_of_pair(*sides)}
        assert len(grids) == 1
        assert (grids == {grid}) is kept


def test_both_sides_weigh_the_same_in_a_grid_that_suits_both() -> None:
    """For any number of values on either side. Missing values do not count."""
    stored = StoredColumn(Summary.of(np.arange(1000.0), Grid(500.0, 1.0)))
    for side in (stored, HeldColumn(np.array([1.0, 2.0, math.nan, 4.0]))):
        values, weights = _weighted(side)
        assert values.size == weights.size
        assert weights.sum() == pytest.approx(1.0)


# columns


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.5", 1.5), (" 2 ", 2.0), ("-inf", -math.inf), ("True", 1.0), ("FALSE", 0.0), ("1_0", 10.0),
     ("one", None), ("1,5", None), ("N/A", math.nan), ("", math.nan), ("None", math.nan)],
)  # fmt: skip
def test_text_is_a_number_a_missing_value_or_neither(text: str, number: float | None) -> None:
    found = parse_number(text)
    assert found == number or (
        number is not None and math.isnan(number) and math.isnan(found or 0.0)
    )


def test_levels_are_ordered_as_numbers_before_words() -> None:
    assert sorted(["b", "10", "2", "nan", "-1", "a"], key=level_order) == [
        "-1", "2", "10", "a", "b", "nan"
    ]  # fmt: skip


def test_the_only_numeric_column_is_chosen_and_no_other() -> None:
    assert the_numeric_column({"a": TEXT, "b": DURATION, "c": NOTHING}, "t") == "b"
    assert the_numeric_column({"a": NUMBER, "b": NUMBER}, "t", ("a", None)) == "b"
    assert the_numeric_column({"a": NOTHING, "b": TEXT}, "t") == "a"
    assert the_numeric_column({"a": TEXT}, "t") == "a"
    for kinds, words in (
        ({"a": NUMBER, "b": DURATION}, "t has several numeric columns, name one .*: 'a', 'b'"),
        ({"a": TEXT, "b": OTHER}, "t has no numeric column: it has 'a', 'b'"),
        ({"a": OTHER}, "t has no numeric column: it has 'a'"),
        ({}, "t has no numeric column: it has "),
    ):
        with pytest.raises(ValueError, match=words) as caught:
            the_numeric_column(kinds, "t")
        assert not isinstance(caught.value, TooLittleError)
    with pytest.raises(TooLittleError, match="t has no rows with values, only columns 'a', 'b'"):
        the_numeric_column({"a": NOTHING, "b": NOTHING}, "t")
    with pytest.raises(TooLittleError, match="t has no values in columns 'a', 'b'"):
        the_numeric_column({"a": NOTHING, "b": NOTHING, "c": TEXT}, "t")


def test_a_long_cell_is_shown_in_sixty_characters() -> None:
    assert "'" + 58 * "x" + "'" in str(not_a_number("t", 1, 58 * "x"))
    shown = str(not_a_number("t", 1_234, 59 * "x"))
    assert shown == "t, row 1,234: '" + 56 * "x" + "... is not a number"


def test_kinds_of_columns_follow_from_their_values() -> None:
    assert kind_of([1, None, 2.5]) == NUMBER
    assert kind_of(["1", None]) == TEXT
    assert kind_of([None, None]) == NOTHING
    assert kind_of([1, "x"]) == TEXT  # NumPy turns both into text
    assert kind_of(np.array([1, "x"], dtype=object)) == OTHER
    assert kind_of(pd.Series([1 + 2j])) == OTHER
    with pytest.raises(ValueError, match="row 1: "):
        as_numbers([1 + 2j], "x")


# spelling


@pytest.mark.parametrize(
    ("counts", "mostly"),
    [((4, 2, 0, 0), False), ((5, 3, 0, 0), True), ((4, 2, 0, 1), True), ((4, 2, 1, 1), False),
     ((0, 0, 0, 0), False), ((1, 0, 0, 1), True)],
)  # fmt: skip
def test_a_column_is_numbers_where_more_than_half_of_its_cells_are(
    counts: tuple[int, int, int, int], mostly: bool
) -> None:
    """Commas count as decimal commas only if no number has a point."""
    assert Spelling(*counts).mostly_numbers is mostly


# messages


def test_what_an_engine_says_becomes_one_line_without_secrets() -> None:
    told = gist(ValueError("Binder Error: no column\nLINE 1: SELECT x\n   ^\nCandidates: y"))
    assert told == "no column Candidates: y"
    long = "x" * 60
    assert gist(ValueError(f"{long}\nmore")) == long
    assert gist(ValueError(f"{long[1:]}\nmore")) == f"{long[1:]} more"
    assert gist(ValueError("")) == "ValueError"
    assert gist(ValueError("at postgresql://me:pw@host/db")) == "at postgresql://…@host/db"
    assert without_password("a=1 TOKEN=abc;b=2") == "a=1 TOKEN=***;b=2"


@pytest.mark.parametrize("limit", ["", "2", "2 GBs", "-1GB", "2XB", "1e3MB"])
def test_a_size_of_memory_has_a_number_and_a_unit(limit: str) -> None:
    with pytest.raises(ValueError, match="memory must be like 500MB or 2GB"):
        limit_memory(limit)


# the report's rows


def test_the_report_counts_the_groups_of_reference_before_those_of_current() -> None:
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 7, 90), rng.integers(0, 19, 200)
    answer = compare(rng.normal(size=90), rng.normal(size=200), groups=groups)
    settings = dict(page_of(answer).rows[0].settings)
    assert settings["groups"].text == "7 and 19"


# files by DuckDB


def _parquet(path: Path, rows: int) -> DuckFile:
    pq.write_table(pa.table({"x": np.arange(float(rows))}), path, row_group_size=10)
    return DuckFile(str(path), "parquet")


def test_no_more_of_a_file_is_read_than_is_asked_for(tmp_path: Path) -> None:
    file = _parquet(tmp_path / "x.parquet", 100)
    assert file.part("x", None, None, 7)[0].tolist() == [*range(7)]
    assert file.part("x", None, None, None)[0].size == 100


@pytest.mark.parametrize(("rows", "count"), [(8 * 3 * 5, 3), (8 * 3 * 5 - 1, 0)])
def test_runs_are_taken_from_all_over_a_file_that_is_long_enough(
    rows: int, count: int, tmp_path: Path
) -> None:
    file = _parquet(tmp_path / "x.parquet", rows)
    runs = file.runs(3, 5)
    assert len(runs) == count
    found = [relation([file.selection("x", None, None, run)]).fetchnumpy()["x"] for run in runs]
    starts = (0, (rows - 5) // 2, rows - 5)
    for values, start in zip(found, starts, strict=False):
        assert values.tolist() == [*range(start, start + 5)]


def test_a_limit_of_memory_outlasts_a_database_that_ended() -> None:
    def limit() -> str:
        return str(connection().execute("SELECT current_setting('memory_limit')").fetchone()[0])

    limit_memory("300MB")
    try:
        assert limit() == "286.1 MiB"
        order = "SELECT current_setting('preserve_insertion_order')"
        assert connection().execute(order).fetchone()[0] is True  # neighbours are looked at
        connection.cache_clear()
        assert limit() == "286.1 MiB"
    finally:
        limit_memory("8GB")


# files that are held, streamed, or mixed


def _arrow(path: Path, columns: dict[str, Any], rows: int) -> Path:
    table = pa.table(columns)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


def test_batches_are_streamed_with_groups_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _arrow(
        tmp_path / "x.arrow", {"x": np.arange(50.0), "g": ["a", "b", "c"] * 16 + ["d"] * 2}, 7
    )
    moved = _arrow(tmp_path / "y.arrow", {"x": np.arange(50.0) + 9, "g": ["a", "b"] * 25}, 7)
    held = compare(str(path), str(moved), column="x", groups="g", scale=10.0)
    monkeypatch.setattr(files, "LARGE", 10)
    for groups in (None, "g"):
        assert isinstance(files.open_files(str(path)).read("x", groups), StreamedColumn)
    streamed = compare(str(path), str(moved), column="x", groups="g", scale=10.0)
    assert streamed.pvalue == pytest.approx(held.pvalue, rel=1e-9)
    assert streamed.shift == pytest.approx(held.shift, rel=1e-9)


@pytest.mark.parametrize(("rows", "kind"), [(10, HeldColumn), (11, StreamedColumn)])
def test_a_file_is_held_up_to_so_many_values(
    rows: int, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 10)
    text = "".join(f"{i}\n" for i in range(rows))
    (tmp_path / "x.txt").write_text(text)
    (tmp_path / "x.csv").write_text(f"value\n{text}")
    for name in ("x.txt", "x.csv"):
        assert isinstance(files.open_files(str(tmp_path / name)).read("value"), kind)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    piped = files.open_files("-").read("value")  # a pipe cannot be read again
    assert isinstance(piped, HeldColumn)
    assert piped.values.tolist() == [*range(rows)]


def test_files_that_stay_may_have_any_number_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "PIPED", 10)
    (tmp_path / "x.txt").write_text("1\n" * 100)
    data = files.open_files(str(tmp_path / "x.txt")).read("value")
    assert isinstance(data, HeldColumn)
    assert data.values.size == 100


def test_a_stream_of_batches_shows_values_from_all_over_and_sums_up_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 10)
    values = np.arange(1.0, 1001.0)
    path = _arrow(tmp_path / "x.arrow", {"x": values}, 200)
    data = files.open_files(str(path)).read("x")
    assert isinstance(data, StreamedColumn)
    assert data.preview.tolist() == [v for v in values if (v - 1) % 200 % 61 == 0]
    grid = Grid(0.0, 1.0)
    assert data.summary(grid).counts.sum() == 1000
    below = data.logs(grid, 100.0)
    assert below.size == 99
    assert below.maximum == pytest.approx(math.log(99.0))


def test_a_folder_may_mix_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels are sorted as numbers. Each file adds its rows to them."""
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"x": rng.gamma(4.0, 5.0, 900), "arm": [10, 9, 100] * 300})
    frame[:300].to_csv(tmp_path / "a.csv", index=False)
    frame[300:600].to_parquet(tmp_path / "b.parquet")
    _arrow(tmp_path / "c.arrow", {n: frame[600:][n].to_numpy() for n in frame}, 50)
    table = files.open_files(str(tmp_path))
    assert table.levels("arm") == ["9", "10", "100"]
    options: Any = {"column": "x", "by": "arm", "reference": 9, "current": 100, "scale": 5.0}
    expected = compare(frame, **options)
    assert compare(tmp_path, **options).shift == expected.shift
    monkeypatch.setattr(files, "LARGE", 10)
    found = compare(tmp_path, **options)
    assert found.values is None
    assert (found.reference.size, found.current.size) == (300, 300)
    assert found.shift == pytest.approx(expected.shift, abs=1e-8)
    assert found.relative_shift == pytest.approx(expected.relative_shift, rel=1e-3)


def test_a_column_that_is_empty_in_the_first_file_holds_what_the_next_has(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n,1\n,2\n")
    (tmp_path / "2.csv").write_text("a,b\n5,\n6,\n")
    (tmp_path / "3.csv").write_text("b,a\n5,word\n")
    table = files.open_files(str(tmp_path))
    assert table.kinds() == {"a": NUMBER, "b": NUMBER}


def test_the_sample_of_a_large_file_is_the_same_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 10)
    monkeypatch.setattr("dkmd.sources.engines.tables.FIT_ROWS", 100)
    path = tmp_path / "x.csv"
    pd.DataFrame({"x": np.random.default_rng(0).normal(size=5_000)}).to_csv(path, index=False)
    first, second = (files.open_files(str(path)).read("x") for _ in range(2))
    assert isinstance(first, StreamedColumn)
    assert isinstance(second, StreamedColumn)
    assert 0 < first.preview.size < 5_000
    assert sorted(first.preview) == sorted(second.preview)


# characters


def test_a_file_is_read_whole_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert characters.whole_file(path, 5, "a test") == b"12345"
    with pytest.raises(TooLongError, match="x is too large for a test: it holds more"):
        characters.whole_file(path, 4, "a test")


def test_text_that_ends_within_a_character_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("a,ü".encode()[:-1])
    assert characters.may_be_latin(str(path))
    assert characters.starts_as_utf8("a,ü".encode()[:-1])
    assert not characters.starts_as_utf8("a,ü,".encode("latin-1"))
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        assert characters.decoded("a,ü".encode(encoding)).endswith("a,ü")


@pytest.mark.parametrize(("length", "fits"), [(12, True), (13, False)])
def test_a_line_is_refused_as_soon_as_it_is_too_long(
    length: int, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "PIECE_CHARACTERS", 1)
    monkeypatch.setattr(text_file, "LONGEST_LINE", 12)
    path = tmp_path / "x.txt"
    path.write_text(f"1\n{'2'.zfill(length)}\n")
    if fits:
        assert isinstance(files.open_files(str(path)).read("value"), HeldColumn)
    else:
        with pytest.raises(ValueError, match=r"x.txt, row 2: the line is longer than 12 char"):
            files.open_files(str(path)).read("value")
