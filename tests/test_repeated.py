"""Repeated measurements: groups of values change the error, and few groups are told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dkmd import dkmd_2samp
from dkmd.inference.test.options import DesignArguments, check_options
from dkmd.inference.test.two_sample import run


@pytest.mark.parametrize(("x", "y", "told"), [(8, 8, False), (7, 9, True), (9, 7, True)])
def test_fewer_than_eight_groups_on_either_side_are_told(x: int, y: int, told: bool) -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(x), 3), np.repeat(np.arange(y), 3)
    options = check_options(None, None, "exact", "two-sided", None, "propagate")
    values = rng.normal(size=3 * x), rng.normal(size=3 * y)
    notes = run(*values, options, DesignArguments(groups)).notes
    assert any(f"only {x} and {y} groups: with fewer than 8" in note for note in notes) == told


def test_labels_must_fit() -> None:
    x, y = np.arange(3.0), np.arange(4.0)
    fit = ["a", "b", "b", "c"]
    for labels in (["a", "b"], [["a"], ["b"], ["c"]]):
        with pytest.raises(ValueError, match="x has 3 values and needs as many labels"):
            dkmd_2samp(x, y, groups=(labels, fit))
    wrong: list[Any] = ["ab", [1], [1, 2, 3], 5]
    for groups in wrong:
        with pytest.raises(ValueError, match="a pair"):
            dkmd_2samp(x, y, groups=groups)


def test_groups_change_the_error_on_each_side() -> None:
    """The same, whichever sample has the groups."""
    rng = np.random.default_rng(3)
    level = np.repeat(rng.normal(size=12), 5)
    x, y = level + rng.normal(0.0, 0.5, 60), rng.normal(0.5, 1.0, 40)
    alone = np.arange(60), np.arange(40)
    of_x = np.repeat(np.arange(12), 5)
    none = dkmd_2samp(x, y, scale=1.0, groups=alone)
    left = dkmd_2samp(x, y, scale=1.0, groups=(of_x, alone[1]))
    right = dkmd_2samp(y, x, scale=1.0, groups=(alone[1], of_x))
    assert left.standard_error == pytest.approx(right.standard_error, rel=1e-9)
    assert left.pvalue == pytest.approx(right.pvalue, rel=1e-9)
    assert left.standard_error > 1.5 * none.standard_error
