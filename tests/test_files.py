"""Input files: every format gives the same answers as its values; errors name bad files."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather
from pyarrow import parquet as pq

from dkmd import Grid, Summary, compare, drift
from dkmd.sources.column_data import HeldColumn
from dkmd.sources.files import duckdb_file
from dkmd.sources.files import table as files
from dkmd.sources.files.duckdb_connection import limit_memory
from dkmd.sources.files.table import open_files
from dkmd.sources.memory.columns import as_numbers

Array = np.ndarray[tuple[int], np.dtype[np.float64]]
pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

ODD = 'p "95"; DROP TABLE x -- ms'


def _sample(seed: int, size: int = 300) -> Array:
    """Positive values, one missing, one infinite."""
    values = np.random.default_rng(seed).gamma(4.0, 5.0, size) + 80.0 + seed
    values[3], values[5] = math.nan, math.inf
    return values


def _frame(values: Array) -> pd.DataFrame:
    return pd.DataFrame({ODD: values, "word": "a,b"})


def _write_stream(path: Path, values: Array) -> None:
    table = pa.Table.from_pandas(_frame(values))
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)


def _records(values: Array) -> list[dict[str, Any]]:
    return [{ODD: None if math.isnan(v) else float(v), "word": "a"} for v in values]


WRITERS: dict[str, Callable[[Path, Array], Any]] = {
    "x.csv": lambda p, v: _frame(v).to_csv(p, index=False),
    "x.csv.gz": lambda p, v: _frame(v).to_csv(p, index=False),
    "windows.csv": lambda p, v: _frame(v).to_csv(p, index=False, lineterminator="\r\n"),
    "semicolon.csv": lambda p, v: _frame(v).to_csv(p, index=False, sep=";"),
    "x.tsv": lambda p, v: _frame(v).to_csv(p, index=False, sep="\t"),
    "x.json": lambda p, v: p.write_text(json.dumps(_records(v))),
    "x.ndjson": lambda p, v: p.write_text("\n".join(json.dumps(r) for r in _records(v))),
    "x.parquet": lambda p, v: _frame(v).to_parquet(p),
    "x.feather": lambda p, v: feather.write_feather(pa.Table.from_pandas(_frame(v)), p),
    "x.arrow": _write_stream,
    "x.npy": np.save,
    "x.txt": lambda p, v: p.write_text("# ms\n\n" + "\n".join(map(repr, v.tolist())) + "\n"),
    "x.txt.gz": lambda p, v: p.write_bytes(
        gzip.compress("\n".join(map(repr, v.tolist())).encode())
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_gives_what_its_values_give(name: str, tmp_path: Path) -> None:
    samples = _sample(0), _sample(3)
    paths = tmp_path / "a" / name, tmp_path / "b" / name
    for path, values in zip(paths, samples, strict=True):
        path.parent.mkdir()
        WRITERS[name](path, values)
    answer, expected = compare(*paths), compare(*samples)
    assert (answer.shift, answer.pvalue) == (expected.shift, expected.pvalue)
    assert (answer.current.nan, answer.current.plus_inf) == (1, 1)
    column = "value" if Path(name).suffixes[0] in (".npy", ".txt") else ODD
    assert answer.name == column
    assert compare(*paths, column=column).shift == expected.shift
    with pytest.raises(ValueError, match="has no column 'nothing'"):
        compare(*paths, column="nothing")


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.json", "x.arrow", "x.npy", "x.txt"])
def test_a_large_file_is_summed_not_held(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal to arrays, to the accuracy of bins. Percentages work too."""
    samples = _sample(0, 60_000), _sample(1, 50_000)
    paths = tmp_path / "a" / name, tmp_path / "b" / name
    for path, values in zip(paths, samples, strict=True):
        path.parent.mkdir()
        WRITERS[name](path, values)
    monkeypatch.setattr(files, "LARGE", 10_000)
    fixed = compare(*samples, scale=10.0), compare(*paths, scale=10.0)
    assert fixed[1].shift == pytest.approx(fixed[0].shift, abs=1e-9 * 10.0)
    # ψ's width comes from a median, which bins give to a thousandth of the scale
    expected, answer = compare(*samples, margin="1%"), compare(*paths, margin="1%")
    assert answer.values is None
    assert answer.shift == pytest.approx(expected.shift, rel=1e-4)
    assert answer.relative_shift == pytest.approx(expected.relative_shift, rel=1e-4)
    assert answer.verdict == expected.verdict
    assert (answer.reference.size, answer.reference.nan) == (59_999, 1)
    # a quantile of a summary is off by less than a bin
    for q, value in expected.reference.quantiles.items():
        assert answer.reference.quantiles[q] == pytest.approx(value, rel=1e-3)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.floats(width=32), min_size=1, max_size=50),
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
)
def test_sums_per_bin_by_sql_are_those_of_a_summary(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    values: list[float],
    center: float,
    unit: float,
) -> None:
    monkeypatch.setattr(files, "LARGE", 0)
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": values}), path)
    grid = Grid(center, unit)
    found = open_files(str(path)).read("x").summary(grid)
    expected = Summary.of(values, grid)
    assert (found.size, found.nan) == (expected.size, expected.nan)
    assert (found.plus_inf, found.minus_inf) == (expected.plus_inf, expected.minus_inf)
    # the ends of the outermost bins, or the values there
    slack = 1e-12 * (abs(center) + unit)
    # values of a bin that are a millionth of their distance apart are as good as ties
    slack += 1e-6 * max(abs(expected.minimum - center), abs(expected.maximum - center), unit)
    assert found.minimum <= expected.minimum + slack + 1e-12 * abs(expected.minimum)
    assert found.maximum >= expected.maximum - slack - 1e-12 * abs(expected.maximum)
    # a value within a rounding error of an edge may land on either side of it
    shared = np.isin(found.bins, expected.bins)
    assert shared.sum() >= found.bins.size - 2
    assert found.sums.sum() == pytest.approx(expected.sums.sum(), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
@pytest.mark.parametrize("values_ahead", [1, 1_000, 4_000_000])
def test_drift_of_files_is_drift_of_frames_however_columns_are_read(
    kind: str, values_ahead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_file, "READ_AHEAD", values_ahead)
    rng = np.random.default_rng(8)
    frames = [
        pd.DataFrame({f"c{i}": rng.normal(i * later, 1.0, 300) for i in range(7)})
        for later in (0.0, 0.1)
    ]
    frames[1].loc[5, "c3"] = np.nan
    for frame, name in zip(frames, "ab", strict=True):
        path = tmp_path / f"{name}.{kind}"
        match kind:
            case "csv":
                frame.to_csv(path, index=False)
            case "json":
                frame.to_json(path, orient="records", double_precision=15)
            case _:
                frame.to_parquet(path)
    expected = drift(*frames)
    found = drift(tmp_path / f"a.{kind}", tmp_path / f"b.{kind}")
    assert list(found) == list(expected)
    for name in expected:
        assert found[name].shift == pytest.approx(expected[name].shift, rel=1e-12)
        assert found[name].current.nan == expected[name].current.nan


def test_a_word_in_one_of_many_columns_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = "\n".join(f"{i},{i}" for i in range(30_000))
    path.write_text(f"a,b\n{rows}\n7,seven\n")
    assert "row 30,001: 'seven' is not a number" in drift(path, path).skipped["b"]


def test_a_text_cell_far_down_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    lines = [f"{i % 1000},{i / 2}" for i in range(60_000)]
    lines[50_000] = "0,oops"
    path.write_text("part,lag\n" + "\n".join(lines))
    with pytest.raises(ValueError, match=r"x.csv, column 'lag', row 50,001: 'oops' is not a num"):
        compare(path, path, column="lag")
    assert list(drift(path, path)) == ["part"]
    assert "row 50,001" in drift(path, path).skipped["lag"]


@pytest.mark.parametrize("text", ["NA", "null", "", "NaN", "n/a"])
def test_words_for_missing_values_are_missing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"a,b\n{text},1\n2,1\n3.5,1\n")
    data = open_files(str(path)).read("a")
    assert isinstance(data, HeldColumn)
    np.testing.assert_array_equal(data.values, [math.nan, 2.0, 3.5])
    assert open_files(str(path)).kinds()["a"] == "numbers"


