"""The methods that the tables compare, by name.

Labels alone: `frequency`, and the beta-binomial under Beta(1, 1) as the paper's text has it,
under Beta(1/2, 1/2), which the printed columns fit better, and under Beta(2, 2), which the
released accuracy program has. Labels and scores: `calibration` (the paper's BC), `nhbc` (no
sharing between groups), `llo` (linear in log odds, with the released scales of its prior).
"""

from __future__ import annotations

from typing import NamedTuple

from lightfair.model import Prior, llo_prior

LABELS_ONLY: dict[str, float | None] = {
    "frequency": None,
    "beta_binomial_1": 1.0,
    "beta_binomial_half": 0.5,
    "beta_binomial_2": 2.0,
}


class Curves(NamedTuple):
    """What a fit of calibration curves needs to know."""

    family: str
    hierarchical: bool
    prior: Prior


CURVES = {
    "calibration": Curves("beta", True, Prior()),
    "nhbc": Curves("beta", False, Prior()),
    "llo": Curves("llo", True, llo_prior()),
}

# method of a printed column -> ours to stand beside it, the nearest first
PRINTED = {
    "freq": ("frequency",),
    "bb": ("beta_binomial_half", "beta_binomial_1", "beta_binomial_2"),
    "bc": ("calibration",),
    "nhbc": ("nhbc",),
    "llo": ("llo",),
}
