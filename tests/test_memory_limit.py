"""``--memory`` limits DuckDB's memory. Rows keep their order, and no temporary file is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from shell import INTERRUPTIBLE

from dkmd import compare
from dkmd.sources.files.duckdb_connection import forget_limits, limit_memory
from dkmd.sources.files.duckdb_file import DuckFile

ROWS, PER_GROUP = 800_000, 20_000


@pytest.fixture
def limited() -> Iterator[None]:
    """A low memory limit. The connection with that limit is closed afterwards."""
    limit_memory("200MB")
    yield
    forget_limits()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Values that rise by one per row, in forty row groups, and noise with a slow wave."""
    path = tmp_path_factory.mktemp("limited") / "ordered.parquet"
    at = np.arange(ROWS)
    noise = np.random.default_rng(3).normal(size=ROWS)
    frame = pd.DataFrame({"at": at, "wave": np.sin(at / 30_000.0) + 0.1 * noise, "k": at % 2})
    frame.to_parquet(path, row_group_size=PER_GROUP)
    return path


@pytest.mark.usefixtures("limited")
def test_rows_come_in_their_order(file: Path) -> None:
    whole, _ = DuckFile(str(file), "parquet").part("at", None, None, None)
    assert np.array_equal(whole, np.arange(ROWS))
    odd, _ = DuckFile(str(file), "parquet").part("at", None, ("k", "1"), ROWS)
    assert np.array_equal(odd, np.arange(1, ROWS, 2))


@pytest.mark.usefixtures("limited")
def test_correlated_neighbours_are_noticed_as_without_a_limit(file: Path) -> None:
    found = compare(file, column="wave", by="k", reference=0, current=1)
    forget_limits()
    free = compare(file, column="wave", by="k", reference=0, current=1)
    assert found.reference.neighbour_correlation == free.reference.neighbour_correlation > 0.9
    assert any("neighbouring values" in note for note in found.warnings)


@pytest.mark.usefixtures("limited")
def test_a_word_among_numbers_is_named_by_its_row(tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    cells = [*map(str, range(400_000)), "oops", *map(str, range(1_000))]
    path.write_text("v\n" + "\n".join(cells) + "\n")
    with pytest.raises(ValueError, match=r"row 400,001.*'oops'"):
        compare(path, [1.0, 2.0, 3.0], column="v")


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels that occur twice each: counting them needs more than 64 MB."""
    path = tmp_path_factory.mktemp("spilled") / "labels.parquet"
    at = np.random.default_rng(1).permutation(1_000_000) // 2
    frame = pd.DataFrame({"label": [f"{i:040d}" for i in at], "k": np.arange(at.size) % 2})
    frame.to_parquet(path, row_group_size=PER_GROUP)
    return path


class Runs(NamedTuple):
    """A folder to run in, a folder for temporary files, and a file of another process there."""

    cwd: Path
    temporary: Path
    of_others: Path


def _spilled(runs: Runs) -> list[Path]:
    """Temporary files that the command has written."""
    return [path for path in runs.temporary.glob("*/*") if path != runs.of_others]


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """The other process has a file of the name that DuckDB gives to its first one."""
    others = tmp_path / "temporary" / "dkmd"
    others.mkdir(parents=True)
    (tmp_path / "cwd").mkdir()
    file = others / "duckdb_temp_storage_DEFAULT-0.tmp"
    file.write_text("needed")
    return Runs(tmp_path / "cwd", tmp_path / "temporary", file)


@pytest.mark.parametrize("end", ["answer", "error", "Ctrl-C"])
def test_no_temporary_file_is_left_or_taken_from_others(end: str, runs: Runs, labels: Path) -> None:
    """The command is seen to write temporary files, in a folder of its own; then they are gone."""
    file = labels
    if end == "error":  # the last rows are damaged
        file = runs.cwd.parent / "damaged.parquet"
        content = bytearray(labels.read_bytes())
        start = len(content) * 49 // 50
        content[start : start + 1000] = bytes(1000)
        file.write_bytes(content)
    by = ("--by", "k", "--reference", "0", "--current", "1", "--memory", "64MB")
    process = subprocess.Popen(
        [*INTERRUPTIBLE, "compare", str(file), "-c", "label", *by], cwd=runs.cwd, text=True,
        env=os.environ | {"TMPDIR": str(runs.temporary)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    seen: list[Path] = []
    while process.poll() is None and not seen:
        seen = _spilled(runs)
        time.sleep(0.005)
    if end == "Ctrl-C":
        process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == {"answer": 0, "error": 2, "Ctrl-C": 130}[end], error
    assert len(error.splitlines()) == (0 if end == "answer" else 1)
    assert seen
    assert [*runs.temporary.rglob("*")] == [runs.of_others.parent, runs.of_others]
    assert runs.of_others.read_text() == "needed"
    assert not any(runs.cwd.iterdir())
