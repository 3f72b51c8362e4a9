"""Criteria of group fairness by name: the metrics that each wants to be equal in all groups.

demographic parity (Calders and Verwer 2010), equal opportunity and equalized odds (Hardt, Price and
Srebro 2016), predictive equality (Corbett-Davies et al. 2017), predictive parity (Chouldechova
2017), treatment equality and accuracy equality (Berk et al. 2018). Equalized odds asks for two
metrics at once: its gap is the larger of abs(delta TPR) and abs(delta FPR), taken in each draw; a
maximum of two intervals would be the interval of nothing.
"""

from __future__ import annotations

import numpy as np

from .compare import Estimate, Gap

CRITERIA: dict[str, tuple[str, ...]] = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("tpr",),
    "predictive_equality": ("fpr",),
    "predictive_parity": ("ppv",),
    "equalized_odds": ("tpr", "fpr"),
    "treatment_equality": ("treatment_equality",),
    "accuracy_equality": ("accuracy",),
}


def criterion_metrics(name: str) -> tuple[str, ...]:
    """Return the metrics of a criterion; raise ValueError for an unknown one."""
    if name not in CRITERIA:
        raise ValueError(f"unknown criterion {name!r}; known: {', '.join(CRITERIA)}")
    return CRITERIA[name]


def larger_gap(differences: dict[str, Estimate]) -> Gap:
    """Return the larger of the absolute differences of several metrics, draw by draw."""
    absolute = np.stack([np.abs(one.draws) for one in differences.values()], axis=-1)
    return largest_of(tuple(differences), absolute, tuple(differences.values()))


def largest_of(
    names: tuple[str, ...], values: np.ndarray, parts: tuple[Estimate | Gap, ...]
) -> Gap:
    """Return the largest of several gaps, draw by draw, and which of them it is.

    Parameters
    ----------
    names
        Their names.
    values
        float64 (chain, draw, gap), at least 0.
    parts
        What they are of, for what is missing and what is known.
    """
    reasons = [part for part in parts if part.reason is not None]
    lack = (reasons or [*parts])[0].lack
    defined = ~np.isnan(values).any(axis=-1)
    left_out = tuple(dict.fromkeys(name for part in parts for name in part.left_out))
    exact = all(part.exact for part in parts)
    if not defined.any():
        return Gap(np.full(defined.shape, np.nan), lack, exact, left_out)
    top = values[defined].max(axis=-1, keepdims=True)
    tied = values[defined] == top
    share = (tied / tied.sum(axis=-1, keepdims=True)).mean(axis=0)
    at = int(np.argmax(share))
    return Gap(values.max(axis=-1), lack, exact, left_out, (names[at],), float(share[at]))
