"""The statement of ``bins_query`` on engines: its rows are the Summary of the values."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from subprocess import run
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlglot

from dkmd import Grid, Summary, bins_query, compare
from dkmd.sources.engines.bins_query import DIALECTS

ODD = 'select "x"; --'
GRID = Grid(0.1, 3.0)
WIDE = [math.inf, math.nan, -math.inf, math.inf, 1e149, -2e14, 0.1, 0.0]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Values of three builds, with time-outs, gaps, extremes and rows without a build."""
    rng = np.random.default_rng(3)
    values = rng.gamma(4.0, 5.0, 6_000) * rng.choice([-1.0, 1.0], 6_000)
    values[: len(WIDE)] = WIDE
    build = np.array(["A", "B", "", None], dtype=object)[np.arange(6_000) % 4]
    build[: len(WIDE)] = "A"
    return pd.DataFrame({ODD: values, "it's": pd.Series(build, dtype=object)})


@pytest.fixture(scope="module")
def result(engine: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """What the engine answers."""
    engine.load(frame, "asked")
    sql = bins_query("asked", ODD, GRID, dialect=engine.name, by="it's")
    found: pd.DataFrame = engine.query(sql)
    return found


def assert_same(found: Summary, expected: Summary) -> None:
    """Counts are equal, and sums up to the order of adding."""
    assert found.grid == expected.grid
    for name in ("bins", "counts", "nan", "minus_inf", "plus_inf"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-12)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-12)


def expected_at(frame: pd.DataFrame, level: str) -> Summary:
    return Summary.of(frame[ODD][frame["it's"] == level], GRID)


def test_the_rows_of_a_statement_are_the_summary_of_the_values(
    result: pd.DataFrame, frame: pd.DataFrame
) -> None:
    found = Summary.levels_from_bins(result)
    assert sorted(found) == ["", "A", "B"]
    for level in ("", "A", "B"):
        assert_same(found[level], expected_at(frame, level))
    regular = found["B"]
    assert regular.minimum <= frame[ODD][frame["it's"] == "B"].min()
    assert regular.maximum >= frame[ODD][frame["it's"] == "B"].max()


def test_a_csv_that_the_engine_writes_is_read(
    engine: Any, result: pd.DataFrame, frame: pd.DataFrame, tmp_path: Path
) -> None:
    sql = bins_query("asked", ODD, GRID, dialect=engine.name, by="it's")
    found = Summary.levels_from_bins(_written(engine, sql, tmp_path / "bins.csv"))
    assert len(found) == 3
    for level in ("", "A", "B"):
        assert_same(found[level], expected_at(frame, level))


def _written(engine: Any, sql: str, path: Path) -> Path:
    """The result as the engine itself writes CSV."""
    if engine.name == "duckdb":
        engine.backend.raw_sql(f"COPY ({sql}) TO '{path}' (HEADER)")
        return path
    if engine.name == "spark":
        engine.session.sql(sql).coalesce(1).write.csv(str(path), header=True)
        return next(path.glob("part-*.csv"))
    import psycopg

    with (
        psycopg.connect(engine.server.url) as connection,
        connection.cursor().copy(f"COPY ({sql}) TO STDOUT WITH CSV HEADER") as rows,  # psql --csv
    ):
        path.write_bytes(b"".join(rows))
    return path


def test_a_table_is_one_sample(engine: Any, frame: pd.DataFrame) -> None:
    engine.load(frame, "asked")
    sql = bins_query("asked", ODD, GRID, dialect=engine.name)
    assert_same(Summary.from_bins(engine.query(sql)), Summary.of(frame[ODD], GRID))


def test_values_whose_square_no_double_holds_count_as_infinite(engine: Any) -> None:
    engine.load(pd.DataFrame({"v": [1e300, 1e300, -1e300, 1.0]}), "far")
    found = Summary.from_bins(engine.query(bins_query("far", "v", GRID, dialect=engine.name)))
    assert (found.minus_inf, found.plus_inf, found.counts.tolist()) == (1, 2, [1])
    assert found.maximum == pytest.approx(1.0)


