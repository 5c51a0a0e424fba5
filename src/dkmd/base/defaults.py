"""The default levels of every test, interval and command, and the check of levels.

This module imports nothing, so that the command line can show the defaults without loading Numba.
"""

ALPHA = 0.05
"""The significance level."""

CONFIDENCE = 1.0 - ALPHA
"""The confidence level of intervals."""


def require_shares(**shares: float) -> None:
    """Reject a probability that does not lie between 0 and 1. The error names the keyword."""
    for name, value in shares.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
