"""Compiled counterparts of the functions of `moves`: lay out arguments for `kernels` and call it.

One data set and one chain at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data.logit import Floats
from ..model.likelihood import LabeledData, runs
from ..model.scales import Scales
from . import kernels
from .moves import Accepted, Candidates, Noise, Step
from .surrogate import Surrogate, draw_sigma


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, scales: Scales) -> Candidates:
    """Compiled counterpart of `moves.propose`."""
    sets, chains, rounds, width = noise.normal.shape
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    first = (groups + 1) * size
    normal = noise.normal.reshape(sets, chains * rounds, width)
    packed = np.empty((sets, chains * rounds, first + count + groups + 1))
    uniform = noise.uniform.reshape(sets, -1)
    packed[..., first : first + count] = draw_sigma(surrogate, scales, normal[..., :count], uniform)
    weight = np.empty((sets, chains * rounds))
    for r, (tables, scratch) in enumerate(_tables(data, surrogate, scales)):
        kernels.proposals(packed[r], weight[r], normal[r], *tables, *scratch)
    return Candidates(
        packed.reshape(sets, chains, rounds, -1), weight.reshape(sets, chains, rounds)
    )


def sweeps(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    surrogate: Surrogate,
    scales: Scales,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Compiled counterpart of `moves.sweeps`: make all sweeps of the noise."""
    sets, count, width = packed.shape
    groups = data.groups
    now = packed.copy()
    kept = np.empty((sets, count, noise.translation.shape[2], width))
    accepted = np.zeros((sets, 1 + groups + 1 + len(scales.sd)))
    late = np.concatenate(noise[3:], axis=-1)  # walk, translation, scaling, own, accept
    new = np.empty(width)
    for r, (tables, scratch) in enumerate(_tables(data, surrogate, scales)):
        tables[-1][3] = step.sigma[r]
        for k in range(count):
            proposed = candidates.packed[r, k], candidates.weight[r, k], noise.joint[r, k]
            out = kept[r, k], accepted[r]
            arguments = (now[r, k], *proposed, late[r, k], *tables, *out, *scratch, new)
            kernels.sweeps(*arguments)
    return kept, Accepted(*np.split(accepted, [1, 1 + groups, 2 + groups], axis=1))


def _tables(data: LabeledData, surrogate: Surrogate, scales: Scales) -> Iterator[tuple[Any, Any]]:
    """Lay out the arguments that the kernels share, data set by data set, and scratch arrays.

    See `kernels.sweeps` for nodes, start, owner, columns, cap, bends, ratios, of, scales; and
    system, sums.
    """
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    nodes = np.stack([*data.design[:2], data.positive, data.total])
    cuts = runs(data)
    bends = np.concatenate([surrogate.curvature, surrogate.linear[..., None]], axis=-1)
    ratios, of = np.stack([scales.own, scales.common]), np.stack([scales.own_of, scales.common_of])
    of = np.where(of == count, -1, of)
    for r in range(len(bends)):
        owner = cuts.owner[r * groups : (r + 1) * groups + 1]
        sigma = np.stack([scales.sd, surrogate.centre[r], surrogate.width[r], np.zeros(count)])
        yield (
            (nodes, cuts.start, owner, cuts.columns, data.cap, bends[r], ratios, of, sigma),
            (np.empty((groups + 1, size, 2 * size + 1)), np.empty((size, size + 3))),
        )
