"""Tables as benchmarks: which columns are used, and what a row of the answer shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dkmd.answers.gate import Gate, gate, load_benchmarks

RNG = np.random.default_rng(61)


def _file(path: Path, factor: float, size: int) -> Path:
    values = factor * (10.0 + RNG.normal(0.0, 0.2, size))
    spelled = [f"{v:.4f}" for v in values]
    frame = pd.DataFrame({
        "wall": values,
        "spelled": [*spelled[:-1], "n/a"],
        "broken": [*spelled[:-1], "crash"],
        "host": ["a", "b"] * (size // 2),
    })  # fmt: skip
    frame.to_csv(path, index=False)
    return path


def _judged(tmp_path: Path, column: str | None = None, by: str | None = None) -> Gate:
    files = [_file(tmp_path / f"{f}.csv", f, n) for f, n in ((1.0, 60), (1.5, 40))]
    read = [load_benchmarks(str(file), column=column, by=by) for file in files]
    return gate(*read, margin="5%")


def test_columns_of_numbers_are_judged_and_others_are_told(tmp_path: Path) -> None:
    result = _judged(tmp_path)
    rows = {row.name: row for row in result.rows}
    assert set(rows) == {"wall", "spelled", "broken"}
    assert (rows["wall"].verdict, rows["spelled"].verdict) == ("worse", "worse")
    assert "crash" in rows["broken"].reason
    assert rows["wall"].sizes == (60, 40)
    assert rows["spelled"].sizes == (59, 39)
    assert "host" in str(result.left_out)


def test_a_row_shows_both_centres_the_change_and_its_interval(tmp_path: Path) -> None:
    result = _judged(tmp_path, "wall")
    (row,) = result.rows
    name, before, after, change, interval, _, sizes, verdict = result.table()[1]
    assert (name, sizes, verdict) == ("wall", "60+40", "worse")
    assert float(before) == pytest.approx(row.centers[0], rel=1e-2)
    assert float(after) == pytest.approx(row.centers[1], rel=1e-2)
    assert float(change.removesuffix("%")) == pytest.approx(100.0 * row.shift, abs=0.1)
    ends = interval.removesuffix("%").split(" to ")
    assert [float(e) for e in ends] == pytest.approx([100.0 * e for e in row.interval], abs=0.1)


def test_levels_of_one_column_are_benchmarks(tmp_path: Path) -> None:
    result = _judged(tmp_path, "wall", "host")
    assert {row.name: row.sizes for row in result.rows} == {"a": (30, 20), "b": (30, 20)}
