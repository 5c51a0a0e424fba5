"""Sums over groups of repeated measurements: the query, and its rows as ``GroupSums``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dkmd.inference.groups import GroupSums
from dkmd.sources.engines.aggregate import (
    GROUP,
    SAMPLE,
    VALUE,
    exactly,
    is_missing,
)
from dkmd.statistic.witness import Witness

FLAT = 40.0
"""This many widths from its centre, ψ equals its bound to the last bit of a double."""


def with_psi(rows: Any, witness: Witness) -> Any:
    """The rows of a long table with the column ``psi``: ψ in units of its length.

    ψ has a closed form for σ = τ = w, t = (x − c)/w:
    ψ/w = ±2·(A·(e + 1/e) − e·π/2) with e = exp(−|t|) and A = arctan e. For a linear weight it is
    2σ·(x − c).
    """
    import ibis

    x = rows[VALUE]
    if witness.weight == "linear":
        slope = 2.0 * witness.sigma / witness.length
        return rows.mutate(psi=(x - exactly(witness.center)) * exactly(slope))
    reach = FLAT * witness.sigma
    low, high = exactly(witness.center - reach), exactly(witness.center + reach)
    near = ibis.least(ibis.greatest(x, low), high)
    rows = rows.mutate(t=(near - exactly(witness.center)) / exactly(witness.sigma))
    rows = rows.mutate(e=(-rows.t.abs()).exp())
    # PostgreSQL computes a column again for each use, so mean and variance share one
    size = rows.e.atan() * (rows.e + exactly(1.0) / rows.e) - rows.e * exactly(0.5 * math.pi)
    size *= exactly(2.0)
    return rows.mutate(psi=ibis.cases((rows.t < 0.0, -size), else_=size))


def group_moments(table: Any, witness: Witness, samples: Sequence[tuple[Any, float, float]]) -> Any:
    """The query for sums over groups of repeated measurements: one row per sample.

    ``samples`` holds the key, the pivot and the size of each sample. With ψ in units of σ, s is a
    group's Σ(ψ − pivot), q its Σ(ψ − pivot)² and n its size; "rest" divides by the square of the
    number of all other values, as the jackknife does.
    """
    return moments_of_groups(with_psi(table.filter(~is_missing(table[VALUE])), witness), samples)


def moments_of_groups(rows: Any, samples: Sequence[tuple[Any, float, float]]) -> Any:
    """``group_moments`` of a number ``psi`` of every row."""
    import ibis

    groups = rows.group_by([SAMPLE, GROUP]).aggregate(
        n=rows.count().cast("float64"), mean=rows.psi.mean(), variance=rows.psi.var(how="pop")
    )
    pivot = ibis.cases(*((groups[SAMPLE] == key, exactly(at)) for key, at, _ in samples))
    size = ibis.cases(*((groups[SAMPLE] == key, exactly(all_)) for key, _, all_ in samples))
    groups = groups.mutate(
        away=groups["mean"] - pivot,
        rest=ibis.greatest(size - groups.n, exactly(0.5)),
    )
    groups = groups.mutate(
        s=groups.n * groups.away,
        q=groups.n * (groups["variance"] + groups.away * groups.away),
    )
    label = groups[GROUP]
    unlabelled = is_missing(label) if label.type().is_floating() else label.isnull()
    return groups.group_by(SAMPLE).aggregate(
        groups=groups.count(),
        unlabelled=unlabelled.sum(),
        n=groups.n.sum(),
        s=groups.s.sum(),
        q=groups.q.sum(),
        nn=(groups.n * groups.n).sum(),
        ss=(groups.s * groups.s).sum(),
        sn=(groups.s * groups.n).sum(),
        sss=(groups.s * groups.s * groups.s).sum(),
        ssn=(groups.s * groups.s * groups.n).sum(),
        snn=(groups.s * groups.n * groups.n).sum(),
        nnn=(groups.n * groups.n * groups.n).sum(),
        ss_rest=(groups.s * groups.s / (groups.rest * groups.rest)).sum(),
        sn_rest=(groups.s * groups.n / (groups.rest * groups.rest)).sum(),
        nn_rest=(groups.n * groups.n / (groups.rest * groups.rest)).sum(),
    )


def group_sums(row: Mapping[str, float], pivot: float) -> GroupSums:
    """The row of ``group_moments`` for one sample."""
    return GroupSums(
        groups=int(row["groups"]),
        size=row["n"],
        psi=row["s"],
        squares=row["q"],
        sizes=row["nn"],
        left_out=(row["ss_rest"], row["sn_rest"], row["nn_rest"]),
        sums=(row["ss"], row["sn"], row["sss"]),
        mixed=(row["ssn"], row["snn"], row["nnn"]),
        pivot=pivot,
    )