@pytest.mark.parametrize(
    "cells",
    [
        ["inf", "1", "2.5"],
        ["1", "-inf", "Infinity", "+inf", "-Infinity", "nan", "NA"],
        ["NA", "", "inf", "n/a"],
        ["", *["NA"] * 3000, "inf", "7"],  # the rows that are inspected first are empty
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_infinite_and_missing_cells_are_numbers(
    cells: list[str], suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"x.{suffix}"
    if suffix == "csv":
        path.write_text("x,word\n" + "".join(f"{cell},a\n" for cell in cells))
    else:
        path.write_text(json.dumps([{"x": cell or None, "word": "a"} for cell in cells]))
    expected = as_numbers(cells, "x")
    assert open_files(str(path)).kinds() == {"x": "numbers", "word": "text"}
    answer = compare(path, [1.0, 2.0, 4.0])
    facts = answer.reference
    assert answer.name == "x"
    assert (facts.size, facts.nan) == (np.sum(~np.isnan(expected)), np.sum(np.isnan(expected)))
    assert facts.plus_inf == np.sum(expected == math.inf)


def test_a_word_for_infinity_in_the_first_row_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("inf\n1\n2\n")
    assert compare(path, [1.0, 2.0]).reference.size == 3


def test_an_empty_column_is_none_to_choose_from(tmp_path: Path) -> None:
    """A delimiter at the end of lines makes an empty column."""
    path = tmp_path / "x.csv"
    path.write_text("x,\n1,\n2,\n4,\n")
    assert compare(path, path).name == "x"
    assert drift(path, path).skipped == {"column1": "all its values are missing"}


@pytest.mark.parametrize("content", ["x\n", "x\nNA\n\nnan\n", "x,word\n,a\n,b\n"])
def test_a_column_without_values_cannot_be_compared_and_says_so(
    content: str, tmp_path: Path
) -> None:
    path, full = tmp_path / "x.csv", tmp_path / "full.csv"
    path.write_text(content)
    full.write_text("x\n1\n2\n3\n")
    for pair in ((path, full), (full, path), (path, path)):
        answer = compare(*pair)
        assert "x cannot be compared" in str(answer)
        assert re.search(r"has no rows|has no values in column 'x'", str(answer))


def test_an_empty_table_takes_the_column_of_the_other_side(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,lag\n")
    (tmp_path / "b.csv").write_text("id,lag\nx,1\ny,2\n")
    answer = compare(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (answer.name, answer.reference.size, answer.current.size) == ("lag", 0, 2)


EUROPEAN: dict[str, dict[str, list[float]]] = {
    "id;lag\n0;101,845\n1;99\n2;100,25\n": {"id": [0, 1, 2], "lag": [101.845, 99, 100.25]},
    "lag;b\n1,5;2,5\n-3,5;4e2\n": {"lag": [1.5, -3.5], "b": [2.5, 400]},
    "0;1,5\n1;2,5\n": {"column0": [0, 1], "column1": [1.5, 2.5]},
    "id\tlag\n0\t1,5\n1\tinf\n": {"id": [0, 1], "lag": [1.5, math.inf]},
    "lag\n101,845\n99\n100,25\n": {"lag": [101.845, 99, 100.25]},
}


@pytest.mark.parametrize("content", EUROPEAN)
def test_decimal_commas_are_read_where_commas_separate_nothing(
    content: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    table = open_files(str(path))
    for column, expected in EUROPEAN[content].items():
        assert table.kinds()[column] == "numbers"
        data = table.read(column)
        assert isinstance(data, HeldColumn)
        assert data.values.tolist() == expected


@pytest.mark.parametrize("cells", ["1.5;1,5", "1,5;1.234,5", "2,5;1,234,567"])
def test_points_and_commas_together_are_refused(cells: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    first, second = cells.split(";")
    path.write_text(f"id;lag\na;{first}\nb;{first}\nc;{second}\n")
    with pytest.raises(ValueError, match=r"row 3: '.*' is not a number"):
        compare(path, path, column="lag")


def test_columns_of_different_names_are_not_compared_by_chance(tmp_path: Path) -> None:
    for name in ("id", "lag", "value"):
        (tmp_path / f"{name}.csv").write_text(f"{name}\n1\n2\n4\n")
    with pytest.raises(ValueError, match=r"lag.csv is 'lag' and that of id.csv is 'id'"):
        compare(tmp_path / "lag.csv", tmp_path / "id.csv")
    (tmp_path / "none.csv").write_text("1\n2\n4\n")
    (tmp_path / "x.txt").write_text("1\n2\n4\n")
    for other in ("none.csv", "x.txt", "value.csv"):  # their columns have no real name
        assert compare(tmp_path / "lag.csv", tmp_path / other).shift == 0.0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_text_in_other_encodings_is_read(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("größe,ort\n1.5,Zürich\n2.5,Köln\n3,Ulm\n".encode(encoding))
    data = open_files(str(path)).read("größe")
    assert isinstance(data, HeldColumn)
    assert data.values.tolist() == [1.5, 2.5, 3.0]
    assert open_files(str(path)).levels("ort") == ["Köln", "Ulm", "Zürich"]


def test_parquet_types_become_numbers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = {
        "decimal": pa.array([Decimal("1.25"), None, Decimal("3.50")]),
        "duration": pa.array([1000, None, 3000], pa.duration("ms")),
        "small": pa.array([1, None, 3], pa.int8()),
        "flag": pa.array([True, None, False]),
        "when": pa.array([1, 2, 3], pa.timestamp("us")),
        "word": ["a", "b", "c"],
    }
    pq.write_table(pa.table(columns), path)
    table = open_files(str(path))
    expected = (("decimal", 1.25, 3.5), ("duration", 1, 3), ("small", 1, 3), ("flag", 1, 0))
    for name, first, last in expected:
        data = table.read(name)
        assert isinstance(data, HeldColumn)
        np.testing.assert_array_equal(data.values, [first, math.nan, last])
    when = table.read("when")
    assert isinstance(when, HeldColumn)
    assert (when.values + when.offset).tolist() == [1e-6, 2e-6, 3e-6]
    with pytest.raises(ValueError, match=r"column 'word', row 1: 'a' is not a number"):
        table.read("word")
    with pytest.raises(ValueError, match=r"several numeric columns, name one .*: 'decimal', 'dur"):
        compare(path, path)


def test_levels_and_groups_come_from_other_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"lag": _sample(0), "arm": np.arange(300) % 3, "user": np.arange(300) % 40}
    )
    for name, write in (("x.csv", frame.to_csv), ("x.parquet", frame.to_parquet)):
        path = tmp_path / name
        write(path, index=False)
        answer = compare(path, column="lag", by="arm", reference="0", current=2, groups="user")
        rows = frame["arm"] == 0, frame["arm"] == 2
        lags, users = ([frame[c][r].to_numpy() for r in rows] for c in ("lag", "user"))
        assert answer.pvalue == compare(*lags, groups=users).pvalue
    frame.loc[4, "user"] = math.nan
    frame.to_parquet(path)
    told = compare(path, path, column="lag", groups="user").warnings[0]
    assert told == "x.parquet: 1 row has no label in column 'user' and was left out"


def test_folders_and_patterns_stand_for_their_files(tmp_path: Path) -> None:
    first, second = _sample(0), _sample(1)
    for name, values in (("1.csv", first), ("2.csv", second)):
        _frame(values).to_csv(tmp_path / name, index=False)
    (tmp_path / "notes.md").write_text("not data")
    for path in (str(tmp_path), str(tmp_path / "*.csv"), str(tmp_path / "[12].csv")):
        data = open_files(path).read(ODD)
        assert isinstance(data, HeldColumn)
        np.testing.assert_array_equal(data.values, np.concatenate([first, second]))
    (tmp_path / "2.csv").write_text("other\n1\n2\n")
    with pytest.raises(ValueError, match=r"2.csv has no column"):
        open_files(str(tmp_path)).read(ODD)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "0 bytes"),
        ("x.parquet", b"PAR1 this is none", "x.parquet: "),
        ("x.json", b'{"a": [1, 2', "x.json: "),
        ("x.npy", b"\x93NUMPY", "not an array"),
        ("x.arrow", b"ARROW1 not", "x.arrow: "),
        ("x.txt", b"1\n2\nthree\n", "row 3: 'three' is not a number"),
        ("x.txt", b"\xff\xfe\x00", "not text"),
        ("x.txt.gz", b"1\n2\n", "not a whole gzip file"),
        ("x.xlsx", b"PK", "unknown format .xlsx"),
        ("x.csv", b"a,b\n", "has no rows with values, only columns 'a', 'b'"),
        ("x.csv", b"a,b,c\n,NA,x\n,,y\n", "has no values in columns 'a', 'b'"),
        ("x.csv", b"a,b\nx,y\n", "no numeric column"),
        ("x.csv", b"a\n1\n2\nfoo\n", "column 'a', row 3: 'foo' is not a number"),
        ("x.csv", b"word\nfoo\nbar\n", "column 'word', row 1: 'foo' is not a number"),
        ("x.csv", b"a\n101,845\n99,5\n", "first line, 'a', does not fit the 2 columns"),
        ("x.csv", b"a\n101\n99,5\n", "first line, 'a', does not fit the 2 columns"),
        ("x.csv", b'n,a\nx,"1,234"\ny,"2,5"\n', "row 1: '1,234' is not a number"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=name) as caught:
        compare(path, [1.0, 2.0, 3.0])
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file"):
        compare(tmp_path / "x.csv", [1.0])
    with pytest.raises(FileNotFoundError, match="no file matches"):
        compare(tmp_path / "*.csv", [1.0])
    with pytest.raises(ValueError, match="no data file"):
        compare(tmp_path, [1.0])


CELLS = ["1", "-2.5", "1e400", "nan", "", "inf", "x", '"', "a,b", "\0", "ü", "'; --", "[1]", "{}"]
TABLES = st.builds(
    lambda rows, between, end: end.join(between.join(row) for row in rows).encode(),
    st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", " "]),
    st.sampled_from(["\n", "\r\n"]),
)
"""Bytes that look more like a table than random bytes do."""

RAW = re.compile(r"SELECT|read_csv|read_json|read_parquet|INTERNAL|FATAL|Traceback|allow_pickle")
"""Internal words that must not appear in messages."""


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=200) | TABLES,
    st.sampled_from([".csv", ".tsv", ".json", ".ndjson", ".txt", ".npy", ".parquet", ".arrow"]),
)
def test_any_bytes_give_an_answer_or_a_clear_error(
    tmp_path: Path, content: bytes, suffix: str
) -> None:
    """One line that names the file, without SQL. The next file is read as usual."""
    path, good = tmp_path / f"x{suffix}", tmp_path / "good.csv"
    path.write_bytes(content)
    good.write_text("a\n1\n2\n4\n")
    try:
        answer = compare(path, [1.0, 2.0, 3.0])
    except (ValueError, TypeError) as error:
        message = str(error)
        assert f"x{suffix}" in message
        assert len(message.splitlines()) == 1
        assert not RAW.search(message)
    else:
        assert 0 <= answer.reference.size + answer.reference.nan <= len(content)
        assert answer.current.size == 3
    assert compare(good, good).current.size == 3


def test_large_tables_compare_levels_and_groups_as_small_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two files of one pattern need two passes, groups one more, and little memory."""
    rng = np.random.default_rng(4)
    arm, user = rng.integers(0, 2, 40_000), rng.integers(0, 300, 40_000)
    lag = rng.gamma(4.0, 5.0, 40_000) + 50.0 + arm + rng.normal(0.0, 2.0, 300)[user]
    frame = pd.DataFrame({"lag": lag, "arm": arm, "user": user})
    for part, name in ((frame[:25_000], "a.parquet"), (frame[25_000:], "b.parquet")):
        part.to_parquet(tmp_path / name)
    options: Any = {"column": "lag", "by": "arm", "reference": 0, "current": 1, "scale": 10.0}
    pattern = str(tmp_path / "*.parquet")
    expected = [compare(pattern, **options, groups=g) for g in (None, "user")]
    monkeypatch.setattr(files, "LARGE", 1_000)
    limit_memory("200MB")
    try:
        for g, in_memory in zip((None, "user"), expected, strict=True):
            found = compare(pattern, **options, groups=g)
            assert found.values is None
            assert found.shift == pytest.approx(in_memory.shift, abs=1e-8)
            assert found.pvalue == pytest.approx(in_memory.pvalue, rel=1e-4)
            assert found.relative_shift == pytest.approx(in_memory.relative_shift, rel=1e-4)
        small = frame[:900]
        grouped: Any = {"column": "lag", "groups": "user", "scale": 10.0}
        found = compare(pattern, small, **grouped)  # one side is held, the other is not
        in_memory_too = compare(frame, small, **grouped)
        assert found.pvalue == pytest.approx(in_memory_too.pvalue, rel=1e-5)
        with pytest.raises(ValueError, match="has no level '7'"):
            compare(pattern, **(options | {"current": 7}))
    finally:
        limit_memory("8GB")
    with pytest.raises(ValueError, match="memory must be like 500MB"):
        limit_memory("1GB; DROP TABLE x")
