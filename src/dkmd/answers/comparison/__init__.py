"""The answers of ``compare`` and ``drift``: frozen, in words first, and the same again as JSON.

``one`` is the answer for one column, ``several`` holds the answers for many, ``words`` has the
sentences.
"""

from dkmd.answers.comparison.one import (
    FORMAT_VERSION,
    QUANTILES,
    Comparison,
    Comparisons,
    Drift,
    Infinite,
    SampleFacts,
    plain_margin,
    to_json,
)

__all__ = [
    "FORMAT_VERSION",
    "QUANTILES",
    "Comparison",
    "Comparisons",
    "Drift",
    "Infinite",
    "SampleFacts",
    "plain_margin",
    "to_json",
]
