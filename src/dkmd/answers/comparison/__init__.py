"""The answers of ``compare`` and ``drift``: frozen, in words first, and the same again as JSON.

``one`` is the answer for one column, ``several`` holds the answers for many, ``words`` has the
sentences and ``documents`` the JSON.
"""

from dkmd.answers.comparison.categories import CategoryComparison, CategoryFacts
from dkmd.answers.comparison.documents import FORMAT_VERSION, to_json
from dkmd.answers.comparison.one import QUANTILES, Comparison, Infinite, Parts, SampleFacts
from dkmd.answers.comparison.segmented import Segment, Segmented, Split
from dkmd.answers.comparison.several import ColumnAnswer, Comparisons, Drift, LeftOut
from dkmd.answers.comparison.together import TogetherComparison
from dkmd.answers.comparison.words import plain_margin

__all__ = [
    "FORMAT_VERSION",
    "QUANTILES",
    "CategoryComparison",
    "CategoryFacts",
    "ColumnAnswer",
    "Comparison",
    "Comparisons",
    "Drift",
    "Infinite",
    "LeftOut",
    "Parts",
    "SampleFacts",
    "Segment",
    "Segmented",
    "Split",
    "TogetherComparison",
    "plain_margin",
    "to_json",
]
