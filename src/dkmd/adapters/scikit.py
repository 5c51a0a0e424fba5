"""A drift detector for tables that is used like an estimator of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from dkmd.answers.drift import drift
from dkmd.base.defaults import ALPHA
from dkmd.inference.test.margins import Margin

if TYPE_CHECKING:
    import numpy.typing as npt

    from dkmd.answers.comparison import Drift


class TwoSampleDrift:
    """Which columns of a table moved since ``fit``, with one false-discovery rate for all.

    It follows scikit-learn's rules for estimators (``fit``, ``predict``, ``get_params``, ``clone``)
    and does not import scikit-learn.

    Parameters
    ----------
    margin : float or str, optional
        The smallest shift that matters: a number in data units, "3%" or "0.1sd".
    alpha : float
        The false-discovery rate: the share of false alarms allowed among the columns found.

    Attributes
    ----------
    drift_ : Drift
        The answer of the latest ``predict``, with every shift, interval and p-value.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(5)
    >>> detector = TwoSampleDrift().fit(rng.normal(size=(300, 3)))
    >>> detector.predict(rng.normal([0.0, 0.6, 0.0], size=(200, 3)))
    array([False,  True, False])
    >>> detector.drift_["x1"].verdict
    'higher'
    """

    def __init__(self, margin: Margin | None = None, alpha: float = ALPHA) -> None:
        self.margin = margin
        self.alpha = alpha

    def fit(self, X: Any, y: None = None) -> Self:  # noqa: N803
        """Keep the reference: an array of shape (rows, columns), or a data frame."""
        self.reference_ = _table(X)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.bool_]:  # noqa: N803
        """Whether each column moved by more than the margin, in the order of the reference.

        A column that cannot be compared is False. ``drift_.skipped`` says why.
        """
        if not hasattr(self, "reference_"):
            raise ValueError("this TwoSampleDrift has no reference yet: call fit first")
        self.drift_: Drift = drift(self.reference_, _table(X), margin=self.margin, alpha=self.alpha)
        moved = set(self.drift_.beyond)
        return np.array([name in moved for name in _names(self.reference_)])

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as scikit-learn's ``clone`` reads them."""
        return {"margin": self.margin, "alpha": self.alpha}

    def set_params(self, **params: Any) -> Self:
        """Change parameters, as a search over them does."""
        unknown = params.keys() - self.get_params().keys()
        if unknown:
            raise ValueError(f"TwoSampleDrift has no parameter {sorted(unknown)[0]!r}")
        vars(self).update(params)
        return self


def _table(X: Any) -> Any:  # noqa: N803
    """A data frame as it is; an array with columns x0, x1, …"""
    if hasattr(X, "columns"):
        return X
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"a table of shape (rows, columns) is needed, got shape {values.shape}")
    return pa.table({f"x{i}": column for i, column in enumerate(values.T)})


def _names(table: Any) -> list[str]:
    """The names of the columns; pyarrow keeps them elsewhere."""
    return [str(name) for name in getattr(table, "column_names", table.columns)]
