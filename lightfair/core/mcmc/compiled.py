"""The compiled form of the sampler: lays out arguments for `_kernels` and calls it.

The functions are twins of those of `moves`, data set by data set and chain by chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..model.likelihood import LabeledData, runs
from ..model.scales import Scales
from . import kernels as _kernels
from .moves import Accepted, Candidates, Noise, Step
from .surrogate import Surrogate, draw_sigma


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, scales: Scales) -> Candidates:
    """Twin of `moves.propose`."""
    sets, chains, rounds, width = noise.normal.shape
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    first = (groups + 1) * size
    normal = noise.normal.reshape(sets, chains * rounds, width)
    packed = np.empty((sets, chains * rounds, first + count + groups + 1))
    uniform = noise.uniform.reshape(sets, -1)
    packed[..., first : first + count] = draw_sigma(surrogate, scales, normal[..., :count], uniform)
    weight = np.empty((sets, chains * rounds))
    for r, tables in enumerate(_tables(data, surrogate, scales)):
        _kernels.proposals(packed[r], weight[r], normal[r], *tables)
    return Candidates(
        packed.reshape(sets, chains, rounds, -1), weight.reshape(sets, chains, rounds)
    )


def sweeps(
    packed: Floats,
    candidates: Candidates,
    noise: Noise,
    data: LabeledData,
    scales: Scales,
    surrogate: Surrogate,
    step: Step,
) -> tuple[Floats, Accepted]:
    """Twin of `moves.sweep` for all sweeps of the noise; returns the state after each."""
    sets, count, width = packed.shape
    groups = data.groups
    now = packed.copy()
    kept = np.empty((sets, count, noise.shift.shape[2], width))
    accepted = np.zeros((sets, 1 + groups + 1 + len(scales.sd)))
    late = np.concatenate(noise[3:], axis=-1)  # walk, shift, stretch, own, accept
    for r, tables in enumerate(_tables(data, surrogate, scales)):
        tables.scales[3] = step.sigma[r]
        for k in range(count):
            _kernels.sweeps(
                *(now[r, k], candidates.packed[r, k], candidates.weight[r, k]),
                *(noise.joint[r, k], late[r, k]),
                *tables[:9],
                *(kept[r, k], accepted[r]),
                *tables[9:],
            )
    return kept, Accepted(*np.split(accepted, [1, 1 + groups, 2 + groups], axis=1))


class _Tables(NamedTuple):
    """Arguments that the compiled forms share, of one data set; the last four are scratch."""

    nodes: Floats
    start: npt.NDArray[np.int64]
    owner: npt.NDArray[np.int64]
    columns: Floats
    cap: float
    bends: Floats
    ratios: Floats
    of: npt.NDArray[np.int64]
    scales: Floats
    factor: Floats
    half: Floats
    sums: Floats
    spare: Floats


def _tables(data: LabeledData, surrogate: Surrogate, scales: Scales) -> Iterator[_Tables]:
    """Lay out what the compiled forms read, data set by data set."""
    groups = data.groups
    size, count = len(scales.own), len(scales.sd)
    nodes = np.stack([*data.design[:2], data.positive, data.total])
    cuts = runs(data)
    bends = np.concatenate([surrogate.curvature, surrogate.linear[..., None]], axis=-1)
    of = np.stack([scales.own_of, scales.common_of])
    for r in range(len(bends)):
        yield _Tables(
            nodes,
            cuts.start,
            cuts.owner[r * groups : (r + 1) * groups + 1],
            cuts.columns,
            data.cap,
            bends[r],
            np.stack([scales.own, scales.common]),
            np.where(of == count, -1, of),
            np.stack([scales.sd, surrogate.centre[r], surrogate.width[r], np.zeros(count)]),
            np.empty((groups + 1, size, size)),
            np.empty((groups + 1, size, size + 1)),
            np.empty((size, size + 3)),
            np.empty((3, max(size, groups, count))),
        )
