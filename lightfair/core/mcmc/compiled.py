"""Compiled counterparts of functions of `moves`: lay out arguments for `kernels` and call it.

One data set at a time.
"""

from __future__ import annotations

import numpy as np

from ..data.logit import Floats
from ..model.likelihood import LabeledData, runs
from . import kernels
from .hierarchy import Hierarchy
from .moves import Noise, State, log_weight, pack, unpack
from .surrogate import Surrogate, group_place, place_of, propose_hyper, sigma_of


def propose(noise: Noise, data: LabeledData, surrogate: Surrogate, prior: Hierarchy) -> Floats:
    """Compiled counterpart of `moves.propose`."""
    sets, chains, rounds, width = noise.normal.shape
    normal = noise.normal.reshape(sets, -1, width)
    apart = noise.chosen(surrogate.apart)
    hyper = propose_hyper(noise.t(), apart, surrogate, prior)
    rows, size = prior.ratio.shape
    n, groups = normal.shape[1], data.groups
    made = State(
        np.empty((sets, n, groups, size)),
        np.empty((sets, n, rows, size)),
        hyper,
        apart,
        np.empty((sets, n, groups)),
        np.empty((sets, n, groups)),
        np.empty((sets, n, 1)),
    )
    _weigh(made, normal[..., hyper.shape[-1] :], data, surrogate, prior)
    return pack(made).reshape(sets, chains, rounds, -1)


def reweigh(packed: Floats, data: LabeledData, surrogate: Surrogate, prior: Hierarchy) -> None:
    """Compiled counterpart of `moves.reweigh`."""
    now = unpack(packed, data.groups, prior)
    state = State(*(np.ascontiguousarray(part) for part in now))
    _weigh(state, None, data, surrogate, prior)
    now.excess[...] = state.excess
    now.weight[...] = state.weight


def _weigh(
    state: State,
    normal: Floats | None,
    data: LabeledData,
    surrogate: Surrogate,
    prior: Hierarchy,
) -> None:
    """Weigh states (data set, n, ...) in place, drawn anew if normal is given."""
    (rows, size), groups, count = prior.ratio.shape, data.groups, len(prior.scales.sd)
    sets, n = state.hyper.shape[:2]
    sigma, place = sigma_of(state.hyper, prior), place_of(state.hyper, prior)
    spots = group_place(place, state.apart, prior)
    plain = np.ascontiguousarray  # one layout of each argument, so that all is compiled once
    nodes, cuts = np.stack([*data.design[:2], data.positive, data.total]), runs(data)
    own_of, of = (np.where(x == count, -1, x) for x in (prior.scales.own_of, prior.of.ravel()))
    members = np.nonzero(prior.design)[1].reshape(groups, -1)
    value = np.empty((sets, n))
    for r in range(sets):
        kernels.weigh(
            sigma[r],
            spots[r],
            state.apart[r],
            plain(np.empty((n, 0)) if normal is None else normal[r]),
            normal is not None,
            state.psi[r],
            state.eta[r].reshape(n, -1),
            value[r],
            state.loglik[r],
            state.excess[r],
            plain(surrogate.curvature[r]),
            plain(surrogate.linear[r]),
            plain(surrogate.level[r]),
            nodes,
            cuts.start,
            cuts.owner[r * groups : (r + 1) * groups + 1],
            cuts.columns,
            data.cap,
            prior.scales.own,
            own_of,
            prior.scales.wide,
            prior.ratio.ravel(),
            of,
            plain(members),
            np.empty((groups, size, 2 * size + 1)),
            np.empty((size, size + 1)),
            np.empty((rows * size, rows * size + 2)),
            np.empty((groups, 5, size)),
            np.empty((5, rows * size)),
        )
    if normal is not None:
        state.eta[:, :, -1, :2] = place
    state.weight[...] = log_weight(state.hyper, state.apart, value, surrogate, prior)
