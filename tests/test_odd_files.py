"""Files as people have them: odd names, folders, encodings, headers, endless pipes.

Either the right file is read, or none. Errors name file, column and row in one line.
"""

from __future__ import annotations

import codecs
import gzip
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from shell import here

from dkmd import Comparison, compare, drift
from dkmd.answers.gate import load_benchmarks
from dkmd.sources.column_data import HeldColumn
from dkmd.sources.files import characters, duckdb_file, text_file
from dkmd.sources.files import table as files
from dkmd.sources.files.benchmarks import reading
from dkmd.sources.files.table import open_files
from dkmd.sources.memory.columns import as_labels, as_numbers, kind_of

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower


def _values(path: Path | str, column: str) -> list[float]:
    data = open_files(str(path)).read(column)
    assert isinstance(data, HeldColumn)
    found: list[float] = data.values.tolist()
    return found


def _write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


MAKERS: dict[str, Callable[[Path, list[float]], Any]] = {
    "csv": lambda p, v: pd.DataFrame({"a": v}).to_csv(p, index=False),
    "parquet": lambda p, v: pd.DataFrame({"a": v}).to_parquet(p),
    "json": lambda p, v: pd.DataFrame({"a": v}).to_json(p, orient="records"),
    "npy": lambda p, v: np.save(p, np.array(v)),
    "txt": lambda p, v: p.write_text("".join(f"{x}\n" for x in v)),
}


# names


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    "name", ["d[1]", "d*", "d?", "d[!x]", "~", "file:d1", "s3:d1", "d'1", "d{1,2}"]
)
def test_the_file_that_was_named_is_read_and_no_other(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """d[1].csv is also a pattern that d1.csv matches."""
    column = "value" if kind in ("npy", "txt") else "a"
    MAKERS[kind](tmp_path / f"d1.{kind}", [100.0, 200.0])
    MAKERS[kind](tmp_path / f"{name}.{kind}", [1.5, 2.5])
    monkeypatch.chdir(tmp_path)
    for path in (f"{name}.{kind}", str(tmp_path / f"{name}.{kind}")):
        assert _values(path, column) == [1.5, 2.5]


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_folders_with_patterns_in_their_names_are_read(kind: str, tmp_path: Path) -> None:
    for folder, first in (("run[1]", 1.0), ("run1", 100.0)):
        (tmp_path / folder).mkdir()
        MAKERS[kind](tmp_path / folder / f"x[1].{kind}", [first, first + 1.0])
        MAKERS[kind](tmp_path / folder / f"y.{kind}", [first + 2.0])
    assert _values(tmp_path / "run[1]", "a") == [1.0, 2.0, 3.0]
    assert _values(tmp_path / "run1", "a") == [100.0, 101.0, 102.0]


def test_a_large_file_with_a_pattern_for_its_name_is_the_one_that_is_summed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", 100)
    rng = np.random.default_rng(1)
    for kind in ("csv", "parquet"):
        MAKERS[kind](tmp_path / f"d1.{kind}", list(rng.normal(100.0, 1.0, 400)))
        MAKERS[kind](tmp_path / f"d[1].{kind}", list(rng.normal(0.0, 1.0, 500)))
        answer = compare(tmp_path / f"d1.{kind}", tmp_path / f"d[1].{kind}")
        assert (answer.reference.size, answer.current.size) == (400, 500)
        assert answer.shift == pytest.approx(-100.0, abs=0.5)


def test_file_urls_name_local_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _write(tmp_path / "a b.csv", "a\n1\n2\n")
    monkeypatch.chdir(tmp_path)
    for url in (path.as_uri(), f"file:{path}", "file:a b.csv", f"file://localhost{path}"):
        assert _values(url, "a") == [1.0, 2.0]
    with pytest.raises(ValueError, match="is on another host"):
        open_files("file://elsewhere/x.csv")
    with pytest.raises(FileNotFoundError, match=r"there is no file /nowhere/x\.csv"):
        open_files("file:///nowhere/x.csv")


@pytest.mark.parametrize(
    "url", ["http://host/x.csv", "https://me:s3cret@host/x.csv?sig=s3cret", "S3://b/x*.parquet"]
)
def test_addresses_elsewhere_say_to_download_first(url: str) -> None:
    for words in (("compare", url, "x.csv"), ("drift", url, "x.csv"), ("gate", url, "x.csv")):
        message = here(*words, code=2).stderr
        assert f"{url.partition(':')[0]}:// addresses are not read: download the file" in message
        assert "s3cret" not in message


# folders


def test_a_column_that_one_file_of_a_folder_lacks_costs_that_column_only(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    folder = tmp_path / "f"
    folder.mkdir()
    first = pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "z"])
    for frame, name in ((first, "1.csv"), (first[["a", "b"]], "2.csv")):
        frame.to_csv(folder / name, index=False)
    found = drift(folder, folder)
    assert sorted(found) == ["a", "b"]
    assert found["a"].reference.size == 100
    assert list(found.skipped) == ["z"]
    assert found.skipped["z"] == f"{folder / '2.csv'} has no column 'z': it has 'a', 'b'"


