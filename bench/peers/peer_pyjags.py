"""JAGS in the process, through PyJAGS."""

from __future__ import annotations

import jags_model
import numpy as np
from common import Case, Draws, Fit, Settings, main

ADAPT = 1000  # first sweeps of the warm-up, in which samplers are tuned


def prepare(case: Case, settings: Settings) -> Fit:
    """Import; JAGS builds its graph anew in each fit."""
    import pyjags

    code, data = jags_model.model(settings.nodes), jags_model.data(case, settings.nodes)
    monitored = [*jags_model.MONITORED, *(["z"] if settings.nodes else [])]

    def fit(seed: int) -> Draws:
        generator = "base::Mersenne-Twister"
        first = [
            {".RNG.name": generator, ".RNG.seed": seed * settings.chains + k + 1}
            for k in range(settings.chains)
        ]
        adapt = min(ADAPT, settings.warmup)
        model = pyjags.Model(
            code, data=data, chains=settings.chains, init=first, adapt=adapt, progress_bar=False
        )
        if settings.warmup > adapt:
            model.update(settings.warmup - adapt)
        kept = model.sample(settings.draws, vars=monitored)
        return jags_model.named(
            {k: np.moveaxis(v, 0, -1).swapaxes(0, 1) for k, v in kept.items()}, case
        )

    return fit


if __name__ == "__main__":
    raise SystemExit(main(prepare))
