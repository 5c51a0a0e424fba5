"""The study of docs/matrices.md: enough trials, and the limits that its text states."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from shell import ROOT

PAGE = (ROOT / "docs" / "matrices.md").read_text()


class Line(NamedTuple):
    """A line of a table: its cell, its trials, and its shares in percent."""

    data: str
    columns: int
    rows: tuple[int, int]
    trials: int
    shares: dict[str, float]


def _lines(part: str) -> Iterator[Line]:
    found = re.search(f"<!-- {part}: begin -->\n(.*?)<!-- {part}: end -->", PAGE, re.S)
    assert found is not None
    head, _, *lines = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()
    )
    for data, columns, rows, trials, *shares in lines:
        n, m = map(int, rows.split(":"))
        numbers = (float(share.split(" ")[0].replace("–", "nan")) for share in shares)
        named = dict(zip(head[4:], numbers, strict=True))
        yield Line(data, int(columns), (n, m), int(trials), named)


@pytest.mark.parametrize("part", ["size", "spread", "odd", "power", "behind", "embeddings"])
def test_every_cell_has_two_thousand_trials(part: str) -> None:
    assert min(line.trials for line in _lines(part)) >= 2000


@pytest.mark.parametrize("part", ["size", "spread"])
def test_no_cell_rejects_more_often_than_it_may(part: str) -> None:
    lines = list(_lines(part))
    assert {line.columns for line in lines} == {2, 10, 100, 1000}
    assert max(line.shares["size"] for line in lines) <= 6.5


def test_the_test_is_not_timid_with_a_hundred_rows() -> None:
    enough = [line for line in _lines("size") if min(line.rows) >= 100]
    assert len(enough) == 50
    assert min(line.shares["size"] for line in enough) >= 3.0


def test_every_cell_far_from_the_best_test_is_looked_at() -> None:
    far = {line[:3] for line in _lines("power") if line.shares["behind the best"] > 3.0}
    assert far == {line[:3] for line in _lines("behind")}


def test_the_text_counts_the_cells_near_the_best_test() -> None:
    behind = [line.shares["behind the best"] for line in _lines("power")]
    near = sum(points <= 3.0 for points in behind)
    assert f"{near} of {len(behind)} cells are within 3 points of the best test" in " ".join(
        PAGE.split()
    )
