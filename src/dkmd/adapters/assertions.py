"""Two assertions for tests. Their messages say what moved, which way and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dkmd.answers.compare import compare
from dkmd.answers.comparison import Comparison
from dkmd.answers.comparison.several import MOVED
from dkmd.answers.options import GroupLabels
from dkmd.base.defaults import ALPHA
from dkmd.base.errors import TooLittleError
from dkmd.inference.kinds.column_kind import CATEGORY, CONSTANT
from dkmd.inference.test.margins import Margin


def assert_not_shifted(
    x: Any,
    y: Any,
    margin: Margin | None = None,
    *,
    alpha: float = ALPHA,
    column: str | None = None,
    groups: GroupLabels | None = None,
) -> None:
    """Fail if the data show that x is shifted against y by more than the margin.

    Parameters
    ----------
    x, y : array_like, column, frame, table, Summary or path
        The measured sample, and the sample to compare it with, as ``compare(y, x)`` reads them.
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "3%" or "0.1sd". Without a margin
        any clear shift fails.
    alpha : float
        The probability of a false alarm. A suite that runs often needs a small one.
    column : str, optional
        The column of frames, tables and files.
    groups : (array_like, array_like) or str, optional
        Labels of repeated measurements, for x and for y. For tables: a column's name.

    Raises
    ------
    AssertionError
        If x is higher, lower or mixed: the interval of the shift lies beyond the margin.
    TooLittleError
        If there are too few values for a test. Such an assertion would never fail.

    Notes
    -----
    An inconclusive comparison passes: a shift that is not shown is not reported. To require that
    nothing moved, use ``assert_equivalent``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> before, after = rng.gamma(4, 5, 500) + 80, rng.gamma(4, 5, 500) + 83
    >>> assert_not_shifted(after, before, margin="5%")
    >>> assert_not_shifted(after, before, margin="1%")  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    AssertionError: x (current) is shifted against y (reference):
    value is HIGHER in current than in reference, by more than 1%: typically +3.03 (95% interval
    +1.85 to +4.19), +3.08%. p = 5e-7, n = 500 and 500.
    """
    __tracebackhide__ = True  # pytest then shows the line that called this one
    answer = _answer(x, y, margin, alpha, column, groups)
    if answer.verdict in (*MOVED, "changed"):
        raise AssertionError(f"x (current) is shifted against y (reference):\n{answer.headline()}")


def assert_equivalent(
    x: Any,
    y: Any,
    margin: Margin,
    *,
    alpha: float = ALPHA,
    column: str | None = None,
    groups: GroupLabels | None = None,
) -> None:
    """Fail unless the data show that x and y differ by less than the margin.

    Parameters
    ----------
    x, y : array_like, column, frame, table, Summary or path
        The measured sample, and the sample to compare it with, as ``compare(y, x)`` reads them.
    margin : float or str
        The smallest shift that matters: a number in data units, "3%" or "0.1sd".
    alpha : float
        The interval of the shift has confidence 1 − alpha, and must lie within the margin.
    column : str, optional
        The column of frames, tables and files.
    groups : (array_like, array_like) or str, optional
        Labels of repeated measurements, for x and for y. For tables: a column's name.

    Raises
    ------
    AssertionError
        If x is higher or lower, and also if the data cannot tell. The message says which.
    TooLittleError
        If there are too few values for a test.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> before, after = rng.gamma(4, 5, 500) + 80, rng.gamma(4, 5, 500) + 83
    >>> assert_equivalent(after, before, margin="5%")
    >>> assert_equivalent(
    ...     after[:20], before[:20], margin="5%"
    ... )  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
        ...
    AssertionError: x (current) is not shown to be equivalent to y (reference) up to 5%:
    value: no clear change (INCONCLUSIVE): typically +4.77 (95% interval −1.49 to +10.6), +4.86%.
    p = 0.13, n = 20 and 20.
    """
    __tracebackhide__ = True
    if margin is None:
        raise TypeError("assert_equivalent needs a margin: the smallest shift that matters")
    answer = _answer(x, y, margin, alpha, column, groups)
    if answer.kind == CATEGORY:
        raise TypeError("assert_equivalent compares numbers; categories have no shift")
    if answer.verdict != "equivalent" and answer.kind != CONSTANT:
        raise AssertionError(
            f"x (current) is not shown to be equivalent to y (reference) up to {margin}:\n"
            f"{answer.headline()}"
        )


def _answer(
    x: Any,
    y: Any,
    margin: Margin | None,
    alpha: float,
    column: str | None,
    groups: GroupLabels | None,
) -> Comparison:
    """The comparison of y (reference) with x (current), if there is enough data for one."""
    labels = groups if isinstance(groups, str | None) else _turned(groups)
    answer = compare(y, x, margin=margin, alpha=alpha, column=column, groups=labels)
    if math.isnan(answer.pvalue) and answer.kind != CONSTANT:
        why = "; ".join(answer.warnings) or answer.headline()
        raise TooLittleError(f"x (current) and y (reference) cannot be compared: {why}")
    return answer


def _turned(groups: Sequence[Any]) -> tuple[Any, Any]:
    """Labels of x and y as labels of reference and current."""
    of_x, of_y = groups
    return of_y, of_x
