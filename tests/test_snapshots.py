"""Whole answers as people read them, kept in tests/snapshots: a changed word must be accepted.

Each file is what a command prints at 80 columns. Measured numbers are masked as #, signs are kept,
and spaces between the columns of a table count as two. ``python tests/test_snapshots.py`` accepts
all answers as they are now: it rewrites the files. Read their diff before you commit it.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather

sys.path.insert(0, str(Path(__file__).parent))  # as a script, too

from shell import ROOT, here

SNAPSHOTS = Path(__file__).parent / "snapshots"

NUMBER = re.compile(
    r"(?<![A-Za-z_\d.,])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?!\d|\.\d|%\s+interval)"
)
"""A number, unless it is a confidence or the level of a percentile."""


def masked(text: str) -> str:
    """A printed answer without its numbers and the width of its columns."""
    lines = []
    for line in text.strip().splitlines():
        known = re.match(r"[\d.]+%(?= {2})", line)
        level = "" if known is None else known[0]
        columns = re.split(r" {2,}", line.removeprefix(level).rstrip())
        lines.append(level + NUMBER.sub("#", "  ".join(columns)))
    return "\n".join(lines) + "\n"


Case = Callable[[np.random.Generator, Path], list[str]]
"""Writes the files of a case into a folder; the words of its command."""

SIZES = ["small", "medium", "large", "huge"]


def _write(folder: Path, old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    old.to_csv(folder / "old.csv", index=False)
    new.to_csv(folder / "new.csv", index=False)
    return ["old.csv", "new.csv"]


def _normal(rng: np.random.Generator, mean: float, spread: float = 5.0) -> pd.DataFrame:
    return pd.DataFrame({"load_ms": rng.normal(mean, spread, 400)})


def a_shift(rng: np.random.Generator, folder: Path) -> list[str]:
    return ["compare", *_write(folder, _normal(rng, 100.0), _normal(rng, 104.0))]


def nothing(rng: np.random.Generator, folder: Path) -> list[str]:
    return ["compare", *_write(folder, _normal(rng, 100.0), _normal(rng, 100.0))]


def within_a_margin(rng: np.random.Generator, folder: Path) -> list[str]:
    return [
        "compare", *_write(folder, _normal(rng, 100.0), _normal(rng, 100.5)), "--margin", "3%",
    ]  # fmt: skip


def beyond_a_margin_or_not(rng: np.random.Generator, folder: Path) -> list[str]:
    return [
        "compare", *_write(folder, _normal(rng, 100.0), _normal(rng, 97.0)), "--margin", "3%",
    ]  # fmt: skip


def a_spread_and_missing_values(rng: np.random.Generator, folder: Path) -> list[str]:
    old, new = _normal(rng, 100.0), _normal(rng, 100.0, 9.0)
    old.loc[:7, "load_ms"], new.loc[:79, "load_ms"] = np.nan, np.nan
    return ["compare", *_write(folder, old, new)]


def a_mean_that_disagrees(rng: np.random.Generator, folder: Path) -> list[str]:
    old, new = _normal(rng, 100.0), _normal(rng, 100.0)
    new.loc[:11, "load_ms"] = 4_000.0
    return ["compare", *_write(folder, old, new.sample(frac=1.0, random_state=1))]


def categories(rng: np.random.Generator, folder: Path) -> list[str]:
    old = rng.choice(["de", "fr", "it", "pl"], 500, p=[0.5, 0.3, 0.15, 0.05])
    new = rng.choice(["de", "fr", "it", "es"], 500, p=[0.3, 0.5, 0.15, 0.05])
    sides = pd.DataFrame({"country": old}), pd.DataFrame({"country": new})
    return ["compare", *_write(folder, *sides), "--column", "country"]


def two_levels_of_text(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = (
        pd.DataFrame({"plan": rng.choice(["free", "paid"], 300, p=[1.0 - share, share])})
        for share in (0.4, 0.55)
    )
    return ["compare", *_write(folder, *sides), "--column", "plan"]


def ordered_levels(rng: np.random.Generator, folder: Path) -> list[str]:
    shares = {"old": [0.4, 0.3, 0.2, 0.1], "new": [0.2, 0.3, 0.3, 0.2]}
    for name, share in shares.items():
        drawn = pd.Categorical(rng.choice(SIZES, 300, p=share), SIZES, ordered=True)
        feather.write_feather(pa.table({"size": pa.array(drawn)}), folder / f"{name}.arrow")
    return ["compare", "old.arrow", "new.arrow", "--column", "size"]


def a_share_of_yes(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = (pd.DataFrame({"converted": (rng.random(2_000) < share) * 1}) for share in (0.05, 0.08))
    return ["compare", *_write(folder, *sides)]


def zeros_and_the_rest(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = []
    for share, size in ((0.3, 20.0), (0.4, 14.0)):
        spent = np.where(rng.random(1_500) < share, rng.gamma(3.0, size / 3.0, 1_500).round(2), 0.0)
        sides.append(pd.DataFrame({"spent": spent}))
    return ["compare", *_write(folder, *sides)]


def dates(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = []
    for start in ("2024-03-01", "2024-03-09"):
        hours = pd.to_timedelta(rng.integers(0, 24 * 20, 300), unit="h")
        sides.append(pd.DataFrame({"seen": pd.Timestamp(start) + hours}))
    return ["compare", *_write(folder, *sides), "--column", "seen"]


def infinite_values(rng: np.random.Generator, folder: Path) -> list[str]:
    old, new = _normal(rng, 100.0), _normal(rng, 100.0)
    old.loc[:179, "load_ms"], new.loc[:259, "load_ms"] = np.inf, np.inf
    shuffled = (side.sample(frac=1.0, random_state=1) for side in (old, new))
    return ["compare", *_write(folder, *shuffled)]


def groups(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = []
    for mean in (100.0, 106.0):
        host = rng.integers(0, 24, 400)
        load = mean + rng.normal(0.0, 4.0, 24)[host] + rng.normal(0.0, 3.0, 400)
        sides.append(pd.DataFrame({"load_ms": load, "host": [f"host{chr(97 + h)}" for h in host]}))
    sides[0].loc[[3, 4], "host"] = None
    return ["compare", *_write(folder, *sides), "--column", "load_ms", "--groups", "host"]


def a_drift(rng: np.random.Generator, folder: Path) -> list[str]:
    sides = []
    for more in (0.0, 1.0):
        side = pd.DataFrame(
            {
                "load_ms": rng.normal(100.0 + 4.0 * more, 5.0, 500),
                "weight": rng.normal(70.0, 5.0 + 3.0 * more, 500),
                "converted": (rng.random(500) < 0.2 + 0.1 * more) * 1,
                "country": rng.choice(["de", "fr"], 500, p=[0.6 - 0.2 * more, 0.4 + 0.2 * more]),
                "same": rng.normal(size=500),
            }
        )
        side.loc[: 9 + 90 * int(more), "same"] = np.nan
        sides.append(side.sample(frac=1.0, random_state=2))
    return ["drift", *_write(folder, *sides)]


def a_gate(_: np.random.Generator, __: Path) -> list[str]:
    suite = ROOT / "examples/bench/suite"
    return [
        "gate", f"{suite}/main-*.json", f"{suite}/branch-*.json",
        "--history", f"{suite}/history.json", "--margin", "4%",
    ]  # fmt: skip


def a_watch(rng: np.random.Generator, folder: Path) -> list[str]:
    stream = np.r_[rng.normal(100.0, 5.0, 600), rng.normal(108.0, 5.0, 300)]
    old, new = _normal(rng, 100.0), pd.DataFrame({"load_ms": stream})
    return ["watch", *_write(folder, old, new)]


CASES: tuple[Case, ...] = (
    a_shift, nothing, within_a_margin, beyond_a_margin_or_not, a_spread_and_missing_values,
    a_mean_that_disagrees, categories, two_levels_of_text, ordered_levels, a_share_of_yes,
    zeros_and_the_rest, dates, infinite_values, groups, a_drift, a_gate, a_watch,
)  # fmt: skip


def printed(case: Case, folder: Path) -> str:
    """What the command of a case prints, with its words first."""
    words = case(np.random.default_rng(2024), folder)
    with patch.dict(os.environ, COLUMNS="80"):
        done = here(*words, code=None, cwd=folder)
    shown = " ".join(word.replace(f"{ROOT}/", "") for word in words)
    return f"$ dkmd {shown}\n" + masked(done.stdout)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_an_answer_reads_as_it_was_accepted(case: Case, tmp_path: Path) -> None:
    """``python tests/test_snapshots.py`` accepts all answers as they are now."""
    accepted = (SNAPSHOTS / f"{case.__name__}.txt").read_text(encoding="utf-8")
    assert printed(case, tmp_path) == accepted


def test_every_accepted_answer_has_a_case() -> None:
    assert sorted(path.stem for path in SNAPSHOTS.glob("*")) == sorted(c.__name__ for c in CASES)


if __name__ == "__main__":
    for each in CASES:
        with tempfile.TemporaryDirectory() as place:
            text = printed(each, Path(place))
        (SNAPSHOTS / f"{each.__name__}.txt").write_text(text, encoding="utf-8")
