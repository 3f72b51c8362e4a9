"""Chains: the one door to both samplers, that of the plain prior and that of the nested one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..data.groups import Parts
from ..model.likelihood import LabeledData
from ..model.scales import Scales
from .sampler import Chains, Draws, Progress, take_draws, warm_up

if TYPE_CHECKING:
    from .nested_sampler import NestedChains, NestedDraws


def start_chains(
    data: LabeledData,
    scales: Scales,
    parts: Parts | None,
    *,
    chains: int,
    warmup: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Chains | NestedChains:
    """Start chains and warm them up.

    parts: for each group its level of each attribute, for the nested prior; None for the plain one.
    The rest is as in `sampler.warm_up`.
    """
    if parts is None:
        return warm_up(data, scales, chains=chains, warmup=warmup, rng=rng, progress=progress)
    from . import nested_sampler
    from .hierarchy import nesting

    nest = nesting(scales, parts)
    return nested_sampler.warm_up(
        data, nest, chains=chains, warmup=warmup, rng=rng, progress=progress
    )


def more_draws(
    chains: Chains | NestedChains, draws: int, *, progress: Progress | None = None
) -> tuple[Chains | NestedChains, Draws | NestedDraws]:
    """Go on for a number of draws; see `sampler.take_draws`."""
    if isinstance(chains, Chains):
        return take_draws(chains, draws, progress=progress)
    from . import nested_sampler

    return nested_sampler.take_draws(chains, draws, progress=progress)
