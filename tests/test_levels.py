"""Levels of a column are found alike wherever data are kept: numbers by value, text as it is."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from keepers import CSV, KEEPERS

from dkmd import compare
from dkmd.sources.files import table as files

pytestmark = pytest.mark.slow  # files and engines: plain Python would only make them wait

VALUES = np.random.default_rng(11).normal(size=240)
AT = np.arange(240) % 3


def _table(levels: Any) -> pa.Table:
    return pa.table({"v": VALUES + AT, "k": levels})


NUMBERS: dict[str, Any] = {
    "int64": pa.array(AT, pa.int64()),
    "uint8": pa.array(AT, pa.uint8()),
    "double": pa.array(AT, pa.float64()),
    "decimal": pa.array([Decimal(int(k)).quantize(Decimal("0.01")) for k in AT]),
}


PAIRS = [(kind, keeper) for kind in NUMBERS for keeper in [*KEEPERS, *CSV]]
PAIRS.remove(("decimal", "dask"))  # dask turns the decimals of pandas into text


@pytest.mark.parametrize(("kind", "keeper"), PAIRS)
def test_2_and_2_0_are_one_level_of_numbers(
    kind: str, keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (KEEPERS | CSV)[keeper](_table(NUMBERS[kind]), tmp_path, monkeypatch)
    expected = compare((VALUES + AT)[AT == 1], (VALUES + AT)[AT == 2])
    for one, two in ((1, 2), (1.0, 2.0), ("1", "2"), ("1.0", "2.0"), ("1.00", 2)):
        found = compare(kept, column="v", by="k", reference=one, current=two)
        assert (found.reference.size, found.current.size) == (80, 80)
        assert found.shift == pytest.approx(expected.shift, abs=1e-3)  # of bins, where large
    with pytest.raises(ValueError, match=r"column 'k' has no level '1\.5': it has '0"):
        compare(kept, column="v", by="k", reference=1.5, current=2)
    with pytest.raises(ValueError, match=r"column 'k' has no level '1\.000': it has '0"):
        compare(kept, column="v", by="k", reference="1", current="1.000")


@pytest.mark.parametrize("keeper", KEEPERS)
def test_levels_of_text_are_found_by_their_text_alone(
    keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = pa.array([["0", "1", "2.0"][k] for k in AT])
    kept = KEEPERS[keeper](_table(texts), tmp_path, monkeypatch)
    found = compare(kept, column="v", by="k", reference=1, current="2.0")
    assert (found.reference.size, found.current.size) == (80, 80)
    for level in ("2", 2, "2.00", " 2.0"):
        there = f"column 'k' has no level '{level}': it has '0', '1', '2.0'$"
        with pytest.raises(ValueError, match=there):
            compare(kept, column="v", by="k", reference=1, current=level)
    with pytest.raises(ValueError, match=r"has no level '1\.0': it has '0', '1', '2\.0'$"):
        compare(kept, column="v", by="k", reference="1.0", current="2.0")


@pytest.mark.parametrize("keeper", KEEPERS)
@pytest.mark.parametrize(
    ("levels", "asked", "nearest"),
    [
        ([f"build-{i:03d}" for i in range(240)], "build-1000", "'build-091', .*, 'build-110'"),
        (list(range(0, 2400, 10)), 1001, "'910', .*, '1100'"),
        ([i / 2 for i in range(240)], -7, "'0', .*, '9.5'"),
    ],
)
def test_of_many_levels_an_error_shows_the_nearest(
    levels: list[Any],
    asked: Any,
    nearest: str,
    keeper: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = KEEPERS[keeper](_table(levels), tmp_path, monkeypatch)
    shown = f"column 'k' has no level '{asked}': the nearest that it has are {nearest}$"
    with pytest.raises(ValueError, match=shown) as caught:
        compare(kept, column="v", by="k", reference=levels[0], current=asked)
    assert str(caught.value).count("'") == 2 * (2 + 20)


@pytest.mark.parametrize("keeper", CSV)
def test_versions_in_a_csv_file_are_told_apart_by_their_text(
    keeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1.1 and 1.10 are one number and two versions: a level that is there as it is written wins."""
    (tmp_path / "t.csv").write_text(
        "v,k\n"
        + "".join(f"{v},{['1', '1.1', '1.10'][k]}\n" for v, k in zip(VALUES + AT, AT, strict=True))
    )
    if keeper == "large csv":
        monkeypatch.setattr(files, "LARGE", 10)
    found = compare(tmp_path / "t.csv", column="v", by="k", reference="1.1", current="1.10")
    assert (found.reference.size, found.current.size) == (80, 80)
    assert found.shift > 0.5
    with pytest.raises(ValueError, match=r"no level '1.100': it has '1', '1.1', '1.10'$"):
        compare(tmp_path / "t.csv", column="v", by="k", reference="1", current="1.100")
