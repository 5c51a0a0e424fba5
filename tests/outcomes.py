"""The outcome behind a result, where a test knows which kind it is."""

from __future__ import annotations

from dkmd.inference.test.result import DkmdResult, ExactOutcome


def exact_outcome(result: DkmdResult) -> ExactOutcome:
    outcome = result.outcome()
    assert isinstance(outcome, ExactOutcome)
    return outcome
