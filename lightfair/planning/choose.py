"""Label choice: which rows to label next, and with what chance each of them is chosen.

Rows of a group, a predicted class and a region of scores (`trust`) are a stratum. Labels are given
to strata one after the other, each to the one where it narrows the widest interval most, averaged
over its bins (`forecast`). As far as the curves are concerned that is a rank-one update of C_psi:
with w = p (1 - p), x = d log odds / d psi and t as there, s labels in bin j make

    t' = t - s h_j w_j x_j,    t' C_psi' t' = t' C_psi t' - s w_j (x_j' C_psi t')^2 / (1 + s w_j
                                              x_j' C_psi x_j)

and take s h_j^2 w_j off the labels that stay unknown. Then rows are drawn: the chance of a row is
that of its stratum, n_j of m_j, mixed with a share `explore` of one chance for all, n of m:

    pi_i = (1 - explore) n_j / m_j + explore n / m

and n rows are chosen by systematic sampling, which has exactly these chances. Every row can be
chosen, and its chance is known: so the design can be undone where labels are counted without a
model. The chances depend on nothing but group, predicted class, score and the posterior so far: so
the posterior may ignore them. Where labels are counted without a model they matter: when the labels
are there, give the chances as `label_prob=` (`--label-prob COL`).

Inside a stratum all rows have one chance, though narrow bins would promise more. The model has a
level of its own in each region, so that labels at random in it get the region right where the curve
is wrong; labels at the most telling scores alone do not. On logistic scores of adult, with 200
labels, choice by bins had intervals 7 % narrower that held the truth in 70 % of 50 runs, by strata
in 88 % of 25, random labels in 92 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.data.logit import Floats, logit_of
from ..core.data.messages import list_values, show
from ..core.data.nodes import Ints
from ..core.data.rows import RowReader, ScoreData
from ..core.settings import check_rng
from .forecast import BIN_CELLS, Bins, Outlook, noise, outlook
from .places import cell_of, region_of
from .plan_aim import planned_contrasts

if TYPE_CHECKING:
    from ..core.assessment import Assessment

METHODS = ("greedy", "thompson", "random")

DECIDING = 48  # draws of the posterior that a choice looks at

ROUNDS = 100  # at most so many updates; with more labels each gives several


@dataclass(frozen=True, eq=False)
class LabelChoice:
    """Rows to label.

    Attributes
    ----------
    rows : int64 array, shape (n,)
        Indices into the rows given, rising.
    prob : float64 array, shape (n,)
        The chance with which each of them was chosen, in (0, 1].
    every_prob : float64 array, shape (row,)
        That of all rows given; 0 for labeled ones. A row that was passed over with chance p before
        and is chosen with chance q now had a chance of 1 - (1 - p) (1 - q) in all.
    method : str
    explore : float

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> choice = lf.choose_labels(
    ...     result,
    ...     20,
    ...     y_score=rows.y_score,
    ...     sensitive_features=rows.group,
    ...     y_true=rows.y_true,
    ...     rng=1,
    ... )
    >>> choice.rows.shape, bool((choice.prob == choice.every_prob[choice.rows]).all())
    ((20,), True)
    """

    rows: Ints
    prob: Floats
    every_prob: Floats
    method: str
    explore: float


def choose_labels(
    result: Assessment,
    n: int,
    *,
    y_score: Any,
    sensitive_features: Any,
    y_true: Any = None,
    y_pred: Any = None,
    positive_label: Any = None,
    unlabeled: Any = None,
    missing: str = "raise",
    metric: str = "tpr",
    group: Any = None,
    reference: Any = None,
    method: str = "greedy",
    explore: float = 0.1,
    rng: int | np.random.Generator | None = None,
) -> LabelChoice:
    """Choose unlabeled rows to label next.

    Parameters
    ----------
    result
        The assessment of these rows, or of rows that they are part of.
    n : int
        How many rows to choose.
    y_score, sensitive_features, y_true, y_pred, positive_label, unlabeled, missing
        The rows, as in `assess`. Labeled ones are not chosen; without y_true none is labeled.
        y_pred is needed where the assessment was given decisions.
    metric : str
        One that was assessed.
    group, reference
        The difference that is to be known better. Default: every group against the reference of the
        assessment, the widest first. With one group it is the metric of that group.
    method : {"greedy", "thompson", "random"}
        greedy narrows the interval most on average over the posterior; thompson for one draw of the
        posterior at a time, another for each label; random gives all rows the same chance.
    explore : float
        Share of the chances that is the same for all rows, in (0, 1].
    rng : int or numpy.random.Generator, optional
        Seed. The same seed gives the same rows.

    Returns
    -------
    LabelChoice

    Raises
    ------
    ValueError
        If an argument breaks its rule, or a row is not one of the unlabeled rows of `result`.

    Examples
    --------
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> choice = lf.choose_labels(
    ...     result,
    ...     20,
    ...     y_score=rows.y_score,
    ...     sensitive_features=rows.group,
    ...     y_true=rows.y_true,
    ...     rng=1,
    ... )
    >>> len(choice.rows), bool(choice.prob.min() > 0)
    (20, True)
    >>> round(float(choice.every_prob.sum()), 6)  # the expected number of rows
    20.0
    """
    if result.table.threshold is None and y_pred is None:
        raise ValueError("y_pred must be given: the assessment was given decisions, no threshold")
    reader = RowReader(
        threshold=0.5 if y_pred is not None else result.table.threshold,
        decided=y_pred is not None,
        positive_label=positive_label,
        unlabeled=unlabeled,
        missing=missing,
    )
    given = np.full(np.shape(y_score)[:1], np.nan) if y_true is None else y_true
    chunk = reader.read(given, y_score, sensitive_features, y_pred)
    chosen = choose_rows(
        result,
        n,
        chunk.data,
        number=chunk.row,
        metric=metric,
        group=group,
        reference=reference,
        method=method,
        explore=explore,
        rng=rng,
    )
    every = np.zeros(reader.rows)
    every[chunk.row] = chosen.every_prob
    return replace(chosen, rows=chunk.row[chosen.rows], every_prob=every)


def choose_rows(
    result: Assessment,
    n: int,
    data: ScoreData,
    *,
    number: Ints | None = None,
    metric: str = "tpr",
    group: Any = None,
    reference: Any = None,
    method: str = "greedy",
    explore: float = 0.1,
    rng: int | np.random.Generator | None = None,
) -> LabelChoice:
    """Choose among checked rows, as `choose_labels`; `number` (row,) are their names in errors."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    real = isinstance(explore, (int, float, np.integer, np.floating))
    if not (real and not isinstance(explore, bool) and 0.0 < explore <= 1.0):
        raise ValueError(f"explore must lie in (0, 1]; got {explore!r}; 0.1 is usual")
    contrasts, inside = planned_contrasts(result, metric, group, reference)
    unlabeled = np.flatnonzero(data.label < 0)
    whole = isinstance(n, (int, np.integer)) and not isinstance(n, bool)
    if not whole or not 1 <= n <= len(unlabeled):
        raise ValueError(
            f"n must be a whole number in [1, {len(unlabeled)}], the rows without a label; "
            f"got {n!r}"
        )
    size = int(np.prod(result.draws(metric).shape[:2]))
    few = np.linspace(0.0, size - 1.0, min(DECIDING, size)).round().astype(np.int64)
    ahead = outlook(result, metric, few, groups=inside)
    of = _bin_of(result, ahead.bins, data, unlabeled, number)
    stream = check_rng(rng)
    room = np.bincount(of, minlength=len(ahead.bins.rows)).astype(np.float64)
    chance = np.full(len(of), n / len(of))
    if method != "random":
        gets = allocate(ahead, int(n), room, contrasts, stream if method == "thompson" else None)
        parts = strata_of(ahead.bins)
        share = np.bincount(parts, gets) / np.maximum(np.bincount(parts, room), 1.0)
        chance = (1.0 - explore) * share[parts[of]] + explore * chance
    chance = np.minimum(chance, 1.0)
    order = np.lexsort((unlabeled, data.score[unlabeled], of))
    picked = order[systematic(chance[order], int(n), stream)]
    every = np.zeros(len(data.label))
    every[unlabeled] = chance
    rows = np.sort(unlabeled[picked]).astype(np.int64)
    return LabelChoice(rows, every[rows], every, method, float(explore))


