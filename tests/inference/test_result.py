"""Results: copies, frozen outcomes, and what has no numbers."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
from outcomes import exact_outcome

from dkmd import dkmd_2samp
from dkmd.inference.test.pair import Pair
from dkmd.inference.test.result import ExactOutcome, NoOutcome
from dkmd.inference.test.riemann_test import RiemannOutcome


def test_a_result_survives_a_copy_with_its_logarithms() -> None:
    rng = np.random.default_rng(16)
    x, y = rng.lognormal(0.2, 1.0, 30), rng.lognormal(0.0, 1.0, 20)
    result = dkmd_2samp(x, y, alternative="greater")
    for again in (pickle.loads(pickle.dumps(result)), copy.copy(result)):
        assert tuple(again) == tuple(result)
        assert again.shift_interval(0.9) == result.shift_interval(0.9)
        assert again.on_logs().pvalue == result.on_logs().pvalue
        assert again.outcome().witness == result.witness
    negative = pickle.loads(pickle.dumps(dkmd_2samp(-x, y)))
    with pytest.raises(ValueError, match="does not hold the data"):
        negative.on_logs()
    rows = pickle.loads(pickle.dumps(dkmd_2samp(np.stack([x, x + 1.0]).T, y[:, None])))
    assert rows.pvalue.shape == (2,)
    assert rows.pvalue[0] == dkmd_2samp(x, y).pvalue


@pytest.mark.parametrize("kind", [ExactOutcome, RiemannOutcome, NoOutcome, Pair])
def test_what_a_test_found_cannot_be_changed_afterwards(kind: type[Any]) -> None:
    found = object.__new__(kind)
    with pytest.raises(FrozenInstanceError):
        found.pvalue = 0.01


def test_equivalence_of_an_outcome_is_the_larger_of_two_one_sided_tests() -> None:
    rng = np.random.default_rng(17)
    outcome = exact_outcome(dkmd_2samp(rng.normal(0.4, 1.0, 30), rng.normal(0.0, 1.0, 50)))
    ends = outcome.pvalue_beyond(-0.5, "greater"), outcome.pvalue_beyond(1.0, "less")
    assert ends[0] != ends[1]
    assert outcome.equivalence(-0.5, 1.0) == max(ends)


def test_numbers_of_what_cannot_be_compared_still_check_their_level() -> None:
    nothing = dkmd_2samp([1.0, math.nan], [2.0, 3.0])
    for interval in (nothing.shift_interval, nothing.confidence_interval):
        assert all(map(math.isnan, interval(0.9)))
        with pytest.raises(ValueError, match="between 0 and 1"):
            interval(2.0)
    assert (nothing.direction, nothing.notes) == ("no direction", [])