def test_an_answer_is_that_of_the_values(engine: Any) -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"ms": rng.lognormal(3.0, 0.5, 5_000), "build": np.arange(5_000) % 2})
    frame.loc[frame["build"] == 1, "ms"] *= 1.05
    engine.load(frame, "asked_again")
    some = rng.choice(frame["ms"], 500)
    sql = bins_query("asked_again", "ms", some, dialect=engine.name, by="build")
    found = Summary.levels_from_bins(engine.query(sql))
    answer = compare(found["0"], found["1"])
    options: Any = {"column": "ms", "by": "build", "reference": 0, "current": 1}
    expected = compare(frame, **options).shift
    assert answer.shift == pytest.approx(expected, abs=1e-6 * answer.scale)


def test_whole_numbers_decimals_and_nulls_are_numbers(engine: Any) -> None:
    """A decimal becomes the double next to it, and an integer is not divided as one."""
    values = "SELECT 1 AS v, 1.5 AS w UNION ALL SELECT 2, NULL UNION ALL SELECT NULL, 0.1"
    start = "CREATE OR REPLACE TEMP VIEW kinds_of_numbers AS " + values
    grid = Grid(0.1, 0.7)
    for name, of in (("v", [1.0, 2.0, math.nan]), ("w", [1.5, math.nan, 0.1])):
        sql = bins_query("kinds_of_numbers", name, grid, dialect=engine.name)
        assert_same(Summary.from_bins(_with_view(engine, start, sql)), Summary.of(of, grid))


def _with_view(engine: Any, start: str, sql: str) -> pd.DataFrame:
    """A statement's result, after another statement on the same connection."""
    if engine.name != "postgres":
        engine.backend.raw_sql(start)
        found: pd.DataFrame = engine.query(sql)
        return found
    import psycopg

    with psycopg.connect(engine.server.url) as connection:
        connection.execute(start)
        cursor = connection.execute(sql)
        names = [column.name for column in cursor.description or ()]
        return pd.DataFrame(cursor.fetchall(), columns=names)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_the_statement_parses_in_its_dialect(dialect: str) -> None:
    """Every name is quoted as an identifier, whatever it looks like."""
    schema = "my schema" if dialect == "bigquery" else "my.schema"  # no dots there
    sql = bins_query(f'shop."{schema}".requests', ODD, GRID, dialect=dialect, by="it's")
    parsed = sqlglot.parse(sql, dialect=dialect)
    assert len(parsed) == 1
    assert isinstance(parsed[0], sqlglot.exp.Select)
    names = {each.this for each in parsed[0].find_all(sqlglot.exp.Identifier) if each.quoted}
    assert {"it's", "shop", schema, "requests", ODD} <= names


def test_the_grid_is_written_with_all_its_digits() -> None:
    text = bins_query("t", "v", Grid(1234.5, 1.0 / 3.0), dialect="duckdb")
    assert "CAST('1234.5' AS DOUBLE) AS \"center\"" in text
    assert "CAST('0.3333333333333333' AS DOUBLE) AS \"unit\"" in text


def test_values_fit_a_grid_with_round_numbers() -> None:
    values = np.ma.masked_invalid([*np.random.default_rng(1).normal(100.0, 9.0, 500), math.nan])
    grid = Grid.fit(values.compressed()).rounded()
    text = bins_query("t", "v", grid, dialect="duckdb")
    assert bins_query("t", "v", values, dialect="duckdb") == text


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"dialect": "oracle"}, "dialect must be one of bigquery, .*; got 'oracle'"),
        ({"table": "a.b.c.d"}, "has 4 parts"),
        ({"table": "a."}, "not the name of a table"),
        ({"grid": [math.nan]}, "grid must be a Grid, or some finite values"),
        ({"grid": []}, "grid must be a Grid, or some finite values"),
    ],
)
def test_what_no_statement_can_be_written_for_is_told(options: Any, reason: str) -> None:
    given: Any = {"table": "t", "column": "v", "grid": GRID, "dialect": "duckdb"} | options
    with pytest.raises(ValueError, match=reason):
        bins_query(**given)


def test_no_ibis_is_needed() -> None:
    code = "import dkmd, sys; dkmd.bins_query('t', 'v', [1, 2], dialect='spark', by='k'); "
    run([sys.executable, "-c", f"{code} assert 'ibis' not in sys.modules"], check=True)
