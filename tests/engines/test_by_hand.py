"""Printed queries whose results are pasted back, and databases reached by URL."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import sqlglot
from shell import here

from dkmd import Grid, compare
from dkmd.answers.comparison import Comparison
from dkmd.answers.many_levels import compare_bins
from dkmd.answers.options import CompareOptions
from dkmd.base.calls import Call
from dkmd.base.secrets import without_password
from dkmd.cli.options import command_line
from dkmd.sources.engines.by_hand import DIALECTS, statement
from dkmd.sources.engines.urls import shown
from dkmd.sources.files.pasted_bins import read_bins

ODD = 'select "x"; --'
FIXED = CompareOptions.of(scale=5.0)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Latencies of two builds with time-outs and gaps."""
    rng = np.random.default_rng(3)
    build = np.arange(6_000) % 2
    ms = 80.0 + rng.gamma(4.0, 5.0, 6_000) + build
    ms[:4] = [math.inf, math.nan, -math.inf, math.inf]
    return pd.DataFrame({ODD: ms, "it's": np.array(["A", "B"])[build]})


@pytest.fixture(scope="module")
def pasted(engine: Any, frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The printed query, run on the engine, as CSV."""
    engine.load(frame, "by_hand")
    path = tmp_path_factory.mktemp("bins") / "bins.csv"
    sql = here("sql", "--dialect", engine.name, "by_hand", "-c", ODD, "--by", "it's").stdout
    engine.query(sql).to_csv(path, index=False)
    return path


def expected(frame: pd.DataFrame) -> Comparison:
    options: Any = {"column": ODD, "by": "it's", "reference": "A", "current": "B"}
    found: Comparison = compare(frame, **options, scale=5.0)
    return found


def test_a_pasted_result_compares_as_in_memory(pasted: Path, frame: pd.DataFrame) -> None:
    found = compare_bins(str(pasted), ODD, "A", "B", FIXED)
    assert isinstance(found, Comparison)
    in_memory = expected(frame)
    assert found.statistic == pytest.approx(in_memory.statistic, abs=1e-9 * in_memory.scale)
    assert found.shift == pytest.approx(in_memory.shift, abs=1e-9 * in_memory.scale)
    for side in ("reference", "current"):
        ours, theirs = getattr(found, side), getattr(in_memory, side)
        for name in ("size", "nan", "minus_inf", "plus_inf"):
            assert getattr(ours, name) == getattr(theirs, name)


def test_a_grid_of_before_is_kept(engine: Any, pasted: Path, tmp_path: Path) -> None:
    grid = next(iter(read_bins(str(pasted)).values())).grid
    numbers = f"{grid.center!r},{grid.unit!r}"
    words = ("sql", "--dialect", engine.name, "by_hand", "-c", ODD, "--by", "it's")
    again = tmp_path / "again.csv"
    engine.query(here(*words, "--grid", numbers).stdout).to_csv(again, index=False)
    for name, summary in read_bins(str(again)).items():
        before = read_bins(str(pasted))[name]
        assert summary.grid == grid
        np.testing.assert_array_equal(summary.counts, before.counts)


def test_two_tables_are_two_samples(engine: Any, frame: pd.DataFrame, tmp_path: Path) -> None:
    for name, part in frame.groupby("it's"):
        engine.load(part.reset_index(drop=True), f"hand_{name.lower()}")
    path = tmp_path / "bins.csv"
    engine.query(statement(engine.name, ["hand_a", "hand_b"], ODD, None)).to_csv(path, index=False)
    found = compare_bins(str(path), ODD, "hand_a", "hand_b", FIXED)
    assert isinstance(found, Comparison)
    assert found.shift == pytest.approx(expected(frame).shift, abs=1e-8)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("grid", [None, Grid(0.1, 3.0)])
def test_the_query_parses_in_its_dialect(dialect: str, grid: Grid | None) -> None:
    """Every name is quoted as an identifier, whatever it looks like."""
    sql = statement(dialect, ['shop."my.schema".requests'], ODD, "it's", grid)
    parsed = sqlglot.parse(sql, dialect=dialect)
    assert len(parsed) == 1
    assert isinstance(parsed[0], sqlglot.exp.Select)
    names = {each.this for each in parsed[0].find_all(sqlglot.exp.Identifier)}
    # BigQuery allows no quotes in column names: Ibis writes the names it would make of them
    odd = {ODD, "my.schema"} if dialect != "bigquery" else {"select_x_--"}
    assert {"it's", "shop", "requests"} | odd <= names


def test_bad_words_are_told_in_one_line(tmp_path: Path) -> None:
    words = ("sql", "--dialect", "duckdb", "t")
    assert "--column" in here(*words, code=2).stderr
    assert "two tables, or one table with --by" in here(*words, "-c", "x", code=2).stderr
    assert "--grid" in here(*words, "-c", "x", "--by", "k", "--grid", "1", code=2).stderr
    assert (
        "dialect must be"
        in here("sql", "--dialect", "x", "t", "-c", "x", "--by", "k", code=2).stderr
    )
    assert "no other source" in here("compare", "--from-bins", "x", "--by", "y", code=2).stderr
    assert "need --connect" in here("compare", "--table", "x", code=2).stderr
    assert "memory must be like" in here("compare", "x", "y", "--memory", "lots", code=2).stderr


@pytest.fixture
def bins(tmp_path: Path) -> pd.DataFrame:
    """A small result."""
    import duckdb

    sql = statement("duckdb", ["t"], "v", "k")
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 100 + i % 97 + i % 2 AS v, i % 2 AS k FROM range(5000) r(i)"
        )
        return pd.DataFrame(connection.execute(sql).fetchnumpy())


def _psql(frame: pd.DataFrame) -> str:
    rows = [" | ".join(map(str, row)) for row in [list(frame), *frame.values.tolist()]]
    return "\n".join([rows[0], "-----+-----", *rows[1:], f"({len(frame)} rows)"])


FORMS: dict[str, Any] = {
    "csv": lambda f: f.to_csv(index=False),
    "capitals": lambda f: f.rename(columns=str.upper).to_csv(index=False, quoting=1),
    "tsv": lambda f: f.to_csv(index=False, sep="\t"),
    "semicolons, windows": lambda f: (
        "\ufeff" + f.to_csv(index=False, sep=";", lineterminator="\r\n")
    ),
    "json": lambda f: f.to_json(orient="records"),
    "ndjson": lambda f: f.to_json(orient="records", lines=True),
    "psql": _psql,
    "ClickHouse's json": lambda f: json.dumps(
        {
            "meta": [{"name": name, "type": "String"} for name in f],
            "data": json.loads(f.astype({"count": str}).to_json(orient="records")),
            "rows": len(f),
        }
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_results_are_taken_in_many_forms(form: str, bins: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bins"
    path.write_text(FORMS[form](bins), encoding="utf-8")
    words = ("compare", "--from-bins", str(path), "-c", "v_ms", "--reference", "0")
    found = json.loads(here(*words, "--current", "1", "--json").stdout)
    assert (found["reference"]["size"], found["unit"]) == (2500, "ms")
    assert found["shift"] == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.iloc[:-1], "paste all of them"),
        (lambda f: pd.concat([f, f]), "paste all of them"),
        (lambda f: f.assign(center=f.center + np.arange(len(f)) % 2), "different grids"),
        (lambda f: f.assign(sum=f["sum"] * 2.0), "do not belong to their bins"),
        (lambda f: f.assign(count=-f["count"]), "whole numbers from 1"),
        (lambda f: f.assign(squares=f.squares * 0.5), "squares are too small"),
        (lambda f: f.drop(columns="unit"), "no column 'unit'"),
        (lambda f: f.assign(sum="x"), "not a number"),
        (lambda f: f.iloc[:0], "has no rows"),
    ],
)
def test_results_that_do_not_fit_are_refused(
    change: Any, message: str, bins: pd.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "bins.csv"
    change(bins).to_csv(path, index=False)
    with pytest.raises(ValueError, match=message):
        read_bins(str(path))


def test_samples_that_are_not_there_are_named(bins: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bins.csv"
    bins.to_csv(path, index=False)
    words = ("compare", "--from-bins", str(path), "--reference")
    assert "no sample '7'" in here(*words, "7", code=2).stderr
    assert "say which sample" in here(*words[:-1], code=2).stderr


def test_a_database_is_asked_by_url(tmp_path: Path) -> None:
    """DuckDB's files are databases too."""
    import duckdb

    with duckdb.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE SCHEMA s")
        connection.execute(
            "CREATE TABLE s.t AS SELECT i % 97 + i % 2 AS v, i % 2 AS k, i FROM range(5000) r(i)"
        )
        connection.execute("CREATE TABLE old AS FROM s.t WHERE k = 0")
        connection.execute("CREATE TABLE new AS FROM s.t WHERE k = 1")
    url = f"duckdb://{tmp_path / 'x.db'}"
    words = ("compare", "--connect", url, "-c", "v", "--json")
    levels = ("--by", "k", "--reference", "0", "--current", "1")
    found = json.loads(here(*words, "--table", "s.t", *levels).stdout)
    assert found["reference"]["size"] == 2500
    half = here(*words, "--table", "s.t", *levels, "--where", "i < 2500")
    assert json.loads(half.stdout)["reference"]["size"] == 1250
    two = json.loads(here(*words, "--table", "old", "--table", "new").stdout)
    assert two["shift"] == pytest.approx(found["shift"], rel=1e-6)
    by_name: Any = {"table": ("old", "new"), "column": "v"}
    assert compare(url, **by_name).shift == pytest.approx(two["shift"])
    changed = here(
        "drift", "--connect", url, "--table", "old", "--table", "new", "-c", "v", "--json"
    )
    assert len(json.loads(changed.stdout)["comparisons"]) == 1
    for where in ("1 = 1; DROP TABLE new", "DROP TABLE new", "SELECT 1", "v ==== 3"):
        assert (
            "not a condition"
            in here(*words, "--table", "new", *levels, "--where", where, code=2).stderr
        )
    assert "no table nothing" in here(*words, "--table", "nothing", *levels, code=2).stderr
    assert "needs a --table" in here(*words, code=2).stderr


def test_errors_of_connecting_do_not_show_the_password(engine: Any) -> None:
    url = "postgresql://dkmd:s3cret@127.0.0.1:1/nothing"
    assert shown(url) == "postgresql://127.0.0.1:1/nothing"
    words = ("compare", "--connect", url, "--table", "t", "--by", "k")
    error = here(*words, code=2).stderr
    assert "cannot connect to postgresql://127.0.0.1:1/nothing" in error
    assert "s3cret" not in error


def test_a_page_and_its_calls_do_not_show_the_password() -> None:
    call = Call("compare", ("postgresql://me@host/db",), {"table": ("a", "b"), "column": "x"})
    given = "dkmd compare --connect postgresql://me@host/db --table a --table b --column x"
    assert call.command() == given
    assert without_password("x postgresql://me:s3/c@ret@host/db") == "x postgresql://me:***@host/db"
    words = ["dkmd", "compare", "--connect", "postgresql://me:s3cret@host/db", "--report", "x.html"]
    with patch.object(sys, "argv", words):
        assert "s3cret" not in command_line()


def _with_null_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """A result with a level '' and rows without a level, as earlier statements returned."""
    levels = frame["sample"].astype(str).replace({"1": ""})
    unknown = frame[levels == ""].assign(sample=None)
    return pd.concat([frame.assign(sample=levels), unknown]).assign(rows=len(frame) + len(unknown))


@pytest.mark.parametrize("form", ["csv", "\\N", "NULL", "json", "ndjson"])
def test_null_is_no_level_and_no_text_is_one(form: str, bins: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "bins"
    frame = _with_null_levels(bins)
    if "json" in form:
        text = FORMS[form](frame)
    else:
        marked = frame.assign(sample=frame["sample"].replace({"": "NOTHING"}))
        text = marked.to_csv(index=False, na_rep="" if form == "csv" else form)
        text = text.replace("NOTHING", '""')
    path.write_text(text, encoding="utf-8")
    found = read_bins(str(path))
    assert {name: summary.size for name, summary in found.items()} == {"0": 2500, "": 2500}


def test_rows_without_a_level_are_not_asked_for(engine: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"v": np.arange(900.0), "k": pd.Series(["a", "b", None] * 300, dtype=object)}
    )
    engine.load(frame, "unknown_level")
    path = tmp_path / "bins.csv"
    sql = statement(engine.name, ["unknown_level"], "v", "k")
    assert re.search(r"IS (NOT )?NULL", sql.partition("FROM")[2].partition(")")[0])
    engine.query(sql).to_csv(path, index=False)
    assert sorted(read_bins(str(path))) == ["a", "b"]


def test_infinities_that_became_null_are_noticed(bins: pd.DataFrame, tmp_path: Path) -> None:
    """ClickHouse's JSON writes infinities as null."""
    rows = json.loads(bins.to_json(orient="records"))
    rows[0] |= {"bin": None, "sum": None, "squares": None, "below": False}
    path = tmp_path / "bins.json"
    path.write_text(json.dumps({"meta": [], "data": rows}), encoding="utf-8")
    with pytest.raises(ValueError, match="output_format_json_quote_denormals"):
        read_bins(str(path))
