"""CSV files as people write them: every row is read, whatever signs stand in its cells."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from shell import here

from dkmd import compare
from dkmd.sources.column_data import HeldColumn
from dkmd.sources.files.table import open_files

MISSING = ["", "#N/A", "#DIV/0!", "#VALUE!", "N/A", "NaN", "null", "-", "NA"]
"""Words for a missing value among numbers."""

SIGNS = ["#", "'", '"', "#5", "'tis", 'say "hi"', "a,b", "x;y", "p|q", "#N/A", "it's", "# no", "é"]
"""Text beside the numbers."""


def moved(path: Path, word: str, by: float) -> Path:
    """600 rows; every second has a word in its first cell, and its number is larger."""
    rng = np.random.default_rng(5)
    values = rng.normal(100.0, 5.0, 600)
    values[::2] += by
    rows = (f"{word if i % 2 == 0 else i},{value:.3f}\n" for i, value in enumerate(values))
    path.write_text("ratio,ms\n" + "".join(rows))
    return path


@pytest.mark.parametrize("word", ["#DIV/0!", "#N/A", "#5", "'", "# 5", "'x"])
def test_no_row_is_lost_to_a_sign_in_its_first_cell(word: str, tmp_path: Path) -> None:
    before, after = (
        moved(tmp_path / f"{name}.csv", word, by) for name, by in (("a", 0), ("b", 50))
    )
    answer = compare(before, after, column="ms")
    assert (answer.reference.size, answer.current.size) == (600, 600)
    assert answer.verdict == "higher"
    assert here("gate", str(before), str(after), "--column", "ms", code=None).code == 1


@pytest.mark.parametrize("word", ["#DIV/0!", "#5", "'"])
def test_a_watch_counts_rows_that_begin_with_a_sign(word: str, tmp_path: Path) -> None:
    before, after = (
        moved(tmp_path / f"{name}.csv", word, by) for name, by in (("a", 0), ("b", 50))
    )
    words = ["watch", str(before), str(after), "--field", "ms", "--format", "csv", "--json"]
    done = here(*words, code=None)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["values"] == 600


@pytest.mark.parametrize("word", ["#N/A", "#DIV/0!", "#VALUE!", "#REF!", "N/A", "NaN", "null", "-"])
@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_words_of_spreadsheets_among_numbers_are_missing_and_counted(
    word: str, suffix: str, tmp_path: Path
) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_text(("ms\n" if suffix == "csv" else "") + f"1\n{word}\n2\n{word}\n3\n")
    facts = compare(path, [1.0, 2.0]).reference
    assert (facts.size, facts.nan) == (3, 2)


def test_other_text_among_numbers_is_an_error_that_names_the_cell(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("ms,n\n1,1\n2,1\n#5,1\n3,1\n")
    message = here("compare", str(path), str(path), "--column", "ms", code=2).stderr
    assert "column 'ms', row 3: '#5' is not a number" in message


def test_a_dash_among_categories_is_a_level(tmp_path: Path) -> None:
    path, other = tmp_path / "x.csv", tmp_path / "y.csv"
    path.write_text("plan\n" + 60 * "-\n" + 40 * "gold\n")
    other.write_text("plan\n" + 20 * "-\n" + 80 * "gold\n")
    answer = compare(path, other, column="plan")
    assert (answer.reference.size, answer.reference.nan) == (100, 0)


def test_blank_lines_are_missing_in_one_column_and_skipped_elsewhere(tmp_path: Path) -> None:
    one, two, text = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "x.txt"
    one.write_text("ms\n1\n\n2\n\n3\n")
    two.write_text("ms,n\n1,1\n\n2,1\n\n3,1\n")
    text.write_text("1\n\n2\n\n3\n")
    found = [compare(each, [1.0], column="ms").reference for each in (one, two)]
    found.append(compare(text, [1.0]).reference)
    assert [(facts.size, facts.nan) for facts in found] == [(3, 2), (3, 0), (3, 0)]


LEADING = {
    "# by a tool\n# at noon\nid,ms\n1,5\n2,6\n": ["id", "ms"],
    "#id,ms\n1,5\n2,6\n": ["#id", "ms"],
    "# by a tool\n#id,ms\n1,5\n2,6\n": ["#id", "ms"],
    "# by a tool, version 2\nid,ms\n1,5\n2,6\n": ["id", "ms"],
    "#id,ms\n#1,5\n2,6\n": ["#id", "ms"],
    "#1,5\n#2,6\n": ["column0", "column1"],
    "# it's \"5\nid,ms\n1,5\n2,6\n": ["id", "ms"],
    "\n# a\n\nid,ms\n1,5\n2,6\n": ["id", "ms"],
    "sep=;\nid;ms\n1;5\n2;6\n": ["id", "ms"],
}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("content", LEADING)
def test_lines_above_the_header_are_skipped_and_a_header_may_begin_with_a_hash(
    content: str, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content.replace("\n", ending), newline="")
    table = open_files(str(path))
    assert list(table.kinds()) == LEADING[content]
    data = table.read(LEADING[content][1])
    assert isinstance(data, HeldColumn)
    assert data.values.tolist() == [5.0, 6.0]


@pytest.mark.parametrize("content", ["1,2,3\n1,2\n3,4\n5,6\n", "Report of today\na,b\n1,2\n3,4\n"])
def test_a_first_line_that_does_not_fit_is_no_line_to_skip_in_silence(
    content: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    path.write_text(content)
    message = here("drift", str(path), str(path), code=2).stderr
    assert "x.csv: its first line" in message
    assert "does not fit the 2 columns below it" in message


def test_a_watch_skips_lines_above_its_header_and_reads_a_header_with_a_hash(
    tmp_path: Path,
) -> None:
    for above, field in (("# by a tool\n", "ms"), ("# by a tool\n#", "ms"), ("#", "ms")):
        path = tmp_path / "x.csv"
        rows = "".join(f"#{i},{100 + i % 7}\n" for i in range(100))
        path.write_text(f"{above}id,{field}\n1,100\n{rows}")
        done = here("watch", str(path), str(path), "--field", field, "--json", code=None)
        assert json.loads(done.stdout.splitlines()[-1])["values"] == 101


class Written(NamedTuple):
    """A CSV file, and where its table begins."""

    content: bytes
    above: int  # lines above the header
    separator: str


def written(rng: random.Random) -> Written:
    """A valid CSV file: numbers, words for missing values and any text, quoted or not."""
    separator, end = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\r\n"])
    texts, rows = rng.randrange(4), rng.randrange(4, 13)
    at = rng.randrange(texts + 1)

    def cell(text: str) -> str:
        special = any(sign in text for sign in (separator, "\n", "\r")) or text.startswith(
            ('"', " ")
        )
        if special or (text and rng.random() < 0.3):
            return '"' + text.replace('"', '""') + '"'
        return text

    def line(cells: list[str]) -> str:
        return separator.join(map(cell, cells)) + end

    def number() -> str:
        value = rng.choice([rng.randrange(-99, 99), rng.uniform(-9, 9), rng.lognormvariate(0, 9)])
        return rng.choice(MISSING) if rng.random() < 0.2 else repr(value)

    def text() -> str:
        words = [rng.choice(SIGNS), "word", f"w{rng.randrange(99)}", "two\nlines", "", "#DIV/0!"]
        return rng.choice(words)

    names = [f"{rng.choice(['', '', '#', chr(39)])}t{i}" for i in range(texts)]
    lines = [line([*names[:at], "v", *names[at:]])]
    for i in range(rows):
        cells = [text() for _ in range(texts)]
        cells.insert(at, repr(i) if i % 2 else number())  # most cells are numbers
        lines.append(line(cells))
        if rng.random() < 0.1:
            lines.append(end)
    above = rng.randrange(3) if rng.random() < 0.3 else 0
    lines[:0] = [f"# {rng.choice(SIGNS)}: a note{end}" for _ in range(above)]
    if rng.random() < 0.2:
        lines[-1] = lines[-1].rstrip("\r\n") or lines[-1]
    mark = b"\xef\xbb\xbf" if rng.random() < 0.2 else b""
    return Written(mark + "".join(lines).encode(), above, separator)


def by_python(file: Written) -> tuple[list[str], list[list[str]]]:
    """The header and the rows as Python's csv reads them."""
    text = file.content.decode("utf-8-sig")
    below = "".join(text.splitlines(keepends=True)[file.above :])
    header, *rows = csv.reader(io.StringIO(below, newline=""), delimiter=file.separator)
    return header, [row or [""] for row in rows if row or len(header) == 1]


def as_number(cell: str) -> float:
    """A cell among numbers."""
    return math.nan if cell in MISSING else float(cell)


@pytest.mark.parametrize("part", range(10))
def test_5000_files_have_the_rows_and_numbers_that_python_reads(part: int, tmp_path: Path) -> None:
    for seed in range(500 * part, 500 * (part + 1)):
        file = written(random.Random(seed))
        path = tmp_path / f"{seed}.csv"
        path.write_bytes(file.content)
        header, rows = by_python(file)
        table = open_files(str(path))
        assert list(table.kinds()) == header, f"seed {seed}"
        data = table.read("v")
        assert isinstance(data, HeldColumn)
        at = header.index("v")
        expected = [as_number(row[at]) for row in rows]
        np.testing.assert_array_equal(data.values, expected, err_msg=f"seed {seed}")
        if seed % 5 == 0 and len(header) > 1:
            beside = header.index(next(name for name in header if name != "v"))
            if table.kinds()[header[beside]] == "text":
                marks = ["" if mark is None else mark for mark in table.marks(header[beside])]
                assert marks == [row[beside] for row in rows], f"seed {seed}"
        path.unlink()
