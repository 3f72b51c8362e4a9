"""Schedule: what warm-up and drawing do between sweeps, of whatever moves the sweeps are made.

Both samplers follow it, that of the plain prior and that of the nested one. They pass what is
theirs: how to run sweeps, what to learn from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .model import Floats

ADAPT_EVERY = 10  # sweeps of warm-up between two looks at the acceptance rates
REFITS = 4  # refits of the surrogate, spread evenly over the first 4/5 of warm-up

Progress = Callable[[int, int], None]
C = TypeVar("C")  # chains
K = TypeVar("K")  # states after each of some sweeps
Run = Callable[[C, int], tuple[C, K]]


def warmed(
    chains: C,
    warmup: int,
    run: Run[C, K],
    adapted: Callable[[C], C],
    refitted: Callable[[C, list[K]], C],
    progress: Progress | None,
) -> C:
    """Run the sweeps of warm-up.

    Parameters
    ----------
    run
        Runs a number of sweeps: the chains then, and the states met.
    adapted
        Chains with step sizes that their rates of acceptance ask for.
    refitted
        Chains with a surrogate refitted to all states met so far, a list of what `run` returned.
    """
    refits = {warmup * (i + 1) // (REFITS + 1) for i in range(REFITS)}
    history: list[K] = []
    done = 0
    for mark in sorted(refits | set(range(ADAPT_EVERY, warmup, ADAPT_EVERY)) | {warmup}):
        if mark == done:
            continue
        chains, kept = run(chains, mark - done)
        history.append(kept)
        chains = adapted(chains)
        if mark in refits:
            chains = refitted(chains, history)
        done = mark
        if progress is not None:
            progress(done, warmup)
    return chains


def drawn(
    chains: Any, draws: int, size: int, run: Run[Any, K], progress: Progress | None
) -> tuple[Any, list[K]]:
    """Run a number of sweeps, at most `size` at a time; the states of each time.

    `accepted` of the chains returned are the rates over all of them.
    """
    parts: list[K] = []
    rates: list[list[Floats]] = []
    for first in range(0, draws, size):
        block = min(size, draws - first)
        chains, kept = run(chains, block)
        parts.append(kept)
        rates.append([block / draws * rate for rate in chains.accepted])
        if progress is not None:
            progress(first + block, draws)
    total = (np.asarray(sum(rate)) for rate in zip(*rates, strict=True))
    return chains._replace(accepted=type(chains.accepted)(*total)), parts


def longer(step: Floats, rate: Floats, wanted: float) -> Floats:
    """Lengthen steps that are accepted too often, shorten those that are not."""
    return np.asarray(step * np.exp(np.clip(2.0 * (rate - wanted), -0.7, 0.7)))
