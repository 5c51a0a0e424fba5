"""Text files that are not what they seem: units in cells, names twice, web pages, long cells."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from shell import here

from dkmd import compare, drift

UNITS = ["{} ms", "${}", "{}%", "{}ms", "€ {}", "{} kB", "{},5 kg", "{} min"]


@pytest.mark.parametrize("cell", UNITS)
def test_numbers_with_a_unit_are_an_error_by_name_and_a_watch_out_in_a_drift(
    cell: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    rows = "".join(f'{i % 3},"{cell.format(10 + i % 7)}"\n' for i in range(60))
    path.write_text(f"n,lag\n{rows}")
    words = "looks like numbers with a unit, such as '"
    for command in ("compare", "drift"):
        message = here(command, str(path), str(path), "--column", "lag", code=2).stderr
        assert words in message
        assert "leave the unit out" in message
    found = drift(path, path)
    assert found["lag"].kind == "category"
    assert any(words in note for note in found["lag"].warnings)
    as_levels = compare(path, path, column="lag", kind="category")
    assert not any(words in note for note in as_levels.warnings)


@pytest.mark.parametrize("words", [["5G", "4G"], ["1st", "2nd"], ["12A", "3B"], ["A1", "B2"]])
def test_words_with_digits_are_categories(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("word\n" + "\n".join(words * 20) + "\n")
    assert compare(path, path, column="word").kind == "category"


def test_a_name_that_two_columns_have_is_an_error_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ms,arm,ms\n" + "1,a,2\n3,b,4\n5,a,6\n" * 5)
    words = str(path), str(path)
    for command in (
        ["compare", *words, "-c", "ms"],
        ["drift", *words, "-c", "ms"],
        ["gate", *words, "-c", "ms"],
        ["compare", str(path), "-c", "ms", "--by", "arm", "--reference", "a", "--current", "b"],
        ["plan", str(path), "-c", "ms", "--shift", "1"],
    ):
        assert "x.csv has 2 columns called 'ms'" in here(*command, code=2).stderr
    other = tmp_path / "other.csv"
    other.write_text("ms\n" + "".join(f"{i}\n" for i in range(40)))
    message = here("watch", str(other), str(path), "--field", "ms", code=2).stderr
    assert "2 fields called 'ms'" in message
    assert list(drift(path, path)) == ["ms", "ms_1", "arm"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.json", "x.txt"])
def test_a_web_page_is_called_that(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("\n<!DOCTYPE html>\n<html><body>Sign in, please</body></html>\n")
    message = here("compare", str(path), str(path), code=2).stderr
    assert f"{name}: it is a web page and not data" in message


def test_a_watch_of_a_web_page_says_so(tmp_path: Path) -> None:
    good, page = tmp_path / "good.txt", tmp_path / "x.csv"
    good.write_text("".join(f"{i}\n" for i in range(40)))
    page.write_text("<html><body>Sign in, please</body></html>\n")
    assert "is a web page" in here("watch", str(good), str(page), code=2).stderr


def test_a_nul_in_the_name_of_a_column_is_named(tmp_path: Path) -> None:
    lines, table = tmp_path / "x.ndjson", tmp_path / "x.parquet"
    lines.write_text('{"a\\u0000b": 1}\n{"a\\u0000b": 2}\n')
    pq.write_table(pa.table({"a\0b": [1.0, 2.0]}), table)
    for path in (lines, table):
        message = here("compare", str(path), str(path), code=2).stderr
        assert r"the name of column 'a\x00b' holds a NUL" in message


@pytest.mark.parametrize(
    "content",
    [
        "ms\n1\n2\n3\n{}\n",
        "ms,n\n1,1\n2,2\n3,3\n{},1,1\n",
        "ms,n\n1,1\n2,2\n3,3\n{}\n",
        "{},n\n1,2\n3,4\n",
    ],
)
def test_a_long_cell_is_not_echoed_in_full(content: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content.format("x" * 3_000))
    message = here("compare", str(path), str(path), code=2).stderr
    assert "xxx" in message
    assert len(message) < 400 + len(str(path))


def test_a_row_with_too_many_cells_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ms,n\n1,1\n2,2\n3,3,4\n5,6\n")
    message = here("compare", str(path), str(path), "-c", "ms", code=2).stderr
    assert "x.csv: line 4, '3,3,4', has more than 2 cells" in message
