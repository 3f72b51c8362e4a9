"""The methods that the tables compare, by name.

Labels only: `frequency`, and the beta-binomial under Beta(1, 1) as the paper's text has it,
under Beta(1/2, 1/2), which the printed columns fit better, and under Beta(2, 2), which the
released accuracy program has. Labels and scores: `calibration` (the paper's BC), `nhbc` (no
sharing between groups: each group its own prior, locations and all), `nhbc_zero` (the same with the
locations mu held at 0; the printed column fits this better), `llo` (linear in log odds, with the
released scales of its prior), and `trust`, the default of the library, which the paper has not.
"""

from __future__ import annotations

from typing import NamedTuple

from lightfair.core.model.curve import Prior, default_prior, llo_prior
from lightfair.core.model.regions import Trust

LABELS_ONLY: dict[str, float | None] = {
    "frequency": None,
    "beta_binomial_1": 1.0,
    "beta_binomial_half": 0.5,
    "beta_binomial_2": 2.0,
}


class Curves(NamedTuple):
    """Options of a fit of calibration curves; trust is None for the curve alone."""

    family: str
    hierarchical: bool
    prior: Prior
    trust: Trust | None = None


CURVES = {
    "calibration": Curves("beta", True, Prior()),
    "trust": Curves("beta", True, default_prior(True), Trust()),
    "nhbc": Curves("beta", False, Prior()),
    "nhbc_zero": Curves("beta", False, Prior(mu_a_sd=1e-3, mu_b_sd=1e-3, mu_c_sd=1e-3)),
    "llo": Curves("llo", True, llo_prior()),
}

# method of a printed column -> ours to compare with it, the closest first
PRINTED = {
    "freq": ("frequency",),
    "bb": ("beta_binomial_half", "beta_binomial_1", "beta_binomial_2"),
    "bc": ("calibration",),
    "nhbc": ("nhbc_zero", "nhbc"),
    "llo": ("llo",),
}
