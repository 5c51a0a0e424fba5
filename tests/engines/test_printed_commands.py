"""The commands and the Python of docs/engines.md that name a server, run as printed.

Only the address of the server is another: that of the engine under test. DuckDB gets a file. Spark
has no address, so its Python is run and its commands are not.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import pytest
from engines.conftest import Engine
from shell import ROOT, here

import dkmd

PAGE = (ROOT / "docs" / "engines.md").read_text()
ADDRESS = "postgresql://me@db.example/shop"


def _tables(rng: np.random.Generator) -> dict[str, pd.DataFrame]:
    """The tables that the page names. Builds 41 and 42 differ by 5 ms."""
    sizes = {"requests": 1_200, "requests_old": 700, "requests_new": 500}
    made = {}
    for name, size in sizes.items():
        build = rng.integers(41, 43, size) if name == "requests" else np.full(size, 41)
        later = (build == 42) | (name == "requests_new")
        made[name] = pd.DataFrame(
            {
                "latency_ms": rng.normal(100.0, 9.0, size) + 5.0 * later,
                "build": build,
                "region": rng.choice(["eu", "us"], size),
                "user_id": rng.integers(0, 200, size),
            }
        )
    for name, shift in (("features_old", 0.0), ("features_new", 1.0)):
        made[name] = pd.DataFrame(
            {"age": rng.normal(40.0, 5.0, 600), "spend": rng.normal(9.0 + shift, 2.0, 600)}
        )
    return made


def _address(engine: Engine, tables: dict[str, pd.DataFrame], folder: Path) -> str:
    """Where another process finds the tables; empty if the engine has no address."""
    if engine.name == "duckdb":
        path = folder / "shop.duckdb"
        with duckdb.connect(path) as connection:
            for name, frame in tables.items():
                connection.register("frame", frame)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
                connection.unregister("frame")
        return f"duckdb://{path}"
    for name, frame in tables.items():
        engine.load(frame, name)
    server: Any = getattr(engine, "server", None)
    return server.url if server else ""


def test_the_commands_of_the_page_run_as_printed(
    engine: Engine, rng: np.random.Generator, tmp_path: Path
) -> None:
    tables = _tables(rng)
    address = _address(engine, tables, tmp_path)
    (tmp_path / "logs").mkdir()
    tables["requests"].to_parquet(tmp_path / "logs" / "one.parquet")
    (block,) = re.findall(r"^On the command line:\n\n```\n((?:dkmd .*\n)+)```$", PAGE, re.M)
    assert ADDRESS in block
    expected = ["HIGHER", "HIGHER", "1 of 2 columns shifted", "HIGHER"]
    for line, words in zip(block.splitlines(), expected, strict=True):
        if "--connect" in line and not address:
            assert engine.name == "spark"
            continue
        command = line.replace(ADDRESS, "…").replace("…", shlex.quote(address))
        done = here(*shlex.split(command)[1:], cwd=tmp_path)
        assert words in " ".join(done.stdout.split()), line
        assert "s3cret" not in done.stdout + done.stderr


def test_the_python_of_the_page_runs_as_printed(
    engine: Engine, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = {name: engine.load(frame, name) for name, frame in _tables(rng).items()}
    asked = []

    def connect(address: str) -> Any:
        asked.append(address)
        return SimpleNamespace(table=loaded.__getitem__)

    monkeypatch.setattr(ibis, "connect", connect)
    (code,) = re.findall(r"^## How to ask\n\n```python\n((?:.*\n)*?)```$", PAGE, re.M)
    answers: list[Any] = []
    for name in ("compare", "drift"):
        kept = getattr(dkmd, name)
        monkeypatch.setattr(
            dkmd, name, lambda *a, _kept=kept, **k: answers.append(_kept(*a, **k)), raising=False
        )
    exec(code, {"yesterday": loaded["requests_old"], "today": loaded["requests_new"]})
    assert asked == [ADDRESS]
    *compared, drifted = answers
    assert [answer.verdict for answer in compared] == ["higher"] * 4
    assert compared[1].current.size < compared[0].current.size  # where
    assert drifted["latency_ms"].verdict == "higher"
    assert set(drifted) | set(drifted.skipped) == set(loaded["requests_new"].columns)
