"""Posterior: named draws of the calibration curves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..data.logit import Floats
from ..data.messages import OneLine, counted
from ..model.regions import Regions, no_regions


@dataclass(frozen=True, eq=False, repr=False)
class Posterior(OneLine):
    """Draws of the calibration curves.

    Attributes
    ----------
    phi : float64 array, shape (chain, draw, group, 3)
        log a, log b, c of each group.
    mu, sigma : float64 array, shape (chain, draw, 3)
        Common location and spread of the groups' log a, log b and c. Without hierarchy each group
        has its own: (chain, draw, group, 3). Under the nested prior sigma is the spread of the
        interactions, without the effects of attributes.
    deviations : float64 array, shape (chain, draw, group, J)
        Deviations of the log odds from the curve, one for each column of `regions`; J is 0 without
        trust.
    omega, tau : float64 array, shape (chain, draw), or None
        Scales of the deviations, in log odds: of the shared and the group-specific part.
        Without hierarchy (chain, draw, group). None without trust.
    regions : Regions
        Regions of the scores and columns of the deviations.
    apart : bool array, shape (chain, draw, group), or None
        Whether a group is apart from the others, see `model.regions`. None where none can
        be: without trust or hierarchy, with one group, under the nested prior.
    effects, effect_sd : dict of str to float64 array, or None
        Under the nested prior, for each attribute with two levels or more, the effects of its
        levels, (chain, draw, level, 3), sorted by name, and their scale, (chain, draw, 3).

    Examples
    --------
    >>> import numpy as np
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> curves = result.posterior
    >>> curves.phi.shape, curves.mu.shape, curves.omega.shape
    ((4, 800, 2, 3), (4, 800, 3), (4, 800))
    >>> log_a, log_b, c = curves.phi[:, :, 0].mean(axis=(0, 1))  # the curve of group A
    >>> print(lf.calibrate(0.5, *np.exp([log_a, log_b]), c).round(1))
    0.7
    """

    phi: Floats
    mu: Floats
    sigma: Floats
    deviations: Floats
    omega: Floats | None
    tau: Floats | None
    regions: Regions
    apart: npt.NDArray[np.bool_] | None = None
    effects: dict[str, Floats] | None = None
    effect_sd: dict[str, Floats] | None = None

    def _line(self) -> str:
        chains, draws, groups = self.phi.shape[:3]
        return f"{counted(chains, 'chain')} of {draws:,} draws; {counted(groups, 'group')}"

    @property
    def psi(self) -> Floats:
        """All coordinates of the curves, float64 (chain, draw, group, 3 + J)."""
        return np.concatenate([self.phi, self.deviations], axis=-1)


def identity(groups: tuple[str, ...]) -> Posterior:
    """Return one draw of curves that take scores for chances: for rows whose labels are known."""
    one = np.zeros((1, 1, 3))
    phi = np.zeros((1, 1, len(groups), 3))
    return Posterior(phi, one, one, phi[..., :0], None, None, no_regions())
