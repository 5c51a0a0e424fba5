"""dkmd as a drift method of evidently: after ``register()``, ``ValueDrift(method="dkmd")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dkmd.answers.compare import compare
from dkmd.base.errors import needs_packages
from dkmd.inference.test.margins import Margin, parse_margin

if TYPE_CHECKING:
    import pandas as pd


def register(name: str = "dkmd", margin: Margin | None = None) -> None:
    """Make dkmd a method of evidently (0.7), for numerical columns.

    Parameters
    ----------
    name : str
        The name of the method. Registering a name again replaces it.
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "3%" or "0.1sd". Without a margin
        any clear shift is a drift. Several margins need several names.

    Notes
    -----
    The drift score is the p-value of "shifted by more than the margin", and the threshold of the
    metric (0.05 unless given) is alpha. evidently leaves out missing and infinite values before
    it calls a method, so a time-out does not count here.
    """
    if margin is not None:
        parse_margin(margin)
    try:
        from evidently.legacy.calculations.stattests import StatTest, register_stattest
        from evidently.legacy.core import ColumnType
    except ImportError as error:
        raise needs_packages("the method for evidently", error, "dkmd[adapters]") from None

    def score(
        reference: pd.Series, current: pd.Series, feature_type: ColumnType, threshold: float
    ) -> tuple[float, bool]:
        answer = compare(reference, current, margin=margin, alpha=threshold)
        return answer.pvalue_beyond, answer.pvalue_beyond < threshold

    beyond = "" if margin is None else f" (margin {margin})"
    test = StatTest(
        name=name,
        display_name=f"dkmd p_value{beyond}",
        allowed_feature_types=[ColumnType.Numerical],
        default_threshold=0.05,
    )
    register_stattest(test, default_impl=score)
