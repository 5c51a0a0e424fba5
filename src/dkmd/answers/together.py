"""The work on several columns together: from two sources to one answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dkmd.answers.comparison.together import SHOWN, TogetherComparison, TogetherFacts
from dkmd.answers.options import GroupLabels
from dkmd.answers.orientation import turned
from dkmd.base.arrays import Array
from dkmd.base.defaults import require_shares
from dkmd.base.errors import DkmdError
from dkmd.base.wording import count
from dkmd.inference.test.margins import Margin, parse_margin
from dkmd.matrices.multivariate import RESAMPLES, run_multivariate
from dkmd.sources.matrices import Matrix, in_one_order, matrix_pair

DRAWN = 20_000
"""Values of a column that the page draws; of more, so many at equal distances."""


def margin_in_scales(margin: Margin | None) -> float | None:
    """A margin in scales: a number, or "0.1sd"."""
    if margin is None:
        return None
    size, kind = parse_margin(margin)
    if kind not in ("", "sd"):
        raise ValueError(
            f"the margin of columns together is in scales, such as '0.1sd'; got {margin!r}"
        )
    return size


def require_none(**others: object) -> None:
    """Reject options that do not go with ``together``."""
    given = next((name for name, value in others.items() if value is not None), None)
    if given is not None:
        raise ValueError(f"together= compares two tables of columns and cannot use {given}=")


def compare_together(
    reference: Any,
    current: Any,
    together: str | Sequence[str],
    *,
    groups: GroupLabels | None,
    paired: bool,
    margin: Margin | None,
    alpha: float,
    nan_policy: str,
    method: Any = None,
) -> TogetherComparison:
    """Compare several columns of two sources together."""
    require_shares(alpha=alpha)
    patterns = [together] if isinstance(together, str) else [str(each) for each in together]
    if not patterns:
        raise ValueError("together= needs at least one column")
    limit = margin_in_scales(margin)
    sides = matrix_pair(reference, current, patterns, groups)
    return answer_of(sides, paired, limit, alpha, nan_policy, method)


def answer_of(
    sides: tuple[Matrix, Matrix],
    paired: bool,
    margin: float | None,
    alpha: float,
    nan_policy: str,
    method: Any = None,
) -> TogetherComparison:
    """The answer about two matrices, (reference, current)."""
    x, y = turned(sides if paired else (in_one_order(sides[0]), in_one_order(sides[1])))
    labels = None if x.groups is None or y.groups is None else (x.groups, y.groups)
    seed = getattr(method, "rng", None)
    resamples = RESAMPLES if method is None else int(method.n_resamples)
    before, after = sides
    try:
        result = run_multivariate(
            x.values,
            y.values,
            groups=labels,
            paired=paired,
            n_resamples=resamples,
            rng=0 if seed is None else seed,
            nan_policy=nan_policy,
        )
    except DkmdError as error:
        raise type(error)(_in_words(str(error), before, after)) from None
    reference, current = turned(result.sizes)
    answer = TogetherComparison(
        names=tuple(before.names),
        result=result,
        reference=TogetherFacts(before.label, reference),
        current=TogetherFacts(after.label, current),
        alpha=alpha,
        margin=margin,
        warnings=(
            *filter(None, (before.note, after.note)),
            *(_in_words(note, before, after) for note in result.notes),
            *_too_few_resamples(resamples, alpha),
        ),
        paired=paired,
    )
    shown = answer.ranked[:SHOWN]
    samples = {before.names[j]: (_drawn(before, j), _drawn(after, j)) for j in shown}
    return replace(answer, samples=samples)


def _too_few_resamples(resamples: int, alpha: float) -> list[str]:
    """A note if no count of resamples is below alpha."""
    if alpha > 1.0 / (resamples + 1):
        return []
    return [
        f"with {count(resamples)} resamples no p-value is below {1.0 / (resamples + 1):.3g}, so "
        f"nothing can be clear at alpha = {alpha:g}: use more resamples "
        "(method=scipy.stats.PermutationMethod(n_resamples=…))"
    ]


def _in_words(note: str, before: Matrix, after: Matrix) -> str:
    """What the test says, with the names of sides and columns in place of x, y and numbers."""
    if note.startswith("column ") and note.split()[1].isdigit():
        number = note.split()[1]
        note = note.replace(number, before.names[int(number)], 1)
    labels = {"x": after.label, "y": before.label}
    return re.sub(
        r"^([xy])(?= has)|(?<=row of )([xy])\b|(?<=rows of )([xy])\b",
        lambda found: labels[found.group()],
        note,
    )


def _drawn(side: Matrix, column: int) -> Array:
    """The values of a column, or many of them."""
    values = side.values[:, column]
    if values.shape[0] > DRAWN:
        values = values[np.linspace(0, values.shape[0] - 1, DRAWN).astype(np.int64)]
    return np.asarray(values, dtype=np.float64)
