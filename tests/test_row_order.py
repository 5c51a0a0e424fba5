"""Answers do not depend on the order of rows; only the note about their order may."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shell import run

from dkmd import Grid, Summary, compare, drift

pytestmark = pytest.mark.slow  # twenty whole answers each: minutes as plain Python

SHUFFLES = 20

Frames = tuple[pd.DataFrame, pd.DataFrame]


def _said(answer: Any) -> str:
    """The whole answer in words and in JSON to six digits, without what is about the order."""
    table = "\n".join(map(str, answer.table())) if hasattr(answer, "table") else ""
    numbers = json.dumps(_rounded(answer.to_dict()), sort_keys=True)
    return f"{table}\n{answer.headline()}\n{numbers}"


def _rounded(part: Any) -> Any:
    if isinstance(part, dict):
        kept = {k: v for k, v in part.items() if k != "neighbour_correlation"}
        return {k: _rounded(v) for k, v in kept.items()}
    if isinstance(part, list):
        return [_rounded(each) for each in part if "neighbouring" not in str(each)]
    return float(f"{part:.6g}") if isinstance(part, float) else part


def _shuffled(frames: Frames, seed: int) -> Frames:
    if not seed:
        return frames
    rng = np.random.default_rng(seed)
    old, new = (each.sample(frac=1.0, random_state=rng, ignore_index=True) for each in frames)
    return old, new


def _of(old: Any, new: Any) -> Frames:
    return pd.DataFrame({"v": old}), pd.DataFrame({"v": new})


def _tenths(rng: np.random.Generator) -> Frames:
    """Prices in steps of 0.1: a bin of equal values has a mean that is off by rounding."""
    steps = np.round(np.arange(0.0, 3.0, 0.1), 1)
    return _of(rng.choice(steps, 20_000), rng.choice(steps, 23_000))


def _skewed(rng: np.random.Generator) -> Frames:
    return _of(rng.lognormal(0.0, 2.0, 18_000), rng.lognormal(0.03, 2.2, 17_000))


def _zeros(rng: np.random.Generator) -> Frames:
    spent = (
        np.where(rng.random(n) < share, 0.0, rng.lognormal(2.0, 1.0, n).round(2))
        for n, share in ((9_000, 0.6), (8_000, 0.58))
    )
    return _of(*spent)


def _symmetric(_: np.random.Generator) -> Frames:
    """The mean and the centre are 0, up to rounding."""
    steps = np.arange(1, 40)
    return _of(np.r_[-steps / 10, steps / 10], np.r_[-steps / 7, steps / 7])


def _both_alike(rng: np.random.Generator) -> Frames:
    values = rng.normal(3.0, 1.0, 700)
    return _of(values, rng.permutation(values))


def _numbered(_: np.random.Generator) -> Frames:
    return _of(np.arange(1, 301), np.arange(301, 601))


def _infinite(rng: np.random.Generator) -> Frames:
    waits = (np.where(rng.random(500) < s, np.inf, rng.gamma(2.0, 1.0, 500)) for s in (0.1, 0.2))
    return _of(*waits)


TABLES = (_tenths, _skewed, _zeros, _symmetric, _both_alike, _numbered, _infinite)


@pytest.mark.parametrize("table", TABLES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("margin", [None, "0.1sd"])
def test_shuffled_rows_give_the_same_answer(
    table: Callable[[np.random.Generator], Frames], margin: str | None
) -> None:
    frames = table(np.random.default_rng(2))
    answers = {_said(compare(*_shuffled(frames, i), margin=margin)) for i in range(SHUFFLES)}
    assert len(answers) == 1


def _orders(size: int) -> Frames:
    rng = np.random.default_rng(5)

    def side(n: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "ms": rng.normal(3.0, 1.0, n).round(2),
                "host": rng.integers(0, 40, n),
                "country": rng.choice(list("xyz"), n),
                "plan": rng.choice(["free", "paid"], n),
                "before": rng.normal(0.0, 1.0, n),
                "weight": rng.gamma(2.0, 1.0, n),
            }
        )

    return side(size), side(size + 100)


QUESTIONS: dict[str, dict[str, Any]] = {
    "groups": {"column": "ms", "groups": "host"},
    "groups of levels": {"column": "plan", "groups": "host"},
    "pairs": {"column": "ms", "pair_by": "host"},
    "segments": {"column": "ms", "segments": "country"},
    "covariate": {"column": "ms", "covariate": "before", "strata": "country", "randomized": True},
    "weights": {"column": "ms", "weights": "weight"},
    "together": {"together": ["ms", "before", "weight"]},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_shuffled_rows_give_the_same_answer_to_every_question(question: str) -> None:
    frames, asked = _orders(2_000), QUESTIONS[question]
    answers = {_said(compare(*_shuffled(frames, i), **asked)) for i in range(SHUFFLES)}
    assert len(answers) == 1


def test_shuffled_rows_give_the_same_drift() -> None:
    frames = _orders(3_000)
    assert len({_said(drift(*_shuffled(frames, i))) for i in range(SHUFFLES)}) == 1


def test_equal_values_in_bins_do_not_cross() -> None:
    """A summary has bins: a bin of equal values has a mean that is off by rounding."""
    old, new = (frame["v"].to_numpy() for frame in _tenths(np.random.default_rng(2)))
    for seed in range(SHUFFLES):
        stored = Summary.of(np.random.default_rng(seed).permutation(old), Grid.fit(old))
        answer = compare(stored, new)
        assert answer.crossing is None
        assert "CROSS" not in answer.headline()


def test_distributions_that_cross_still_do() -> None:
    rng = np.random.default_rng(2)
    answer = compare(rng.normal(0.0, 1.0, 3_000), rng.normal(0.0, 2.0, 3_000))
    assert answer.crossing is not None
    assert answer.crossing.low < 0.0 < answer.crossing.high


def test_shuffled_lines_of_a_file_print_the_same(tmp_path: Path) -> None:
    old, new = _skewed(np.random.default_rng(4))
    new.to_csv(tmp_path / "new.csv", index=False)
    printed = set()
    for seed in range(3):
        shuffled = old.sample(frac=1.0, random_state=seed)
        shuffled.to_csv(tmp_path / "old.csv", index=False)
        printed.add(run("compare", "old.csv", "new.csv", cwd=tmp_path).stdout)
    assert len(printed) == 1
