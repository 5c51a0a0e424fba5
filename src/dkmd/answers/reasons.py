"""Why other statistics say something else, in plain sentences: one for each kind of difference."""

from __future__ import annotations

from collections.abc import Iterator

from dkmd.inference.opinions import NONE, Opinion, Opinions


def reasons(said: Opinions, alpha: float, grouped: bool, infinite: bool) -> list[str]:
    """What a reader should know before comparing the p-values of a table of opinions."""
    own, *others = said.rows
    found = list(_differences(own, others, alpha, infinite))
    if grouped:
        found.append(
            "The others take every value as independent; dkmd counted groups. Their p-values are "
            "too small here."
        )
    return found or [_agreement(own, others, alpha)]


def _differences(
    own: Opinion, others: list[Opinion], alpha: float, infinite: bool
) -> Iterator[str]:
    mean, welch, ranks, shape, _ = others
    if infinite:
        yield (
            "Infinite values leave no mean and no MMD². ψ is bounded: for dkmd they are very large "
            "or very small, and no more."
        )
    elif _opposed(own, mean) and min(own.pvalue, welch.pvalue) < alpha:
        yield (
            "The mean points the other way: a few far values carry it. ψ is bounded, so each of "
            "them counts no more than any other large value."
        )
    elif _surer(own, welch, alpha):
        yield "Welch’s test is less sure: far values widen its error, which ψ keeps in bounds."
    elif _surer(welch, own, alpha):
        yield (
            "Welch’s test sees a change of the mean that dkmd does not see in the bulk of the "
            "values: it lies in the tails."
        )
    if _surer(ranks, own, alpha):
        yield (
            "Mann–Whitney is sure where dkmd is not. Its p-value supposes equal shapes, and a "
            "change of spread alone can make it small."
        )
    elif _opposed(own, ranks) and own.pvalue < alpha:
        yield "Mann–Whitney counts pairs, whatever their distance, and they lean the other way."
    if _surer(shape, own, alpha):
        yield (
            "Kolmogorov–Smirnov answers to any change of shape: the spread or the tails differ, "
            "but there is no clear shift."
        )


MUCH = 5.0


def _surer(one: Opinion, other: Opinion, alpha: float) -> bool:
    """Sure where the other is not, by more than two p-values differ anyway."""
    return one.pvalue < alpha <= other.pvalue and other.pvalue > MUCH * one.pvalue


def _opposed(one: Opinion, other: Opinion) -> bool:
    return NONE not in (one.direction, other.direction) and one.direction != other.direction


def _agreement(own: Opinion, others: list[Opinion], alpha: float) -> str:
    tested = [o for o in others if o.pvalue == o.pvalue]
    if own.pvalue < alpha and all(o.pvalue < alpha for o in tested):
        return "They agree: the change is clear to all of them."
    if not own.pvalue < alpha and not any(o.pvalue < alpha for o in tested):
        return "They agree: none of them sees a clear change."
    if any(_opposed(own, other) for other in tested):
        return "They point different ways, and none of them clearly."
    return "They agree on the direction; some are a little surer than others."
