"""The preposterior simulation: tables with labels to come, and the widths of their intervals."""

from __future__ import annotations

import numpy as np
import pytest

import lightfair as lf
from lightfair.core.model.regions import regions
from lightfair.planning.contrasts import contrasts_of
from lightfair.planning.forecast import unlabeled_parts
from lightfair.planning.refits import draw_rows, future_tables, labeled, refitted_widths


@pytest.mark.parametrize("name", ["result", "weighted"])
def test_labels_move_rows_and_lose_none(name, request):
    result = request.getfixturevalue(name)
    table, parts = result.table, unlabeled_parts(result.table, result.posterior.regions)
    rng = np.random.default_rng(1)
    chosen = rng.binomial(parts.rows.astype(int), 0.3)
    positive = rng.binomial(chosen, 0.5)
    new = labeled(table, parts, chosen, positive)
    assert (new.rows, new.labeled) == (table.rows, table.labeled + chosen.sum())
    for column in ("rows", "weight", "weight_sq"):
        sums = (one.sums(column).sum(axis=2) for one in (new, table))
        np.testing.assert_allclose(*sums, rtol=1e-12)
    assert (new.sums("rows") - table.sums("rows"))[..., 1].sum() == positive.sum()
    assert (new.threshold, new.weighted) == (table.threshold, table.weighted)


def test_rows_that_get_their_own_labels_make_the_table_of_these_labels():
    score = np.repeat([0.1, 0.3, 0.6, 0.8], 5)
    group = np.tile(["a", "b"], 10)
    label = np.full(20, -1)
    label[:4] = [0, 1, 0, 1]
    before = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    label[10:12] = [1, 0]  # score 0.6, groups a and b
    after = lf.score_table(lf.score_data(label, score, sensitive_features=group))
    parts = unlabeled_parts(before, regions(before))
    chosen = np.isclose(parts.logit, np.log(0.6 / 0.4)).astype(int)
    found = labeled(before, parts, chosen, chosen * (parts.group == 0))
    for one, other in ((found.points, after.points), (found.cells, after.cells)):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-12)


def test_tables_of_one_truth_are_nested(result):
    few, more = future_tables(result, [40, 110], np.array([7]), np.random.default_rng(1))
    known = [one.sums("rows")[..., :2] for one in (result.table, few, more)]
    gained = np.array([(one - known[0]).sum(axis=(1, 2)) for one in known[1:]])
    assert gained.sum(axis=1).tolist() == [40.0, 110.0]
    assert (known[0] <= known[1]).all() and (known[1] <= known[2]).all()


def test_without_labels_the_widths_are_the_current_ones(result):
    contrasts = contrasts_of(result, "tpr", "B", "A", 0.95)
    truths, rng = np.arange(24), np.random.default_rng(1)
    widths = refitted_widths(result, "tpr", contrasts, [0], truths, rng)[..., 0]
    error = widths.std() / np.sqrt(widths.size) + 0.03 * contrasts.width[0]  # of short chains
    assert abs(widths.mean() - contrasts.width[0]) < 3.0 * error


def test_billions_of_rows_are_drawn_from():
    found = draw_rows(np.array([3_000_000_000, 1_000_000_000]), 1000, np.random.default_rng(1))
    assert found.sum() == 1000 and abs(found[0] - 750) < 70
