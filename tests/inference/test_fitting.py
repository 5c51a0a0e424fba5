"""A ψ of the paper fitted to samples: as wide as their robust scale, centred in their middle."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from families import two_of

from dkmd import Witness, fit_witness


def test_a_fitted_psi_has_the_scale_and_the_centre_of_all_values() -> None:
    x, y = two_of("laplace", 300, 300)
    pooled = np.concatenate([x, y])
    fitted = fit_witness(x, y)
    assert fitted.sigma == fitted.tau == pytest.approx(naive.robust_scale(pooled, np.empty(0)))
    around = Witness(fitted.sigma, fitted.tau)
    assert fitted.center == pytest.approx(naive.m_center(pooled, around), abs=1e-9)
    given = fit_witness(x, y, scale=0.3)
    assert (given.sigma, given.tau) == (0.3, 0.3)
    assert fit_witness(np.append(x, math.nan), y) == fitted


def test_values_without_a_scale_or_a_centre_are_refused() -> None:
    for empty in ([], [math.nan], [3.0, 3.0], [math.inf, math.inf, 1.0]):
        with pytest.raises(ValueError, match=r"no scale|no centre"):
            fit_witness(empty)