def allocate(
    ahead: Outlook,
    n: int,
    room: Floats,
    contrasts: Floats,
    thompson: np.random.Generator | None = None,
) -> Floats:
    """Give n labels to bins: each to the stratum where it narrows the widest interval most, and
    there to the bin that lacks most of its share.

    Parameters
    ----------
    room
        float64 (B,), rows of each bin that can get a label; n is at most their sum.
    contrasts
        float64 (E, G), of the groups' metrics.
    thompson
        Chooses the draw that decides on each label. None: the mean over the draws decides.

    Returns
    -------
    float64 (B,), whole numbers with the sum n.
    """
    now = _begin(ahead, contrasts)
    parts = strata_of(ahead.bins)
    total = np.bincount(parts, room)
    share = room / np.maximum(total, 1.0)[parts]
    gets = np.zeros(len(room))
    while gets.sum() < n:
        taken = np.bincount(parts, gets, len(total))
        size = min(max(1, n // ROUNDS), n - int(gets.sum()))
        e = int(np.argmax(np.sqrt(now.variance()).mean(axis=1)))
        change = now.change(e, np.full(len(room), float(size)))
        if thompson is None:
            gain = change.mean(axis=0)
        else:
            gain = change[int(thompson.integers(len(change)))]
        gains = np.bincount(parts, share * gain, len(total))
        best = int(np.argmin(np.where(taken < total, gains, np.inf)))
        step = min(float(size), total[best] - taken[best])
        # the bin of the stratum that lacks most of its share
        lacks = np.where(parts == best, share * (taken[best] + step) - gets, -np.inf)
        at = int(np.argmax(np.where(gets < room, lacks, -np.inf)))
        step = min(step, room[at] - gets[at])
        now = now.after(at, step)
        gets[at] += step
    return gets


def strata_of(bins: Bins) -> Ints:
    """The stratum of each bin, int64 (B,): its group, predicted class and region."""
    key = np.stack([bins.group, bins.predicted, bins.region])
    _, of = np.unique(key, axis=1, return_inverse=True)
    return np.asarray(of.reshape(-1), dtype=np.int64)


class _Now(NamedTuple):
    """Where the interval stands, by draw.

    seen: float64 (K, B, r), x; informs: (K, B), w; pulls: (E, K, B), h c of a row, c being the
    contrast of its group; drops: (E, K, B), what a label of the bin takes off the noise; inside:
    (K, r, r), C_psi; square: (K, B), x' C_psi x; pull: (E, K, r), t; left: (E, K), noise.
    """

    seen: Floats
    informs: Floats
    pulls: Floats
    drops: Floats
    inside: Floats
    square: Floats
    pull: Floats
    left: Floats

    def variance(self) -> Floats:
        """C of each contrast, (E, K)."""
        known = np.einsum("ekr,krs,eks->ek", self.pull, self.inside, self.pull)
        return np.asarray(np.maximum(known + self.left, 0.0))

    def change(self, e: int, size: Floats) -> Floats:
        """Change of the sd of a contrast per label, (K, B), if a bin gets `size` (B,) labels."""
        image = _along(self.inside, self.pull[e])
        before = (image * self.pull[e]).sum(axis=1)[:, None]
        cross = _along(self.seen, image)
        off = size * self.pulls[e] * self.informs
        square = self.square
        moved = cross - off * square
        worth = size * self.informs
        after = before - 2.0 * off * cross + off * off * square
        after = after - worth * moved * moved / (1.0 + worth * square)
        left = self.left[e][:, None] - size * self.drops[e]
        start = np.sqrt(np.maximum(before + self.left[e][:, None], 0.0))
        return np.asarray((np.sqrt(np.maximum(after + left, 0.0)) - start) / size)

    def after(self, at: int, size: float) -> _Now:
        """The same after `size` labels in bin `at`."""
        x = self.seen[:, at]
        image = _along(self.inside, x)
        worth = size * self.informs[:, at]
        share = worth / (1.0 + worth * (x * image).sum(axis=1))
        off = size * self.pulls[:, :, at] * self.informs[:, at]
        return self._replace(
            inside=self.inside - share[:, None, None] * image[:, :, None] * image[:, None, :],
            square=self.square - share[:, None] * _along(self.seen, image) ** 2,
            pull=self.pull - off[..., None] * x,
            left=self.left - size * self.drops[:, :, at],
        )


def _along(matrix: Floats, vector: Floats) -> Floats:
    """Products (K, n, r), (K, r) -> (K, n)."""
    return np.asarray((matrix @ vector[..., None])[..., 0])


def _begin(ahead: Outlook, contrasts: Floats) -> _Now:
    bins = ahead.bins
    k, _, r = ahead.seen.shape
    factor = contrasts[:, bins.group][:, None, :]  # (E, 1, B)
    pulls = factor * ahead.slope * (bins.weight / bins.rows)
    drops = np.zeros_like(pulls)
    if ahead.target == "sample":
        drops = factor**2 * ahead.slope**2 * ahead.informs * (bins.weight_sq / bins.rows)
    left = noise(ahead, np.ones(len(bins.rows))) @ (contrasts**2).T
    pull = np.einsum("ekb,kb,b,kbr->ekr", pulls, ahead.informs, bins.rows, ahead.seen)
    inside = np.broadcast_to(np.eye(r), (k, r, r))
    square = (ahead.seen**2).sum(axis=2)
    return _Now(ahead.seen, ahead.informs, pulls, drops, inside, square, pull, left.T)


def systematic(chance: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Choose n rows with given chances, float64 (row,) in (0, 1] with the sum n: int64 (n,)."""
    ends = np.cumsum(chance)
    ends *= n / ends[-1]
    picked = np.searchsorted(ends, rng.random() + np.arange(n), side="right")
    return np.minimum(picked, len(chance) - 1).astype(np.int64)


def _bin_of(
    result: Assessment, bins: Bins, data: ScoreData, rows: Ints, number: Ints | None
) -> Ints:
    """The bin of rows, int64 (row,)."""
    table = result.table
    unknown = [name for name in data.groups if name not in table.groups]
    if unknown:
        raise ValueError(
            f"sensitive_features must hold groups of the assessment, "
            f"{', '.join(map(show, table.groups))}; got {list_values(tuple(unknown))}"
        )
    group = np.array([table.groups.index(name) for name in data.groups], dtype=np.int64)
    stratum = (group[data.group[rows]] * 2 + data.predicted[rows]) * 3
    logit = logit_of(data.score[rows], table.clip)
    cell = cell_of(logit)
    region = region_of(table, result.posterior.regions, stratum, logit, cell)
    keys = np.stack([stratum // 6, stratum // 3 % 2, region, cell // BIN_CELLS])
    every = np.stack([bins.group, bins.predicted, bins.region, bins.band])
    _, of = np.unique(np.concatenate([every, keys], axis=1), axis=1, return_inverse=True)
    of = of.reshape(-1)
    size = every.shape[1]
    back = np.full(int(of.max()) + 1, -1, dtype=np.int64)
    back[of[:size]] = np.arange(size)
    found = back[of[size:]]
    if (found < 0).any():
        first = int(rows[np.flatnonzero(found < 0)[0]])
        first = first if number is None else int(number[first])
        raise ValueError(
            f"row {first} is not among the unlabeled rows of the assessment: no such row of its "
            "group, score and decision is there; give the rows that were assessed"
        )
    return np.asarray(found)
