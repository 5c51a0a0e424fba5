"""Database URLs: what messages must not show, and what opening one must not do."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import tempfile
import tomllib
import traceback
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import ibis
import numpy as np
import pandas as pd
import psycopg
import pytest
from packaging.requirements import Requirement
from shell import ROOT, here

from dkmd import compare
from dkmd.base.calls import Call
from dkmd.base.secrets import gist, without_password
from dkmd.cli.options import command_line
from dkmd.sources.engines.connections import connect
from dkmd.sources.engines.urls import shown


@pytest.mark.parametrize(
    "password",
    ["s3cr3t/r3ader", "s3cr3t#r3ader", "s3cr3t?r3ader", "12/r3ader", "12?r3ader", "s[r3ader"],
)
def test_a_password_that_cannot_be_read_is_not_shown(password: str) -> None:
    url = f"postgresql://me:{password}@127.0.0.1:1/nothing"
    with pytest.raises(ValueError, match="percent-encode the password") as caught:
        connect(url)
    whole = "".join(traceback.format_exception(caught.value))
    shown = [line for line in whole.splitlines() if "Error" in line]
    assert not any(part in line for part in ("s3cr3t", "r3ader") for line in shown)
    error = here("compare", "--connect", url, "--table", "t", "--by", "k", code=2).stderr
    assert "r3ader" not in error


@pytest.mark.parametrize("password", ["p@ss-r3ader", "p%2Fss-r3ader", "r3ader&sslpassword=r3ader"])
def test_a_password_that_can_be_read_is_not_shown_either(password: str) -> None:
    url = f"postgresql://me:{password}@127.0.0.1:1/nothing?connect_timeout=2"
    with pytest.raises(ValueError, match="cannot connect to postgresql://127") as caught:
        connect(url)
    assert "r3ader" not in str(caught.value)


def test_settings_and_messages_of_engines_hide_secrets() -> None:
    error = ValueError("no answer from x://me:a/b@c/d with password=r3ader, token='r3 ader'")
    assert "r3" not in gist(error)
    assert without_password("x://me:a/b@c/d") == "x://me:***@c/d"
    assert gist(ValueError("\x1b[4mv ====\x1b[0m 3")) == "v ==== 3"


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "typo.db"
    for scheme in ("duckdb", "sqlite"):
        words = ("compare", "--connect", f"{scheme}://{path}", "--table", "t", "--by", "k")
        error = here(*words, code=2).stderr
        assert ("sqlite is not supported" if scheme == "sqlite" else f"no file {path}") in error
        assert not path.exists()


def test_files_of_duckdb_are_opened_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS v, i % 2 AS k FROM range(500) r(i)")
        options: Any = {"column": "v", "by": "k", "reference": 0, "current": 1}
        url = f"duckdb://{path}"
        assert compare(url, table="t", **options).current.size == 250  # open in this process too
    backend = connect(url)
    with pytest.raises(duckdb.Error, match="read-only"):
        backend.raw_sql("DROP TABLE t")
    backend.disconnect()
    path.chmod(0o444)
    assert compare(url, table="t", **options).current.size == 250


READING = """
import sys, duckdb
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_of_duckdb_is_not_changed(tmp_path: Path) -> None:
    """Nothing is written into it or beside it, also while another process reads it."""
    path = tmp_path / "x.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS v, i % 2 AS k FROM range(500) r(i)")
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    words = ("compare", "--connect", f"duckdb://{path}?read_only=False", "--table", "t", "-c", "v")
    by = ("--by", "k", "--reference", "0", "--current", "1", "--json")
    other = subprocess.Popen(
        [sys.executable, "-c", READING, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with other as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        found = json.loads(here(*words, *by, "--where", "v < 400").stdout)
        process.communicate("")
    assert found["current"]["size"] == 200
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [each.name for each in tmp_path.iterdir()] == ["x.db"]


def test_data_of_a_duckdb_file_that_do_not_fit_in_memory_go_to_no_folder_of_the_user(
    tmp_path: Path,
) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS v FROM range(500) r(i)")
    backend = connect(f"duckdb://{path}")
    (spills,) = backend.raw_sql("SELECT current_setting('temp_directory')").fetchone()
    backend.disconnect()
    assert Path(spills).parent == Path(tempfile.gettempdir())
    assert stat.S_IMODE(Path(spills).stat().st_mode) == 0o700
    own = tmp_path / "own"
    backend = connect(f"duckdb://{path}?temp_directory={own}")
    (spills,) = backend.raw_sql("SELECT current_setting('temp_directory')").fetchone()
    backend.disconnect()
    assert spills == str(own)


def test_a_duckdb_file_that_this_process_reads_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS v, i % 2 AS k FROM range(500) r(i)")
    with duckdb.connect(path, read_only=True):
        found = compare(f"duckdb://{path}", table="t", column="v", by="k", reference=0, current=1)
    assert found.current.size == 250


def test_names_with_dots_in_both_parts(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with duckdb.connect(path) as connection:
        connection.execute('CREATE SCHEMA "my.schema"')
        connection.execute(
            'CREATE TABLE "my.schema"."odd.na""me" AS '
            "SELECT i AS v, i % 2 AS k FROM range(500) r(i)"
        )
    name = '"my.schema"."odd.na""me"'
    words = ("compare", "--connect", f"duckdb://{path}", "--table", name, "-c", "v", "--by", "k")
    levels = ("--reference", "0", "--current", "1", "--json")
    for where in ((), ("--where", "v < 250")):
        found = json.loads(here(*words, *levels, *where).stdout)
        assert found["current"]["size"] == (125 if where else 250)


def test_an_engine_that_is_not_installed_is_named_with_what_to_install() -> None:
    with pytest.raises(ImportError, match=r"pip install 'ibis-framework\[snowflake\]'"):
        connect("snowflake://me:r3ader@account/db/schema")


def test_a_table_whose_backend_lacks_packages_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ibis notices only when rows are requested."""
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE t AS SELECT i AS v, i % 2 AS k FROM range(500) r(i)")

    def missing(*_: object) -> None:
        raise ImportError("cannot import name 'DuckDBPyArrowData'")

    monkeypatch.setattr(backend, "to_pyarrow", missing)
    expected = (
        r"duckdb needs more packages \(cannot import name 'DuckDBPyArrowData'\): "
        r"pip install 'ibis-framework\[duckdb\]'"
    )
    with pytest.raises(ImportError, match=expected):
        compare(backend.table("t"), column="v", by="k", reference=0, current=1)


def test_the_ordinary_install_brings_what_tables_of_duckdb_need() -> None:
    """The message names Ibis's own extra and nothing else."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ordinary = {each.name: each.extras for each in map(Requirement, project["dependencies"])}
    assert "duckdb" in ordinary["ibis-framework"]
    assert "pyarrow" in ordinary


def test_a_condition_needs_no_other_columns(engine: Any) -> None:
    """A user who may read only some columns of a table can compare those."""
    if engine.name != "postgres":
        return
    engine.load(pd.DataFrame({"v": np.arange(500.0), "k": np.arange(500) % 2, "name": "x"}), "part")
    with psycopg.connect(engine.server.url) as connection:
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("GRANT SELECT (v, k) ON part TO reader")
    url = re.sub(r"//[^@]*@", "//reader@", engine.server.url)
    words = ("compare", "--connect", url, "--table", "part", "-c", "v", "--by", "k")
    levels = ("--reference", "0", "--current", "1", "--json")
    found = json.loads(here(*words, *levels, "--where", "v < 250").stdout)
    assert found["current"]["size"] == 125
    refused = here(*words, *levels, "--where", "name = 'x'", code=2).stderr
    assert "permission denied" in refused
    assert "does not exist" in here(*words, *levels, "--where", "nothing = 1", code=2).stderr


SECOND = (
    "v >= 0; DELETE FROM kept",
    "v >= 0) ; DELETE FROM kept; --",
    "v >= 0 /* */; COMMIT; DELETE FROM kept; --",
    "v >= 0 -- */\n; DELETE FROM kept",
    r"v = E'\' OR v = '; DELETE FROM kept; --'",
    "EXISTS (WITH gone AS (DELETE FROM kept RETURNING v) SELECT v FROM gone)",
    "DELETE FROM kept",
    "'",
)
"""Statements in a condition, behind it, or in its place; and text that does not end."""


@pytest.mark.parametrize("where", SECOND)
def test_a_condition_cannot_bring_a_statement(engine: Any, where: str, tmp_path: Path) -> None:
    if engine.name == "spark":  # it has no URL
        return
    frame = pd.DataFrame({"v": np.arange(500.0), "k": np.arange(500) % 2})
    url = f"duckdb://{tmp_path / 'x.db'}"
    if engine.name == "duckdb":
        with duckdb.connect(tmp_path / "x.db") as connection:
            connection.execute("CREATE TABLE kept AS SELECT * FROM frame")
        before = (tmp_path / "x.db").read_bytes()
    else:
        engine.load(frame, "kept")
        url = engine.server.url
    words = ("compare", "--connect", url, "--table", "kept", "-c", "v", "--by", "k")
    done = here(*words, "--reference", "0", "--current", "1", "--where", where, code=2)
    assert "--where" in done.stderr
    if engine.name == "duckdb":
        assert (tmp_path / "x.db").read_bytes() == before
    else:
        assert engine.query("SELECT count(*) AS rows FROM kept")["rows"][0] == 500


BOOM = """
CREATE OR REPLACE FUNCTION boom() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN DELETE FROM mined WHERE v = 7; RETURN true; END $$;
CREATE OR REPLACE FUNCTION armed() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('default_transaction_read_only') = 'off'
        AND current_setting('dkmd.tried', true) = 'yes' THEN RETURN boom(); END IF;
    PERFORM set_config('default_transaction_read_only', 'off', false);
    PERFORM set_config('dkmd.tried', 'yes', false);
    RETURN true;
END $$;
CREATE OR REPLACE VIEW harmful AS SELECT * FROM mined WHERE boom();
CREATE OR REPLACE FUNCTION unlocked() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN SET TRANSACTION READ WRITE; RETURN boom(); END $$;
"""
"""Functions that delete a row: at once, at the second query after a change of the session, after
a change of the transaction; and a view that calls the first."""


@pytest.mark.parametrize(
    ("command", "table", "where"),
    [
        ("compare", "mined", "boom()"),
        ("compare", "mined", "armed()"),
        ("compare", "mined", "unlocked()"),
        ("compare", "harmful", None),
        ("drift", "mined", "boom()"),
        ("drift", "harmful", None),
    ],
)
def test_functions_of_postgresql_cannot_change_rows(
    engine: Any, command: str, table: str, where: str | None
) -> None:
    if engine.name != "postgres":
        return
    engine.load(pd.DataFrame({"v": np.arange(500.0), "k": np.arange(500) % 2}), "first")
    with psycopg.connect(engine.server.url) as connection:
        connection.execute("DROP TABLE IF EXISTS mined CASCADE; ALTER TABLE first RENAME TO mined")
        connection.execute(BOOM)
    tables = ("--table", table, "--table", table, *(("-c", "v") if command == "compare" else ()))
    chosen = ("--where", where) if where else ()
    error = here(command, "--connect", engine.server.url, *tables, *chosen, code=2).stderr
    assert "read-only transaction" in error or "must be set before any query" in error
    assert engine.query("SELECT count(*) AS rows FROM mined")["rows"][0] == 500


def test_a_server_that_reads_backslashes_in_text_runs_no_second_statement(engine: Any) -> None:
    """With this old setting of PostgreSQL, text ends elsewhere than in standard SQL."""
    if engine.name != "postgres":
        return
    engine.load(pd.DataFrame({"v": np.arange(500.0), "k": np.arange(500) % 2, "g": "a"}), "kept")
    url = engine.server.url + "?options=-c%20standard_conforming_strings%3Doff"
    words = ("compare", "--connect", url, "--table", "kept", "-c", "v", "--by", "k")
    where = r"g = '\' OR g = '; COMMIT; DELETE FROM kept; --'"
    error = here(*words, "--reference", "0", "--current", "1", "--where", where, code=2).stderr
    assert "multiple commands" in error
    assert engine.query("SELECT count(*) AS rows FROM kept")["rows"][0] == 500


def test_a_database_is_asked_by_url(tmp_path: Path) -> None:
    """DuckDB's files are databases too."""
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


def test_bad_options_are_told_in_one_line() -> None:
    assert "need --connect" in here("compare", "--table", "x", code=2).stderr
    assert "memory must be like" in here("compare", "x", "y", "--memory", "lots", code=2).stderr
