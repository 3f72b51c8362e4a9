"""lightfair itself: `assess` at its defaults, from rows to a report's numbers, without trust."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from common import METRICS, Case, Draws, Fit, Settings, main

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def prepare(case: Case, settings: Settings) -> Fit:
    """Import; there is nothing to build."""
    import lightfair as lf

    def fit(seed: int) -> Draws:
        result = lf.assess(
            case.y_true,
            case.y_score,
            sensitive_features=case.names,
            metrics=METRICS,
            target="expected",
            trust=False,
            chains=settings.chains,
            draws=settings.draws,
            warmup=settings.warmup,
            rng=seed,
        )
        theta = np.stack([result.draws(name) for name in METRICS], axis=-1)
        drawn = result.posterior
        return Draws(drawn.phi, drawn.mu, drawn.sigma, theta=theta)

    return fit


if __name__ == "__main__":
    raise SystemExit(main(prepare))
