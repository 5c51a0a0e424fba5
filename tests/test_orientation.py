"""Current against reference is x against y: turned around in one place, and never twice.

The two samples differ in size, place and shape, so that a side that was lost or exchanged shows.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from outcomes import exact_outcome

import dkmd
from dkmd.answers.gate import gate
from dkmd.answers.options import DEFAULT_TEST, CompareOptions
from dkmd.answers.orientation import centers_of, compared, turned
from dkmd.bins.grid import Grid
from dkmd.bins.summary import Summary
from dkmd.inference.test.options import Options
from dkmd.sources.files.benchmarks import Measurements

RNG = np.random.default_rng(7)
REFERENCE, CURRENT = RNG.gamma(3.0, 2.0, 40) + 20.0, RNG.normal(31.0, 1.0, 70)
ANSWERS = Path(dkmd.__file__).parent / "answers"


def test_turning_twice_changes_nothing() -> None:
    assert turned((1, 2)) == (2, 1)
    assert turned(turned((1, 2))) == (1, 2)


def test_current_is_x_and_reference_is_y() -> None:
    ours = compared(REFERENCE, CURRENT, DEFAULT_TEST)
    theirs = dkmd.dkmd_2samp(CURRENT, REFERENCE)
    assert ours.shift > 0.0
    assert (ours.statistic, ours.pvalue, ours.df) == (theirs.statistic, theirs.pvalue, theirs.df)


def test_the_groups_of_a_side_go_with_it() -> None:
    before, after = np.repeat(np.arange(8), 5), np.repeat(np.arange(10), 7)
    ours = compared(REFERENCE, CURRENT, DEFAULT_TEST, (before, after))
    assert exact_outcome(ours).units == (10, 8)
    theirs = dkmd.dkmd_2samp(CURRENT, REFERENCE, groups=(after, before))
    assert (ours.statistic, ours.pvalue, ours.df) == (theirs.statistic, theirs.pvalue, theirs.df)


def test_medians_and_means_are_those_of_reference_and_current() -> None:
    medians = centers_of(compared(REFERENCE, CURRENT, DEFAULT_TEST).outcome())
    assert medians == pytest.approx((np.median(REFERENCE), np.median(CURRENT)), rel=1e-12)
    means = centers_of(compared(REFERENCE, CURRENT, DEFAULT_TEST.of_means()).outcome())
    assert means == pytest.approx((REFERENCE.mean(), CURRENT.mean()), rel=1e-12)
    nothing = compared([1.0], [2.0, 3.0], DEFAULT_TEST).outcome()
    assert all(map(math.isnan, centers_of(nothing)))


def test_shares_at_infinity_are_those_of_reference_and_current() -> None:
    answer = dkmd.compare([1.0] + [math.inf] * 4, [2.0] + [math.inf] * 9)
    assert answer.infinite == (math.inf, 0.8, 0.9)


def test_values_bins_and_gates_agree_on_the_direction() -> None:
    grid = Grid.fit(REFERENCE, CURRENT)
    binned = Summary.of(REFERENCE, grid), Summary.of(CURRENT, grid)
    for answer in (dkmd.compare(REFERENCE, CURRENT), dkmd.compare(*binned)):
        assert answer.verdict == "higher"
        assert answer.shift == pytest.approx(5.0, abs=1.5)
        assert answer.reference.median + 3.0 < answer.current.median
        assert (answer.reference.size, answer.current.size) == (40, 70)
        assert answer.relative_shift is not None
        assert answer.relative_shift > 0.0
    before, after = (
        {"a": Measurements("s", side.tolist(), list(range(side.size)))}
        for side in (REFERENCE, CURRENT)
    )
    judged = gate(before, after)
    assert judged.outcome == "failed"
    assert judged.rows[0].sizes == (40, 70)
    assert judged.rows[0].centers[0] + 3.0 < judged.rows[0].centers[1]


def test_no_other_room_of_the_answers_runs_the_test() -> None:
    """Whoever calls ``run`` decides which side is x."""
    callers = {
        path.name
        for path in ANSWERS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module == "dkmd.inference.test.two_sample"
        and "run" in [each.name for each in node.names]
    }
    assert callers == {"orientation.py"}


def test_no_option_of_a_comparison_is_an_option_of_the_test_too() -> None:
    ours, theirs = (
        {field.name for field in dataclasses.fields(each)} for each in (CompareOptions, Options)
    )
    assert not ours & theirs


def test_options_are_checked_before_data_is_read() -> None:
    for words in ({"alpha": 1.0}, {"margin": "3 percent"}, {"nan_policy": "drop"}):
        with pytest.raises(ValueError, match="must"):
            CompareOptions.of(**words)
    with pytest.raises(ValueError, match="scale must be a number in data units, got 'robust'"):
        CompareOptions.of(scale="robust")  # type: ignore[arg-type]
    assert CompareOptions.of(alpha=0.1, scale=2.0).test.scale == 2.0
    assert CompareOptions(alpha=0.1).confidence == 0.9
