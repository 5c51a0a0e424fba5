"""How many names compare() and drift() list, and how many values they keep."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dkmd import compare, drift


@pytest.mark.parametrize("count", [20, 21])
def test_twenty_levels_are_named_and_no_more(count: int) -> None:
    """A missing choice lists the first 20 levels, an unknown level the nearest 20."""
    levels = [f"level{i:02}" for i in range(count)]
    table = pd.DataFrame({"value": np.arange(2.0 * count), "by": levels * 2})
    with pytest.raises(ValueError, match="say which level of 'by' is the reference") as asked:
        compare(table, column="value", by="by")
    with pytest.raises(ValueError, match="no level 'other'") as missing:
        compare(table, column="value", by="by", reference="other")
    for told, first in ((str(asked.value), 0), (str(missing.value), count - 20)):
        shown = [level for level in levels if repr(level) in told]
        assert shown == levels[first : first + 20]


def test_only_answers_from_files_let_go_of_many_values(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two columns of 30 + 50 values: a limit of 160 keeps them, and 159 does not."""
    rng = np.random.default_rng(4)
    old = pd.DataFrame({c: rng.lognormal(0.0, 1.0, 30) for c in "ab"})
    new = pd.DataFrame({c: rng.lognormal(0.0, 1.0, 50) for c in "ab"})
    paths = [tmp_path / name for name in ("old.csv", "new.csv")]
    for frame, path in zip((old, new), paths, strict=True):
        frame.to_csv(path, index=False)
    for kept, from_file in ((160, True), (159, False)):
        monkeypatch.setattr(importlib.import_module("dkmd.answers.compare"), "KEPT", kept)
        in_memory, in_files = drift(old, new)["a"], drift(paths[0], paths[1])["a"]
        assert in_memory.values is not None
        assert (in_files.values is not None) == from_file
        assert in_files.relative_shift == pytest.approx(in_memory.relative_shift)
