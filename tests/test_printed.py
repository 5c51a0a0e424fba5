"""The paper's numbers, typed a second time, so that a typo in one copy shows.

Also the limits that a reproduction must keep, at their exact edges.
"""

from __future__ import annotations

import math

import pytest

from dkmd.paper import printed, table2, theorems
from dkmd.paper.checks import Check, agrees_with_paper, agrees_with_population
from dkmd.paper.trials import MeanSd

TABLE_1 = """
Location 0.0 -0.0010±0.0354 0.0012±0.0007
Location 0.2 -0.1535±0.0342 0.0065±0.0028
Location 0.5 -0.3889±0.0362 0.0346±0.0067
Location 1.0 -0.7583±0.0420 0.1262±0.0119
Scale 1.0 0.0020±0.0338 0.0012±0.0007
Scale 2.0 0.0089±0.0485 0.0668±0.0072
Scale 4.0 0.0187±0.0570 0.1992±0.0111
"""
TABLE_2 = """
0 -0.2268±0.0506 0.2894±0.0641
1 -0.5242±3.1152 0.2936±0.1787
3 -0.7995±7.2250 0.2916±0.4265
5 -0.1557±10.4500 0.2384±0.8051
"""
TABLE_3 = """
0.25 -0.1768±0.0130 -0.1676±0.0112 -0.1419±0.0094 -0.1006±0.0062 -0.0580±0.0034
0.5 -0.3156±0.0207 -0.3009±0.0200 -0.2607±0.0165 -0.1873±0.0117 -0.1095±0.0072
1.0 -0.4659±0.0334 -0.4480±0.0312 -0.3964±0.0266 -0.2969±0.0206 -0.1820±0.0125
2.0 -0.5052±0.0409 -0.4944±0.0369 -0.4475±0.0351 -0.3464±0.0308 -0.2195±0.0212
4.0 -0.4128±0.0373 -0.3941±0.0293 -0.3684±0.0342 -0.2905±0.0280 -0.1876±0.0211
"""


def _cell(spread: MeanSd) -> str:
    return f"{spread.mean:.4f}±{spread.sd:.4f}"


def test_table_1_is_the_printed_one() -> None:
    rows = [f"{r.kind} {r.parameter} {_cell(r.dkmd)} {_cell(r.mmd2)}" for r in printed.TABLE_1]
    assert rows == TABLE_1.split("\n")[1:-1]
    assert {r.dkmd.trials for r in printed.TABLE_1} == {r.mmd2.trials for r in printed.TABLE_1}
    assert printed.PRINTED_TRIALS == 500


def test_table_2_is_the_printed_one() -> None:
    rows = [f"{r.k} {_cell(r.dkmd)} {_cell(r.mean_difference)}" for r in printed.TABLE_2]
    assert rows == TABLE_2.split("\n")[1:-1]


def test_table_3_is_the_printed_one_by_sigma_and_tau() -> None:
    """Rows are σ and columns are τ. The values alone would not show a swap."""
    rows = []
    for sigma in (0.25, 0.5, 1.0, 2.0, 4.0):
        cells = [_cell(printed.TABLE_3[sigma, tau]) for tau in (0.25, 0.5, 1.0, 2.0, 4.0)]
        rows.append(" ".join([str(sigma), *cells]))
    assert rows == TABLE_3.split("\n")[1:-1]
    assert {spread.trials for spread in printed.TABLE_3.values()} == {100}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_mean_may_be_four_standard_errors_off_and_no_more(sign: float) -> None:
    """The error is 0.2·√(1/400 + 1/100) for two simulations, 0.2/√100 for one and the truth."""
    paper = MeanSd(0.5, 0.9, 400)  # the paper's spread is rounded and noisy, so ours is used
    for share, holds in ((1 - 1e-9, True), (1 + 1e-9, False)):
        ours = MeanSd(0.5 + sign * share * 0.8 * math.sqrt(0.0125), 0.2, 100)
        assert agrees_with_paper("x", paper, ours).holds == holds
        alone = MeanSd(0.5 + sign * share * 0.08, 0.2, 100)
        assert agrees_with_population("x", alone, 0.5).holds == holds


def test_a_limit_belongs_to_what_holds() -> None:
    assert Check("x", -2.0, 2.0).holds
    assert Check("x", 2.0, 2.0).holds
    assert not Check("x", math.nextafter(2.0, 3.0), 2.0).holds


def test_the_limits_are_those_that_the_page_names() -> None:
    """The limits of exact's spread under contamination, and of rounding in units of ψ's bound."""
    assert table2.SD_LIMIT == 0.07
    assert theorems.ROUNDING == 1e-12
