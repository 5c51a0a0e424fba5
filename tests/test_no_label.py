"""Rows without a group label are counted, left out and told; the rest is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from shell import here

from dkmd import Comparison, compare, drift

Frames = tuple[pd.DataFrame, pd.DataFrame]


def _side(seed: int, size: int, more: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    host = rng.integers(0, 20, size)
    return pd.DataFrame(
        {
            "ms": rng.normal(10.0 + more, 1.0, size) + 0.3 * (host % 3),
            "host": [f"h{number}" for number in host],
            "plan": rng.choice(["free", "paid"], size),
            "country": rng.choice(["de", "fr", "pl"], size),
        }
    )


def _with_gaps() -> Frames:
    old, new = _side(1, 400), _side(2, 450, 0.3)
    old.loc[[3, 77, 200], "host"] = None
    new.loc[[0, 449], "host"] = None
    return old, new


def _kept(frames: Frames, where: str, folder: Path) -> tuple[Any, Any]:
    """The same tables in another place."""
    old, new = frames
    if where == "pandas":
        return old, new
    if where == "polars":
        return pl.from_pandas(old), pl.from_pandas(new)
    if where == "arrow table":
        return pa.Table.from_pandas(old), pa.Table.from_pandas(new)
    if where == "duckdb":
        there = duckdb.connect()
        there.register("old_frame", old)
        there.register("new_frame", new)
        there.execute("CREATE TABLE old AS FROM old_frame; CREATE TABLE new AS FROM new_frame")
        return there.table("old"), there.table("new")
    write: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
        "csv": lambda frame, path: frame.to_csv(path, index=False),
        "parquet": lambda frame, path: frame.to_parquet(path),
        "arrow": feather.write_feather,
    }
    paths = []
    for name, frame in (("old", old), ("new", new)):
        write[where](frame, folder / f"{name}.{where}")
        paths.append(folder / f"{name}.{where}")
    return paths[0], paths[1]


PLACES = ("pandas", "polars", "arrow table", "duckdb", "csv", "parquet", "arrow")

QUESTIONS: dict[str, dict[str, Any]] = {
    "groups": {"column": "ms", "groups": "host"},
    "pairs": {"column": "ms", "pair_by": "host"},
    "levels": {"column": "plan", "groups": "host"},
    "segments": {"column": "ms", "segments": "country", "groups": "host"},
    "strata": {"column": "ms", "strata": "country", "randomized": True, "groups": "host"},
    "together": {"together": ["ms"], "groups": "host"},
}


def _notes(answer: Any) -> list[str]:
    told = answer.total.warnings if hasattr(answer, "total") else answer.warnings
    return [each.partition(": ")[2] for each in told if "no label" in each]


IN_MEMORY = ("levels", "together")
"""Questions that need the rows in memory, which an engine does not give."""


@pytest.mark.parametrize(
    ("question", "where"),
    [(q, w) for q in QUESTIONS for w in PLACES if not (w == "duckdb" and q in IN_MEMORY)],
)
def test_rows_without_a_label_are_left_out_and_told_everywhere(
    question: str, where: str, tmp_path: Path
) -> None:
    frames, asked = _with_gaps(), QUESTIONS[question]
    answer = compare(*_kept(frames, where, tmp_path), **asked)
    whole = compare(*(frame.dropna(subset=["host"]) for frame in frames), **asked)
    said, expected = _numbers(answer.to_dict()), _numbers(whole.to_dict())
    assert said == pytest.approx(expected, rel=2e-3, nan_ok=True)  # engines sum up bins
    assert _notes(answer) == [
        "3 rows have no label in column 'host' and were left out",
        "2 rows have no label in column 'host' and were left out",
    ]


def _numbers(document: dict[str, Any]) -> list[float]:
    """The numbers that answers of all places share."""
    whole = document.get("total", document)
    names = ("pvalue", "shift", "length")
    found = [whole[name] for name in names if isinstance(whole.get(name), float)]
    sizes = [whole[side]["size"] for side in ("reference", "current")]
    assert found
    return [*found, *sizes]


def test_a_label_may_be_missing_in_arrays_too() -> None:
    old, new = _with_gaps()
    arrays = compare(old.ms.to_numpy(), new.ms.to_numpy(), groups=(old.host, new.host))
    table = compare(old, new, column="ms", groups="host")
    assert arrays.pvalue == pytest.approx(table.pvalue)
    assert "reference: 3 rows have no label in column 'groups'" in arrays.warnings[0]
    levels = compare(old.plan.to_list(), new.plan.to_list(), groups=(old.host, new.host))
    assert levels.pvalue == pytest.approx(compare(old, new, column="plan", groups="host").pvalue)
    assert "3 rows have no label" in levels.warnings[0]


@pytest.mark.parametrize("gap", [None, float("nan")])
def test_numbers_as_labels_may_be_missing(gap: float | None) -> None:
    old, new = _with_gaps()
    numbered = [
        frame.assign(host=frame.host.str[1:].astype(float).where(frame.host.notna(), gap))
        for frame in (old, new)
    ]
    answer = compare(*numbered, column="ms", groups="host")
    assert answer.pvalue == pytest.approx(compare(old, new, column="ms", groups="host").pvalue)
    lazy = [pl.from_pandas(frame, nan_to_null=False).lazy() for frame in numbered]
    assert compare(*lazy, column="ms", groups="host").pvalue == pytest.approx(answer.pvalue)


def test_a_drift_goes_on_without_the_rows(tmp_path: Path) -> None:
    frames = _with_gaps()
    found = drift(*frames, groups="host")
    whole = drift(*(frame.dropna(subset=["host"]) for frame in frames), groups="host")
    assert found["ms"].pvalue == pytest.approx(whole["ms"].pvalue)
    assert "3 rows have no label in column 'host'" in str(found)
    old, new = _kept(frames, "csv", tmp_path)
    done = here("drift", str(old), str(new), "--groups", "host", code=None)
    told = " ".join((done.stdout + done.stderr).split())
    assert "old.csv: 3 rows have no label in column 'host' and were left out" in told


def test_levels_of_one_table_go_on_without_the_rows() -> None:
    old, new = _with_gaps()
    both = pd.concat([old.assign(week="a"), new.assign(week="b")], ignore_index=True)
    answer = compare(both, column="ms", by="week", reference="a", groups="host")
    assert isinstance(answer, Comparison)
    assert answer.pvalue == pytest.approx(compare(old, new, column="ms", groups="host").pvalue)
    assert "the table: 5 rows have no label in column 'host' and were left out" in answer.warnings


def test_errors_still_name_the_row_of_the_file(tmp_path: Path) -> None:
    """Rows that were left out count, because people look into the file."""
    lines = ["ms,host", "1,a", "2,", "3,b", "four,b", *(f"{i},c" for i in range(60))]
    (tmp_path / "old.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("\n".join(["ms,host", "1,a", "2,b", "3,c"]) + "\n")
    with pytest.raises(ValueError, match=r"row 4.*four|four.*row 4"):
        compare(tmp_path / "old.csv", tmp_path / "new.csv", column="ms", groups="host")


def test_rows_without_a_segment_or_a_stratum_do_not_end_the_comparison() -> None:
    old, new = (frame.dropna(subset=["host"]).reset_index(drop=True) for frame in _with_gaps())
    old.loc[:9, "country"] = None
    segmented = compare(old, new, column="ms", segments="country")
    assert segmented.total.reference.size == len(old)
    adjusted = compare(old, new, column="ms", strata="country", randomized=True)
    assert adjusted.reference.size == len(old)


def test_shares_of_missing_values_never_look_the_same_beside_a_change() -> None:
    rng = np.random.default_rng(3)

    def with_missing(count: int) -> pd.DataFrame:
        values = rng.normal(size=200_000)
        values[:count] = np.nan
        return pd.DataFrame({"ms": rng.permutation(values)})

    found = drift(with_missing(80), with_missing(10))
    assert found["ms"].changed == ["missing"]
    assert "Fewer values are missing: 0.01%, before 0.04%." in found["ms"].headline()
    assert "missing 0.04% → 0.01%" in str(found)


def test_a_shift_at_infinity_has_no_percentage() -> None:
    """Half of the weight is at infinity, up to the rounding of weights."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        half = rng.choice([0.1, 0.2, 0.3, 0.7], 25)
        old = pd.DataFrame({"ms": rng.gamma(3.0, 1.0, 50), "weight": np.r_[half, half]})
        ms = np.r_[np.full(25, np.inf), rng.gamma(3.0, 1.0, 25)]
        new = pd.DataFrame({"ms": ms, "weight": np.r_[half, half]})
        answer = compare(
            old, new.sample(frac=1.0, random_state=seed), column="ms", weights="weight"
        )
        assert answer.relative_shift is None
        assert answer.shift == np.inf
        assert "50% of the values are at +inf (never finished, for times), before 0%" in str(
            answer.headline()
        )
        assert "interval" not in answer.headline()


def test_a_percentage_is_never_larger_than_the_values_are_apart() -> None:
    """Of 1, 2 and infinity no two finite values differ by more than 100%."""
    old = 1.0 + np.arange(100) % 2
    new = np.r_[np.full(49, np.inf), 1.0 + np.arange(51) % 2]
    answer = compare(old, np.random.default_rng(1).permutation(new), kind="amount")
    assert answer.relative_shift is None or answer.relative_shift <= 1.0
