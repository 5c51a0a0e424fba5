"""``drift``: every numeric column of two tables. The question, checked at the door."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from dkmd.answers.comparison import Comparison, Drift
from dkmd.answers.many_columns import ALL_MISSING, _why_empty, _why_not, _without_many_values
from dkmd.answers.one_column import compare_samples
from dkmd.answers.options import How
from dkmd.base.calls import recorded
from dkmd.base.errors import ColumnError, EngineError, TooLittleError
from dkmd.inference.margins import Margin
from dkmd.sources.loading import labelled, open_table
from dkmd.sources.memory.columns import (
    no_such_column,
)
from dkmd.sources.pairs import plan_together
from dkmd.sources.samples import (
    sample_of,
)


@recorded
def drift(
    reference: Any,
    current: Any,
    columns: Sequence[str | int] | None = None,
    *,
    margin: Margin | None = None,
    groups: str | None = None,
    alpha: float = 0.05,
    scale: float | str | None = None,
    nan_policy: str = "omit",
    advance: Callable[[str, int, int], None] | None = None,
) -> Drift:
    """Compare every numeric column of two tables.

    Parameters
    ----------
    reference, current : frame, table or path
        Frames of pandas, polars, pyarrow or dask; tables of Ibis, DataFrames of Spark, relations of
        DuckDB; data files.
    columns : sequence of str, optional
        All numeric columns that both have, by default.
    margin, groups, alpha, scale, nan_policy
        As in ``compare``; a margin with the unit sd suits many columns.
    advance : callable, optional
        Called with (column, done, total) before each column.

    Returns
    -------
    Drift
        A mapping from column to Comparison, the largest |shift| in robust scales first, with
        adjusted p-values (false-discovery control), ``changed``, ``nan_change()`` and ``skipped``.

    Examples
    --------
    >>> import pandas as pd, numpy as np
    >>> rng = np.random.default_rng(5)
    >>> old = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": "text"})
    >>> new = old.assign(b=old.b + 0.5)
    >>> found = drift(old, new)
    >>> found.changed, found.skipped
    (['b'], {'c': 'it holds text'})
    """
    how = How(margin, alpha, scale, None, nan_policy)
    before, after = open_table(reference, "reference"), open_table(current, "current")
    kinds, later = before.kinds(), after.kinds()
    for table, there in ((before, kinds), (after, later)):
        if groups is not None and groups not in there:
            raise no_such_column(table.name, groups, there)
    wanted = list(dict.fromkeys([*kinds, *later])) if columns is None else list(map(str, columns))
    for name in wanted if columns is not None else ():
        if name not in kinds and name not in later:
            raise no_such_column(before.name, name, kinds)
    found: dict[str, Comparison] = {}
    reasons = {n: _why_not(n, kinds, later, groups, asked=columns is not None) for n in wanted}
    skipped = {name: why for name, why in reasons.items() if why}
    empty = {name for name, why in skipped.items() if why == ALL_MISSING}
    compared = [name for name in wanted if name not in skipped]
    from_files = any(isinstance(source, str | os.PathLike) for source in (reference, current))
    old, new = (table.read_columns(compared, groups) for table in (before, after))
    plan_together(old, new)
    for done, name in enumerate(compared):
        if advance is not None:
            advance(name, done, len(compared))
        try:
            pair = [
                sample_of(read[name], name, table.name, there[name])
                for read, table, there in ((old, before, kinds), (new, after, later))
            ]
            answer = compare_samples(*labelled(pair[0], pair[1]), how)
            found[name] = _without_many_values(answer, len(compared)) if from_files else answer
        except ColumnError as error:
            skipped[name] = str(error)
            continue
        except EngineError as error:
            # one that still reads both tables could not read this column; else the engine is lost
            before.require_readable()
            after.require_readable()
            skipped[name] = str(error)
            continue
        if not min(found[name].reference.size, found[name].current.size):
            skipped[name] = _why_empty(found.pop(name))
            empty.add(name)
    if not found:
        listed = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        refusal = TooLittleError if empty and empty == skipped.keys() else ValueError
        raise refusal(f"no column could be compared ({listed or 'there are none'})")
    return Drift(found, skipped, how.alpha)
