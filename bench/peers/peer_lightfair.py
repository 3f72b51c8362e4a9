"""lightfair itself: `assess` at its defaults without trust, or its sampler alone."""

from __future__ import annotations

import os

import numpy as np

from .common import METRICS, Case, Draws, Fit, Settings


def prepare(case: Case, settings: Settings) -> Fit:
    """Import; there is nothing to build."""
    if settings.compiled:
        os.environ["LIGHTFAIR_JIT"] = "1"
    return _sampler(case, settings) if settings.alone else _assess(case)


def _assess(case: Case) -> Fit:
    """From rows to a report: labels-only estimates, predictive checks and warnings, too."""
    import lightfair as lf

    given = {"sensitive_features": case.names, "metrics": METRICS}

    def fit(seed: int) -> Draws:
        result = lf.assess(
            case.y_true, case.y_score, target="expected", trust=False, rng=seed, **given
        )
        theta = np.stack([result.draws(name) for name in METRICS], axis=-1)
        drawn = result.posterior
        return Draws(drawn.phi, drawn.mu, drawn.sigma, theta)

    return fit


def _sampler(case: Case, settings: Settings) -> Fit:
    """As the other programs: sample given checked rows, then the metrics step."""
    import lightfair as lf
    from lightfair.core.mcmc.sampler import start_chains, take_draws
    from lightfair.core.metrics.definitions import theta
    from lightfair.core.metrics.imputation import confusion_counts
    from lightfair.core.model.likelihood import labeled_data
    from lightfair.core.model.scales import curve_scales

    data = lf.score_data(case.y_true, case.y_score, sensitive_features=case.names)
    table = lf.score_table(data)

    def fit(seed: int) -> Draws:
        labels, scales = labeled_data([table], family="beta"), curve_scales(lf.Prior())
        size = {"chains": settings.chains, "warmup": settings.warmup}
        chains = start_chains(labels, scales, rng=np.random.default_rng(seed), **size)
        chains, drawn = take_draws(chains, settings.draws)
        psi, rng = drawn.psi[0], np.random.default_rng(seed)
        counts = confusion_counts(psi, table, target="expected", rng=rng, jit=chains.jit)
        each = [theta(name, counts.expected) for name in METRICS]
        return Draws(psi, drawn.mu[0], drawn.sigma[0], np.stack(each, axis=-1))

    return fit