@pytest.mark.parametrize("kind", [pa.list_(pa.decimal128(2, 1)), pa.list_(pa.decimal128(2, 1), 2)])
def test_a_column_of_lists_is_no_column_of_numbers(kind: pa.DataType, tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    lists = pa.array([[Decimal("1.5"), Decimal("2.5")]] * 3, kind)
    pq.write_table(pa.table({"a": [1.0, 2.0, 4.0], "lists": lists, "b": [3.0, 2.0, 1.0]}), path)
    assert open_files(str(path)).kinds() == {"a": "numbers", "lists": "other", "b": "numbers"}
    found = drift(path, path)
    assert sorted(found) == ["a", "b"]
    assert found.skipped == {"lists": "it holds values that are not numbers"}


def test_a_column_that_cannot_be_read_does_not_take_those_read_ahead_with_it(
    tmp_path: Path,
) -> None:
    """The request has times of day and a list between two columns of numbers."""
    path = tmp_path / "x.parquet"
    when = pa.array([1, 2, 3], pa.time64("us"))
    columns = {"a": [1.0, 2.0, 4.0], "when": when, "list": [[1.0]] * 3, "b": [3.0, 2.0, 1.0]}
    pq.write_table(pa.table(columns), path)
    table = open_files(str(path))
    read = table.read_columns(["a", "when", "list", "b"])
    for name, expected in (("a", [1.0, 2.0, 4.0]), ("b", [3.0, 2.0, 1.0])):
        data = read[name]
        assert isinstance(data, HeldColumn)
        assert data.values.tolist() == expected
    with pytest.raises(TypeError, match="'when' holds points in time"):
        read["when"]
    with pytest.raises(TypeError, match="'list' holds values that are not numbers"):
        read["list"]


def test_hidden_files_and_folders_of_a_folder_are_no_data(tmp_path: Path) -> None:
    for name in ("_temporary/0", ".ipynb_checkpoints", "build=1", "build=2"):
        (tmp_path / name).mkdir(parents=True)
        _write(tmp_path / name / "part.csv", f"a\n{len(name)}\n")
    _write(tmp_path / "build=1" / ".hidden.csv", "a\n99\n")
    _write(tmp_path / "_started.json", "{}")
    assert _values(tmp_path, "a") == [7.0, 7.0]


def test_a_folder_within_a_folder_may_be_called_like_a_file(tmp_path: Path) -> None:
    """Spark writes folders with names such as x.csv."""
    (tmp_path / "x.csv").mkdir()
    _write(tmp_path / "x.csv" / "part-0.csv", "a\n1\n2\n")
    assert _values(tmp_path, "a") == [1.0, 2.0]


# encodings and headers


ENCODED = ["utf-8", "utf-8-sig", "utf-16", "latin-1"]


def _encoded(text: str, encoding: str) -> bytes:
    if encoding == "utf-16-be with mark":
        return codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    return text.encode(encoding)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("encoding", ENCODED)
def test_a_csv_is_read_in_the_encoding_that_it_has(
    encoding: str, packed: str, tmp_path: Path
) -> None:
    content = _encoded("größe\tort\r\n1.5\tZürich\r\n2.5\tKöln\r\n", encoding)
    path = _write(tmp_path / f"x.tsv{packed}", gzip.compress(content) if packed else content)
    assert open_files(str(path)).kinds() == {"größe": "numbers", "ort": "text"}
    assert _values(path, "größe") == [1.5, 2.5]
    assert open_files(str(path)).levels("ort") == ["Köln", "Zürich"]


MARKED = [("utf-8-sig", suffix) for suffix in ("json", "ndjson", "json.gz", "txt", "txt.gz")]
MARKED += [("utf-16", "txt"), ("utf-16", "txt.gz"), ("utf-32", "txt")]


@pytest.mark.parametrize(("encoding", "suffix"), MARKED)
def test_json_and_text_with_a_byte_order_mark_are_read(
    encoding: str, suffix: str, tmp_path: Path
) -> None:
    rows = [{"größe": 1.5}, {"größe": 2.5}]
    text = {
        "json": json.dumps(rows, ensure_ascii=False),
        "ndjson": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
        "txt": "1.5\n2.5\n",
    }[suffix.removesuffix(".gz")]
    content = text.encode(encoding)
    path = tmp_path / f"x.{suffix}"
    _write(path, gzip.compress(content) if suffix.endswith(".gz") else content)
    assert _values(path, "value" if "txt" in suffix else "größe") == [1.5, 2.5]


def test_benchmark_files_with_a_byte_order_mark_are_benchmarks(tmp_path: Path) -> None:
    """PowerShell writes UTF-16 when output is redirected."""
    hyperfine = json.dumps({"results": [{"command": "sort", "times": [1.0, 2.0, 3.0]}]})
    go = "BenchmarkSort-8 \t 100 \t 12.5 ns/op\n"
    for text, name in ((hyperfine, "sort"), (go, "BenchmarkSort-8")):
        for encoding in ("utf-8-sig", "utf-16"):
            path = _write(tmp_path / "x.json", text.encode(encoding))
            assert list(load_benchmarks(str(path))) == [name]


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("encoding", ["utf-32", "utf-16-be with mark"])
def test_other_encodings_say_how_to_convert_them(
    encoding: str, packed: str, tmp_path: Path
) -> None:
    content = _encoded("größe,ort\r\n1.5,Zürich\r\n2.5,Köln\r\n", encoding)
    name = f"x.csv{packed}"
    path = _write(tmp_path / name, gzip.compress(content) if packed else content)
    what = "UTF-32" if encoding == "utf-32" else "UTF-16BE"
    says = rf"{name}: it is {what}, which is not read: convert it: iconv -f {what} -t UTF-8"
    with pytest.raises(ValueError, match=says):
        open_files(str(path)).kinds()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_json_in_other_encodings_says_how_to_convert_it(encoding: str, tmp_path: Path) -> None:
    path = _write(tmp_path / "x.json", '[{"a": 1}]'.encode(encoding))
    says = rf"x.json: it is {encoding.upper()}, and JSON is UTF-8: convert it: iconv"
    with pytest.raises(ValueError, match=says):
        open_files(str(path)).kinds()


@pytest.mark.parametrize("large", [2_000_000, 1_000])
def test_a_word_far_down_in_utf16_is_named(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", large)
    good = _write(tmp_path / "good.csv", LATE.encode("utf-16"))
    bad = _write(tmp_path / "bad.csv", (LATE + "2.5 µs,Ulm\n").encode("utf-16"))
    with pytest.raises(ValueError, match=r"bad.csv, column 'a', row 200,001: '2.5 µs' is not"):
        compare(good, bad, column="a")
    assert compare(good, good, column="a").current.size == 200_000


@pytest.mark.parametrize("large", [2_000_000, 1_000])
@pytest.mark.parametrize("late", [False, True])
def test_a_character_beyond_those_that_duckdb_reads_is_an_error(
    late: bool, large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", large)
    start = LATE if late else "a,ort\n"
    path = _write(tmp_path / "x.csv", (start + "1.5,😀\n2.5,x\n").encode("utf-16"))
    with pytest.raises(ValueError, match=r"[Nn]ot utf-16 encoded") as caught:
        compare(path, path, column="a")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_text_with_zeros_in_it_says_what_it_may_be(suffix: str, tmp_path: Path) -> None:
    text = "a,b\n1,2\n" if suffix == "csv" else '[{"a": 1}]'
    for content in (text.encode("utf-16-le"), text.encode("utf-16-be"), b"a\0b,c\n1,2\n"):
        path = _write(tmp_path / f"x.{suffix}", content)
        with pytest.raises(ValueError, match=r"x.\w+: its first line holds NUL bytes.*iconv -f"):
            open_files(str(path)).kinds()
        with pytest.raises(ValueError, match=r"x.\w+: its first line holds NUL bytes"):
            open_files(str(path)).levels("a")


def test_a_half_character_at_the_end_of_utf16_is_an_error(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.csv", "a\n1\n2".encode("utf-16")[:-1])
    with pytest.raises(ValueError, match=r"x.csv: it begins as UTF-16 and is not UTF-16"):
        open_files(str(path)).kinds()


LATE = "a,ort\n" + "1.5,Ulm\n" * 200_000
"""The file is longer than the part from which the encoding is guessed."""


@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
@pytest.mark.parametrize("large", [2_000_000, 1_000])
def test_latin_letters_far_down_are_read_as_such(
    suffix: str, large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGE", large)
    content = (LATE + "2.5,Köln\n" * 50).encode("latin-1")
    path = _write(
        tmp_path / f"x.{suffix}", gzip.compress(content, 1) if suffix.endswith("gz") else content
    )
    assert open_files(str(path)).levels("ort") == ["Köln", "Ulm"]
    answer = compare(path, column="a", by="ort", reference="Ulm", current="Köln")
    assert (answer.reference.size, answer.current.size) == (200_000, 50)
    assert answer.shift == pytest.approx(1.0)
    assert compare(path, path, column="a", groups="ort").current.size == 200_050


@pytest.mark.parametrize("large", [2_000_000, 1_000])
def test_a_word_in_latin_letters_far_down_is_named(
    large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a word ends DuckDB's connection. The other file can still be read."""
    monkeypatch.setattr(files, "LARGE", large)
    good = _write(tmp_path / "good.csv", LATE)
    bad = _write(tmp_path / "bad.csv", (LATE + "2.5 µs,Ulm\n").encode("latin-1"))
    for pair in ((good, bad), (bad, good)):
        with pytest.raises(ValueError, match=r"bad.csv, column 'a', row 200,001: '2.5 µs' is not"):
            compare(*pair, column="a")
    assert compare(good, good, column="a").current.size == 200_000


def test_numbers_of_a_csv_are_read_without_a_pass_for_its_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path / "x.csv", LATE)
    read: list[int] = []
    opened = characters._unpacked

    class Counting(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            found = super().read(size)
            read.append(len(found))
            return found

    def counted(path: str) -> Any:
        return Counting(io.FileIO(path)) if not path.endswith(".gz") else opened(path)

    monkeypatch.setattr(characters, "_unpacked", counted)
    compare(path, path, column="a")
    drift(path, path, ["a"])
    assert 0 < sum(read) <= 8 * characters.PEEKED < 8 * path.stat().st_size
    read.clear()
    open_files(str(path)).levels("ort")
    assert sum(read) >= path.stat().st_size


HEADERS = {
    "upper,UPPER": ["upper", "UPPER"],
    "a,nan,null,NA": ["a", "nan", "null", "NA"],
    "nan": ["nan"],
    "null,nan": ["null", "nan"],
    "a,,b": ["a", "column1", "b"],
    "a,a": ["a", "a_1"],
    "a,a,a_1": ["a", "a_1", "a_1_1"],
    "a_1,A_1,a": ["a_1", "A_1", "a"],
    "column1,": ["column1", "column1_1"],
}


@pytest.mark.parametrize("header", HEADERS)
def test_columns_keep_the_names_that_a_header_gives_them(header: str, tmp_path: Path) -> None:
    names = HEADERS[header]
    rows = [",".join(str(10 * row + at) for at in range(len(names))) for row in range(1, 4)]
    path = _write(tmp_path / "x.csv", "\n".join([header, *rows]) + "\n")
    assert list(open_files(str(path)).kinds()) == names
    for at, name in enumerate(names):
        assert _values(path, name) == [10.0 + at, 20.0 + at, 30.0 + at]


NAMES = ["lag", "LAG", "Lag_1", "nan", "null", "a/b~c"]


@pytest.mark.parametrize("kind", ["parquet", "json", "ndjson"])
def test_names_that_differ_in_case_only_are_different(kind: str, tmp_path: Path) -> None:
    rows = [{name: float(10 * row + at) for at, name in enumerate(NAMES)} for row in range(3)]
    path = tmp_path / f"x.{kind}"
    if kind == "parquet":
        # a nested column is not a column of the table
        table = pa.table({name: [row[name] for row in rows] for name in NAMES})
        nested = pa.array([{"lag": 1.0, "LAG": {"x": 2.0}}] * 3)
        pq.write_table(table.add_column(1, "nested", nested), path)
    elif kind == "json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    assert [n for n in open_files(str(path)).kinds() if n != "nested"] == NAMES
    for at, name in enumerate(NAMES):
        assert _values(path, name) == [at, 10.0 + at, 20.0 + at]
    assert len(drift(path, path)) == len(NAMES)


@pytest.mark.parametrize("content", ["null", "42", '"word"', "true", " 42\n"])
def test_a_single_value_is_no_table(content: str, tmp_path: Path) -> None:
    path = _write(tmp_path / "x.json", content)
    for words in (("compare", "x.json", "x.json"), ("gate", "x.json", "x.json")):
        message = here(*words, code=2, cwd=tmp_path).stderr
        assert f"x.json: it holds the single value {content.strip()}, not a table" in message
    with pytest.raises(ValueError, match="single value"):
        compare(path, [1.0, 2.0])


@pytest.mark.parametrize("content", ["[1, null, 2.5]", "1\nnull\n2.5\n", '["1", "NA", 2.5]'])
def test_a_list_of_numbers_is_a_column_called_value(content: str, tmp_path: Path) -> None:
    path = _write(tmp_path / "x.json", content)
    np.testing.assert_array_equal(_values(path, "value"), [1.0, np.nan, 2.5])
    assert list(load_benchmarks(str(path))) == ["value"]
    _write(path, "[1, 2, true, false, -3e2]")
    assert _values(path, "value") == [1.0, 2.0, 1.0, 0.0, -300.0]
    _write(path, '[{"json": 1}, {"json": 3}]')
    assert _values(path, "json") == [1.0, 3.0]
    _write(path, '[1, "x"]')
    with pytest.raises(ValueError, match=r"column 'value', row 2: 'x' is not a number"):
        open_files(str(path)).read("value")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\0" * 1000, "is not an array that NumPy wrote"),
        (b"cposix\nsystem\n", "is not an array that NumPy wrote"),
        (b"\x93NUMPY\x01\0\x10\0garbage", "is an array that cannot be read"),
        (np.array([1.0, "x", None], dtype=object), "holds Python objects, which are not read"),
        (np.zeros((2, 3)), r"must be one-dimensional, got shape \(2, 3\)"),
        (np.array(["1.5"] * 70_000 + ["word"]), "row 70,001: 'word' is not a number"),
    ],
)
def test_an_array_that_cannot_be_read_says_why(content: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(ValueError, match=rf"x.npy.*{words}") as caught:
        compare(path, [1.0, 2.0])
    assert "allow_pickle" not in str(caught.value)


# rows


def _batches(path: Path, frame: pd.DataFrame, rows: int) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    writer: Any = pa.ipc.new_file if path.suffix == ".feather" else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as file, writer(file, table.schema) as batches:
        batches.write_table(table, max_chunksize=rows)


TABLES: dict[str, Callable[[Path, pd.DataFrame], Any]] = {
    "x.csv": lambda p, f: f.to_csv(p, index=False),
    "x.parquet": lambda p, f: f.to_parquet(p, row_group_size=2),
    "x.json": lambda p, f: f.to_json(p, orient="records"),
    "x.arrow": lambda p, f: _batches(p, f, 2 + len(f) // 10),
    "x.feather": lambda p, f: _batches(p, f, 2 + len(f) // 10),
}


@pytest.mark.parametrize("large", [2_000_000, 3])
@pytest.mark.parametrize("name", TABLES)
def test_rows_are_counted_within_the_file(
    name: str, large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For every batch, level and size. Errors at other levels do not matter."""
    if name not in ("x.arrow", "x.feather"):  # these always hold values with groups
        monkeypatch.setattr(files, "LARGE", large)
    arm = ["a", "b"] * 4
    host: list[str | None] = ["h", "i", "i", "j", None, "j", "h", "k"]
    word = ["1.5", "2", "3", "4", "5", "six", "7", "8"]
    frame = pd.DataFrame({"lag": np.arange(8.0), "arm": arm, "host": host, "word": word})
    path = tmp_path / name
    TABLES[name](path, frame)
    left_out = f"{name}: 1 row has no label in column 'host' and was left out"
    sides = compare(path, path, column="lag", groups="host")
    assert sides.warnings[0] == left_out
    assert (sides.reference.size, sides.reference.nan) == (7, 0)
    levels = compare(path, column="lag", by="arm", reference="b", current="a", groups="host")
    assert isinstance(levels, Comparison)
    assert levels.warnings[0] == left_out
    assert (levels.reference.size, levels.current.size) == (4, 3)
    with pytest.raises(ValueError, match=rf"{name}, column 'word', row 6: 'six' is not a number"):
        compare(path, path, column="word", groups="host")
    with pytest.raises(ValueError, match=rf"{name}, column 'word', row 6: 'six' is not a number"):
        compare(path, path, column="word")
    with pytest.raises(ValueError, match=rf"{name}, column 'word', row 6: 'six' is not a number"):
        compare(path, column="word", by="arm", reference="a", current="b")
    table = open_files(str(path))
    data = table.read("word", where=("arm", "a"))
    assert not isinstance(data, HeldColumn) or data.values.tolist() == [1.5, 3.0, 5.0, 7.0]
    labelled = table.read("lag", "host", ("arm", "b"))
    if isinstance(labelled, HeldColumn):
        assert labelled.groups is not None
        assert labelled.groups.tolist() == ["i", "j", "j", "k"]


def test_rows_of_frames_are_counted_within_the_frame() -> None:
    frame = pd.DataFrame(
        {"arm": ["a", "b", "a", "b"], "lag": ["1", "2", "x", "4"], "host": ["h", None, "i", "j"]}
    )
    with pytest.raises(ValueError, match=r"column 'lag', row 3: 'x' is not a number"):
        compare(frame, column="lag", by="arm", reference="b", current="a")
    frame["lag"] = [1.0, 2.0, 3.0, 4.0]
    answer = compare(frame, column="lag", by="arm", reference="a", current="b", groups="host")
    assert isinstance(answer, Comparison)
    assert answer.warnings[0] == "the table: 1 row has no label in column 'host' and was left out"
    frame["lag"] = ["1", "2", "x", "4"]
    with pytest.raises(ValueError, match=r"column 'lag', row 3: 'x' is not a number"):
        compare(frame, column="lag", by="arm", reference="b", current="a", groups="host")


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.arrow"])
def test_levels_of_large_files_are_those_of_small_ones(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    arm = np.repeat([1.0, 2.0, 10.0], 400)
    path = tmp_path / name
    TABLES[name](path, pd.DataFrame({"lag": rng.normal(arm, 1.0), "build": arm}))
    options: Any = {"column": "lag", "by": "build", "scale": 1.0}
    expected = compare(path, **options, reference="1", current="2")
    one = "1.0" if name == "x.csv" else "1"  # as it is written, or as a number
    assert (expected.reference.label, expected.current.size) == (one, 400)
    monkeypatch.setattr(files, "LARGE", 100)
    found = compare(path, **options, reference="1", current="2")
    assert (found.reference.label, found.current.size) == (one, 400)
    assert found.values is None
    assert found.shift == pytest.approx(expected.shift, abs=1e-9)
    for pair in (("1", "7"), ("7", "1.0"), ("7", "8")):
        with pytest.raises(
            ValueError, match=rf"column 'build' has no level '7': it has '{one}', '2"
        ):
            compare(path, **options, reference=pair[0], current=pair[1])


# missing values of pandas


@pytest.mark.parametrize("dtype", ["string", "str", "object"])
def test_missing_values_of_pandas_are_missing_among_text_and_objects(dtype: str) -> None:
    cells = pd.Series(["1.5", None, "3"], dtype=dtype)
    if dtype != "str":
        cells[1] = pd.NA
    np.testing.assert_array_equal(as_numbers(cells, "x"), [1.5, np.nan, 3.0])
    answer = compare(pd.DataFrame({"x": cells}), [1.0, 2.0], column="x")
    assert (answer.reference.size, answer.reference.nan) == (2, 1)


def test_missing_objects_are_missing_whatever_they_are_called() -> None:
    items = [1.0, pd.NA, None, pd.NaT, np.float64("nan"), True]
    for given in (items, pd.Series(items, dtype=object), np.array(items, dtype=object)):
        np.testing.assert_array_equal(as_numbers(given, "x"), [1.0, *[np.nan] * 4, 1.0])
        assert kind_of(given) == "numbers"
    waits = pd.Series([pd.Timedelta("2s"), pd.NaT, pd.NA], dtype=object)
    np.testing.assert_array_equal(as_numbers(waits, "x"), [2.0, np.nan, np.nan])
    for missing in (pd.NA, pd.NaT, None, float("nan")):
        with pytest.raises(ValueError, match="x, row 2: the group label is missing"):
            as_labels(pd.Series(["a", missing], dtype=object), "x")
        with pytest.raises(ValueError, match="x, row 2: the group label is missing"):
            as_labels(["a", missing], "x")


# memory


def test_drift_of_long_files_does_not_hold_their_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    rows, columns = 20_000, 20
    for name in "ab":
        frame = pd.DataFrame(rng.gamma(4.0, 5.0, (rows, columns))).rename(columns="c{}".format)
        frame.to_parquet(tmp_path / f"{name}.parquet")
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    kept = drift(*paths)
    assert all(answer.values is not None for answer in kept.values())
    many_columns = importlib.import_module("dkmd.answers.many_columns")
    monkeypatch.setattr(many_columns, "KEPT", 2 * rows * columns - 1)
    monkeypatch.setattr(duckdb_file, "READ_AHEAD", 2 * rows)
    tracemalloc.start()
    try:
        found = drift(*paths)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    everything = 2 * rows * columns * 8
    assert held < 0.3 * everything
    assert most < 0.8 * everything
    for name, answer in found.items():
        assert answer.values is None
        assert (answer.shift, answer.pvalue) == (kept[name].shift, kept[name].pvalue)
        assert answer.relative_shift == kept[name].relative_shift
        assert answer.result.on_logs().shift == kept[name].result.on_logs().shift
    with pytest.raises(ValueError, match="need the single values"):
        found["c0"].peers()


@pytest.fixture
def limited() -> Callable[..., tuple[int, str]]:
    """Run the command in a process limited to 3 GB of memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    def run(*words: str, stdin: Any = subprocess.DEVNULL) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "dkmd", *words],
            stdin=stdin, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=limit, check=False, timeout=120,
        )  # fmt: skip
        return done.returncode, done.stderr.decode()

    return run


TOO_LONG = "row 1: the line is longer than 65,536 characters; this is not text with one number"


@pytest.mark.parametrize("command", ["compare", "drift", "summarize", "plan"])
def test_a_device_without_end_is_refused(
    command: str, tmp_path: Path, limited: Callable[..., tuple[int, str]]
) -> None:
    other = str(_write(tmp_path / "x.txt", "1\n2\n3\n"))
    words = {
        "compare": (other, "/dev/zero"),
        "drift": ("/dev/zero", other),
        "summarize": ("/dev/zero", "-o", str(tmp_path / "s.dkmd")),
        "plan": ("/dev/zero", "--shift", "1"),
    }[command]
    code, message = limited(command, *words)
    assert code == 2
    assert f"/dev/zero, {TOO_LONG} per line" in message
    assert len(message.splitlines()) == 1


def test_standard_input_without_end_is_refused(
    tmp_path: Path, limited: Callable[..., tuple[int, str]]
) -> None:
    other = str(_write(tmp_path / "x.txt", "1\n2\n3\n"))
    with open("/dev/zero", "rb") as zeros:
        code, message = limited("compare", "-", other, stdin=zeros)
    assert (code, message) == (2, f"dkmd: standard input, {TOO_LONG} per line\n")


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet", "arrow", "npy", "csv.gz"])
def test_a_device_or_pipe_called_like_a_table_is_refused(suffix: str, tmp_path: Path) -> None:
    zeros, pipe = tmp_path / f"zeros.{suffix}", tmp_path / f"pipe.{suffix}"
    zeros.symlink_to("/dev/zero")
    os.mkfifo(pipe)
    for path in (zeros, pipe):
        with pytest.raises(
            ValueError, match=rf"{path.name} is a pipe or a device, and \.\w+ files"
        ):
            compare(path, [1.0, 2.0])


def _endless(path: Path, piece: bytes) -> threading.Thread:
    """Write to a pipe until the reader closes it."""

    def write() -> None:
        try:
            with open(path, "wb") as pipe:
                while True:
                    pipe.write(piece)
        except BrokenPipeError:
            return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    return writer


@pytest.mark.parametrize("line", [b"1.5\n", b"\n", b"# nothing\n"])
def test_a_pipe_without_end_is_refused_after_so_many_lines(
    line: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_file, "PIPED", 300_000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = _endless(pipe, line * 1000)
    with pytest.raises(
        ValueError, match="pipe has more than 300,000 lines and can be read only once"
    ):
        compare(pipe, [1.0, 2.0])
    writer.join(10.0)
    assert not writer.is_alive()


def test_a_pipe_that_ends_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    lines = "\ufeff1.5\r\n\r\n# five\r\n2.5\r\n3.5"
    writer = threading.Thread(target=pipe.write_bytes, args=(lines.encode(),))
    writer.start()
    assert _values(pipe, "value") == [1.5, 2.5, 3.5]
    writer.join()


def test_benchmark_files_are_not_read_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dkmd.answers.gate.load.LARGEST_FILE", 1 << 20)
    monkeypatch.setattr(reading, "LARGEST_FILE", 1 << 20)
    with pytest.raises(ValueError, match=r"/dev/zero is too large for a benchmark file: .*1 MiB"):
        load_benchmarks("/dev/zero")
    packed = _write(tmp_path / "x.json.gz", gzip.compress(b"{" * (2 << 20)))
    with pytest.raises(ValueError, match=r"x.json.gz is too large for a benchmark file"):
        load_benchmarks(str(packed))
    with open("/dev/zero") as zeros:
        monkeypatch.setattr(sys, "stdin", zeros)
        with pytest.raises(ValueError, match="standard input is too large for a benchmark file"):
            load_benchmarks("-")


def test_a_gate_reads_pipes_as_it_reads_files(tmp_path: Path) -> None:
    """As in a shell: dkmd gate <(zcat main.json.gz) <(…)."""
    hyperfine = json.dumps({"results": [{"command": "sort", "times": [1.0, 2.0, 3.0]}]})
    for content, name, values in ((hyperfine, "sort", [1, 2, 3]), ("4\n5\n", "value", [4, 5])):
        pipe = tmp_path / f"{name}.pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(content,))
        writer.start()
        found = load_benchmarks(str(pipe))
        writer.join()
        assert found[name].values == values


def test_lines_are_the_same_wherever_pieces_of_text_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path / "x.txt", "# head\n10.25\n\n-3\r\n4e2\n5")
    for piece in range(1, 25):
        monkeypatch.setattr(text_file, "PIECE_CHARACTERS", piece)
        assert _values(path, "value") == [10.25, -3.0, 400.0, 5.0]
    _write(path, "1\n22\n\nthree\n")
    for piece in range(1, 15):
        monkeypatch.setattr(text_file, "PIECE_CHARACTERS", piece)
        with pytest.raises(ValueError, match=r"x.txt, row 4: 'three' is not a number"):
            open_files(str(path)).read("value")
