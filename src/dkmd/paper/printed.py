"""The numbers that the paper prints, as data: section 5, Tables 1 to 3, row by row.

Nothing here is computed. A cell is mean ± standard deviation as printed, with its number of trials.
"""

from __future__ import annotations

from typing import NamedTuple

from dkmd.paper.trials import MeanSd

PRINTED_TRIALS = 500
"""Trials of Table 1 (section 5.1); assumed for Table 2 (section 5.2), which states no number."""

ASSUMED_TRIALS = 100
"""Assumed for Table 3 (section 5.4), which states no number of trials."""


class PrintedTable1Row(NamedTuple):
    """N(0, 1) against N(μ, 1) or N(0, s²); n = m = 1000, σ = τ = 1."""

    kind: str
    """"Location" or "Scale", the paper's column Type."""
    parameter: float
    """μ or s, the column Param."""
    dkmd: MeanSd
    mmd2: MeanSd


TABLE_1 = tuple(
    PrintedTable1Row(
        kind,
        parameter,
        MeanSd(dkmd, dkmd_sd, PRINTED_TRIALS),
        MeanSd(mmd2, mmd2_sd, PRINTED_TRIALS),
    )
    for kind, parameter, dkmd, dkmd_sd, mmd2, mmd2_sd in (
        ("Location", 0.0, -0.0010, 0.0354, 0.0012, 0.0007),
        ("Location", 0.2, -0.1535, 0.0342, 0.0065, 0.0028),
        ("Location", 0.5, -0.3889, 0.0362, 0.0346, 0.0067),
        ("Location", 1.0, -0.7583, 0.0420, 0.1262, 0.0119),
        ("Scale", 1.0, 0.0020, 0.0338, 0.0012, 0.0007),
        ("Scale", 2.0, 0.0089, 0.0485, 0.0668, 0.0072),
        ("Scale", 4.0, 0.0187, 0.0570, 0.1992, 0.0111),
    )
)
"""Table 1, "Quantitative comparison of DKMD and MMD² under location and scale shifts"."""


class PrintedTable2Row(NamedTuple):
    """N(0, 1) against N(0.3, 1), n = 500, k points replaced by Cauchy(0, 5)."""

    k: int
    dkmd: MeanSd
    mean_difference: MeanSd
    """Mean of Q minus mean of P, by its sign; the text defines it the other way round."""


TABLE_2 = tuple(
    PrintedTable2Row(
        k, MeanSd(dkmd, dkmd_sd, PRINTED_TRIALS), MeanSd(mean, mean_sd, PRINTED_TRIALS)
    )
    for k, dkmd, dkmd_sd, mean, mean_sd in (
        (0, -0.2268, 0.0506, 0.2894, 0.0641),
        (1, -0.5242, 3.1152, 0.2936, 0.1787),
        (3, -0.7995, 7.2250, 0.2916, 0.4265),
        (5, -0.1557, 10.4500, 0.2384, 0.8051),
    )
)
"""Table 2, "Robustness comparison under heavy-tailed Cauchy contamination"."""


WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""σ (rows) and τ (columns) of Table 3."""

_MEANS = (
    (-0.1768, -0.1676, -0.1419, -0.1006, -0.0580),
    (-0.3156, -0.3009, -0.2607, -0.1873, -0.1095),
    (-0.4659, -0.4480, -0.3964, -0.2969, -0.1820),
    (-0.5052, -0.4944, -0.4475, -0.3464, -0.2195),
    (-0.4128, -0.3941, -0.3684, -0.2905, -0.1876),
)
_SDS = (
    (0.0130, 0.0112, 0.0094, 0.0062, 0.0034),
    (0.0207, 0.0200, 0.0165, 0.0117, 0.0072),
    (0.0334, 0.0312, 0.0266, 0.0206, 0.0125),
    (0.0409, 0.0369, 0.0351, 0.0308, 0.0212),
    (0.0373, 0.0293, 0.0342, 0.0280, 0.0211),
)

TABLE_3 = {
    (sigma, tau): MeanSd(_MEANS[i][j], _SDS[i][j], ASSUMED_TRIALS)
    for i, sigma in enumerate(WIDTHS)
    for j, tau in enumerate(WIDTHS)
}
"""Table 3, "Sensitivity of DKMD with respect to kernel bandwidth σ and weight scale τ", by (σ, τ):
N(0, 1) against N(0.5, 1), n = 2000."""
