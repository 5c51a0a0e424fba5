"""Decimal signs, thousands, yes and no, and dates in text files: one reading for both files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import answer_in, here

import dkmd
from dkmd import compare, drift


def table(path: Path, cells: Iterable[str], separator: str = "\t") -> Path:
    """A table with a number of each row and a column of cells."""
    rows = "".join(f"{i}{separator}{cell}\n" for i, cell in enumerate(cells))
    path.write_text(f"id{separator}ms\n{rows}")
    return path


def amounts(path: Path, center: float, between: str, separator: str) -> Path:
    """300 amounts with a sign between thousands."""
    values = np.random.default_rng(int(center)).normal(center, 150.0, 300).astype(int)
    cells = (f"{value:,}".replace(",", between) for value in values)
    return table(path, cells, separator)


def mean_of(answer: Any, side: str = "reference") -> float:
    """The mean of one side of a comparison."""
    return float(getattr(answer.mean, side))


SEPARATED = [("tsv", "\t", ","), ("csv", ";", ","), ("csv", ";", "."), ("tsv", "\t", ".")]


@pytest.mark.parametrize(("suffix", "separator", "between"), SEPARATED)
def test_thousands_do_not_turn_the_sign(
    suffix: str, separator: str, between: str, tmp_path: Path
) -> None:
    before = amounts(tmp_path / f"a.{suffix}", 950, between, separator)
    after = amounts(tmp_path / f"b.{suffix}", 1150, between, separator)
    for command in ("compare", "gate"):
        words = [command, str(before), str(after), "--column", "ms"]
        message = here(*words, code=2).stderr
        assert f"a.{suffix}, column 'ms': '1{between}0" in message
        assert "--decimal , or --decimal ." in message
    decimal = "." if between == "," else ","
    answer = compare(before, after, column="ms", decimal=decimal)
    assert 150.0 < answer.shift < 250.0
    told = here("compare", str(before), str(after), "-c", "ms", "--decimal", decimal).stdout
    assert "as --decimal says" in told
    assert "HIGHER" in answer_in(told)
    gate = here("gate", str(before), str(after), "-c", "ms", "--decimal", decimal, code=1)
    assert "as --decimal says" in gate.stdout


@pytest.mark.parametrize("between", [",", "."])
def test_thousands_far_down_do_not_turn_the_sign(between: str, tmp_path: Path) -> None:
    cells = ["987"] * 600 + [f"1{between}234"] * 600
    path = table(tmp_path / "a.csv", cells, ";")
    message = here("compare", str(path), str(path), "--column", "ms", code=2).stderr
    assert f"'1{between}234'" in message
    assert "--decimal" in message


def test_a_drift_skips_only_the_column_in_doubt(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        rows = "".join(f"{i % 7}.5\t{'987' if i % 2 else '1,234'}\n" for i in range(50))
        paths.append(tmp_path / f"{name}.tsv")
        paths[-1].write_text(f"size\tms\n{rows}")
    found = drift(paths[0], paths[1])
    assert list(found) == ["size"]
    assert "'1,234' and '987' can be read in two ways" in found.skipped["ms"]


@pytest.mark.parametrize("cell", ["0,123", "1234,5", "12,5"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_one_cell_settles_the_decimal_comma_for_both_files(
    cell: str, side: str, tmp_path: Path
) -> None:
    paths = {}
    for name in ("a", "b"):
        cells = ["987", "1,234", "2,345"] * 9 + ([cell] if name == side else [])
        paths[name] = table(tmp_path / f"{name}.tsv", cells)
    answer = compare(paths["a"], paths["b"], column="ms")
    other = "current" if side == "a" else "reference"
    assert mean_of(answer, other) == pytest.approx((987 + 1.234 + 2.345) / 3)
    told = f"numbers have a decimal comma in the text files, as cells such as '{cell}' show"
    assert told in answer.warnings


def test_a_decimal_comma_elsewhere_puts_points_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("share;amount\n" + "0,5;1.234\n0,25;2.345\n" * 20)
    with pytest.raises(ValueError, match=r"column 'amount': '1\.234' and '2\.345' can be read"):
        compare(path, path, column="amount")
    assert mean_of(compare(path, path, column="share")) == pytest.approx(0.375)
    read = compare(path, path, column="amount", decimal=",")
    assert mean_of(read) == pytest.approx((1234 + 2345) / 2)


ORDINARY = [
    "x,y\n12.345,1\n99.125,2\n",
    "x\ty\n12.345\t1\n99.125\t2\n",
    "x\ty\n987\t0.5\n1.234\t1\n",
]


@pytest.mark.parametrize("content", ORDINARY)
def test_ordinary_decimals_stay_as_they_are(content: str, tmp_path: Path) -> None:
    path = tmp_path / ("x.tsv" if "\t" in content else "x.csv")
    path.write_text(content)
    expected = [
        float(line.split("\t" if "\t" in content else ",")[0]) for line in content.splitlines()[1:]
    ]
    answer = compare(path, path, column="x")
    assert mean_of(answer) == pytest.approx(np.mean(expected))
    assert "decimal" not in str(answer)


def test_a_given_decimal_sign_is_used_by_every_command(tmp_path: Path) -> None:
    cells = [f"{1 + i % 3}.{100 + i % 7},5" for i in range(60)]  # 1.100,5 is 1100.5
    path = table(tmp_path / "x.csv", cells, ";")
    text = tmp_path / "x.txt"
    text.write_text("\n".join(cells))
    true = np.mean([float(cell.replace(".", "").replace(",", ".")) for cell in cells])
    found = compare(path, path, column="ms", decimal=","), compare(text, text, decimal=",")
    for answer in found:
        assert mean_of(answer) == pytest.approx(true)
        assert mean_of(drift(path, path, ["ms"], decimal=",")["ms"]) == pytest.approx(true)
    saved = tmp_path / "x.dkmd"
    here("summarize", str(path), "-c", "ms", "-o", str(saved), "--decimal", ",")
    assert dkmd.Summary.load(saved).size == 60
    plan = here("plan", str(path), "-c", "ms", "--shift", "100", "--decimal", ",").stdout
    assert "as --decimal says" in plan
    watch = here("watch", str(path), str(path), "--field", "ms", "--decimal", ",", "--json")
    assert json.loads(watch.stdout.splitlines()[-1])["values"] == 60
    message = here("compare", str(path), str(path), "--decimal", "x", code=2).stderr
    assert "decimal must be ',' or '.', got 'x'" in message


@pytest.mark.parametrize(("no", "yes"), [("No", "Yes"), ("no", "yes"), ("f", "t"), ("N", "Y")])
def test_yes_and_no_are_a_yes_no_column(no: str, yes: str, tmp_path: Path) -> None:
    frames = {}
    for name, share in (("a", 0.2), ("b", 0.6)):
        flags = np.random.default_rng(3).random(400) < share
        frames[name] = pd.DataFrame({"id": range(400), "churn": np.where(flags, yes, no)})
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    found = drift(tmp_path / "a.csv", tmp_path / "b.csv")
    assert found["churn"].kind == "yes/no"
    assert found["churn"].verdict == "higher"
    assert mean_of(found["churn"], "current") == pytest.approx((frames["b"]["churn"] == yes).mean())
    levels = compare(tmp_path / "a.csv", column="id", by="churn", reference=no, current=yes)
    assert levels.current.size == (frames["a"]["churn"] == yes).sum()


def test_another_word_far_down_or_in_the_other_file_makes_categories(tmp_path: Path) -> None:
    words = ["Yes", "No"] * 600
    for name, more in (("a", []), ("b", ["No phone service"])):
        (tmp_path / f"{name}.csv").write_text("churn\n" + "\n".join([*words, *more]) + "\n")
    answer = compare(tmp_path / "a.csv", tmp_path / "b.csv", column="churn")
    assert answer.kind == "category"
    assert answer.current.size == 1201


@pytest.mark.parametrize(
    ("first", "second"),
    [("01/{:02d}/2024", "02/{:02d}/2024"), ("{:02d}.01.2024", "{:02d}.02.2024")],
)
def test_dates_with_the_year_last_are_dates_if_both_files_leave_one_reading(
    first: str, second: str, tmp_path: Path
) -> None:
    for name, form, days in (("a", first, range(1, 13)), ("b", second, range(5, 29))):
        (tmp_path / f"{name}.csv").write_text(
            "id,day\n" + "".join(f"x,{form.format(day)}\n" for day in days)
        )
    answer = compare(tmp_path / "a.csv", tmp_path / "b.csv", column="day")
    assert answer.dates
    assert answer.shift == pytest.approx(41 * 86_400.0)  # from January 6.5 to February 16.5
    assert "day" in drift(tmp_path / "a.csv", tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["01/02/2024", "03/04/2024"], "no day is above 12"),
        (["01/31/2024", "31/01/2024"], "some have the day first and others the month"),
    ],
)
def test_dates_with_two_readings_are_an_error_that_says_why(
    cells: list[str], why: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,day\n" + "".join(f"x,{cell}\n" for cell in cells * 5))
    message = here("compare", str(path), str(path), "-c", "day", code=2).stderr
    assert "column 'day' holds dates such as" in message
    assert why in message


def test_a_cell_that_is_no_date_among_dates_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,day\n" + "x,2024-01-31\n" * 5 + "x,soon\n")
    message = here("compare", str(path), str(path), "-c", "day", code=2).stderr
    assert "column 'day', row 6: 'soon' is not a date" in message
