"""compare, drift and plan on terminals: tables that fit, lists cut with a count, answers last."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from shell import answer_in, here

import dkmd

pytestmark = pytest.mark.slow  # nothing here is compiled: plain Python would only be slower

LONG = "a_rather_long_name_of_a_column_" * 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of 60 columns, of which two moved, with wide names and constants."""
    rng = np.random.default_rng(4)
    found = tmp_path_factory.mktemp("tables")
    for side, moved in (("old", 0.0), ("new", 1.0)):
        columns = {f"c{i:02d}": rng.normal(size=120) for i in range(56)}
        columns |= {LONG: rng.normal(size=120), "延迟_ms": rng.gamma(4.0, 5.0, 120) + 9.0 * moved}
        columns["c07"] = columns["c07"] + 2.0 * moved
        columns |= {"k1": np.ones(120), "k2": np.ones(120)}
        pd.DataFrame(columns).to_parquet(found / f"{side}.parquet")
    return found


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal(
    folder: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (
        ("drift", "old.parquet", "new.parquet"),
        ("drift", "old.parquet", "new.parquet", "--all"),
        ("compare", "old.parquet", "new.parquet", "-c", LONG, "--peers"),
        ("compare", "old.parquet", "new.parquet", "-c", "延迟_ms", "--margin", "2%"),
        ("plan", "old.parquet", "-c", "延迟_ms", "--shift", "1"),
    ):
        lines = here(*words, cwd=folder).stdout.splitlines()
        broken = [line for line in lines if cell_len(line) > width]
        # a word that is longer than the line cannot be broken
        assert not [line for line in broken if " " in line.strip()]


def test_long_lists_are_cut_with_a_count_and_changes_come_first(folder: Path) -> None:
    words = ("drift", "old.parquet", "new.parquet")
    shown = here(*words, cwd=folder).stdout
    rows = shown.split("\n\n")[0].splitlines()
    assert {row.split()[0] for row in rows[1:3]} == {"c07", "延迟_ms"}
    assert rows[-1] == "… 38 more columns (--all)"
    assert len(rows) == 22
    everything = here(*words, "--all", cwd=folder).stdout.split("\n\n")[0].splitlines()
    assert len(everything) == 59
    assert "2 columns were skipped (k1, k2): all their values are equal" in " ".join(shown.split())


def test_the_answer_is_the_last_block_and_the_same_everywhere(folder: Path) -> None:
    words = ("compare", "old.parquet", "new.parquet", "-c", "延迟_ms")
    shown = here(*words, cwd=folder).stdout
    told = answer_in(shown)
    assert told.startswith("延迟_ms is HIGHER in new.parquet")
    assert here(*words, "-q", cwd=folder).stdout == f"{told}\n"
    found = dkmd.compare(folder / "old.parquet", folder / "new.parquet", column="延迟_ms")
    assert answer_in(str(found)) == told == found.headline()
    assert max(map(cell_len, str(found).split("\n\n")[-1].splitlines())) <= 88  # of wide names


def test_a_verdict_never_contradicts_the_tally() -> None:
    """Without a margin a direction needs the adjusted p-value that the tally counts."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        old = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
        new = pd.DataFrame({"a": rng.normal(0.42, 1.0, 60), "b": rng.normal(size=60)})
        found = dkmd.drift(old, new)
        for name, each in found.items():
            if each.verdict in ("higher", "lower"):
                assert name in found.shifted
        if not found.changed:
            of_columns, together, _ = found.headline().partition(" All 2 columns")
            assert ":" not in of_columns
            assert together
