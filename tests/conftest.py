"""One Hypothesis profile for all tests. A skipped test fails."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

os.environ.pop("COLUMNS", None)  # the width of the terminal that runs the tests does not matter
settings.register_profile(
    "dkmd",
    derandomize=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("dkmd")

VECTORS = Path(__file__).parent / "vectors"


def vectors(name: str) -> list[dict[str, Any]]:
    """Reference values, stored as decimal strings of 20 digits."""
    loaded: list[dict[str, Any]] = json.loads((VECTORS / name).read_text())
    return loaded


def pytest_configure(config: pytest.Config) -> None:
    """Plain Python warns of overflows; compiled loops continue with inf, as IEEE says."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """A skipped test fails: a test that cannot run must not look as if it had passed.

    Only engines that DKMD_SKIP_ENGINES names are left out.
    """
    report = yield
    if item.get_closest_marker("left_out"):
        return report
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped; no test of this project may be"
    return report
