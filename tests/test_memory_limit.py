"""``--memory`` limits DuckDB's memory. The rows of a file keep their order."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
