"""Audit profiles against published worked examples, scipy, and bad input."""

from __future__ import annotations

import csv
from datetime import date

import numpy as np
import pytest
from scipy import stats

import lightfair as lf
from lightfair.audit.rates import fisher_exact, rate_draws
from lightfair.cli.main import main

RACES = ["Hispanic", "White", "Black", "Pacific", "Asian", "Native", "Two or more"]
CROSSED = [f"{sex}, {race}" for sex in ("Male", "Female") for race in RACES]

# 6 RCNY 5-301, final rule of April 2023. First example: rows and selected, men then women; its race
# table has more Hispanic or Latino applicants (408, 204 selected) than its crossed table.
SELECTED = [(205, 90), (412, 215), (226, 95), (87, 37), (321, 167), (24, 11), (115, 52)]
SELECTED += [(190, 82), (385, 197), (164, 75), (32, 15), (295, 135), (17, 7), (98, 44)]
# Second example: rows, and those above the median, which are the published rates times rows.
SCORED = [(16, 12), (20, 7), (20, 10), (4, 3), (12, 7), (8, 5), (12, 6)]
SCORED += [(12, 6), (20, 8), (12, 6), (4, 2), (12, 3), (8, 5), (8, 4)]


def rows_of(counts):
    """Columns of rows from the number of rows and of selected ones by category."""
    cells = [(*name.split(", "), *pair) for name, pair in counts.items()]
    table = [(*levels, i < k) for *levels, n, k in cells for i in range(n)]
    names = ["sex", "race"] if len(cells[0]) > 3 else ["race"]
    return dict(zip([*names, "selected"], map(np.array, zip(*table, strict=True)), strict=True))


def profile(counts, name="four-fifths", **options):
    columns = rows_of(counts)
    rows = {"y_pred": columns.pop("selected"), "missing": "group"}
    rows |= {"sensitive_features": columns, "metrics": "selection_rate", "rng": 1}
    result = lf.assess([None] * len(rows["y_pred"]), **rows)
    return lf.audit_profile(result, name, **options)


def ratios(table, names, digits):
    found = {one.name: f"{one.impact_ratio:.{digits}f}" for one in table.categories}
    return " ".join(map(found.get, names))


def test_the_example_of_selections_in_the_rule():
    counts = {**dict(zip(CROSSED, SELECTED, strict=True)), "Male, Unknown ": (250, 9)}
    found = profile(counts, "nyc-ll144", min_share=0.0, data_dates=date(2022, 1, 2))
    (sex, _, both), (women, men) = found.tables, found.tables[0].categories
    assert (found.unknown, found.rate, found.checks) == (250, "selection rate", ())
    assert (women.rows, women.selected, men.rows, men.selected) == (1181, 555, 1390, 667)
    assert ratios(sex, ["Male", "Female"], 3) == "1.000 0.979"
    men, women = "0.841 1.000 0.806 0.815 0.997 0.878 0.866", "0.827 0.981 0.876 0.898 0.877 0.789"
    assert ratios(both, CROSSED, 3) == f"{men} {women} 0.860"
    for text in ("in no table: 250", "data: 2022-01-02", "not legal", "| 0.470 | 0.979 | 0."):
        assert text in found.to_markdown()
    own = [(408, 204), (797, 412), (390, 170), (119, 52), (616, 302), (41, 18), (213, 96)]
    race = profile(dict(zip(RACES, own, strict=True)), min_share=0.0).tables[0]
    assert ratios(race, RACES, 2) == "0.97 1.00 0.84 0.85 0.95 0.85 0.87"


def test_the_example_of_scores_in_the_rule(tmp_path, capsys):
    """From a file without labels to the tables, by the median of the full sample."""
    columns = rows_of({**dict(zip(CROSSED, SCORED, strict=True)), "Male, ": (15, 0)})
    scores = np.where(columns.pop("selected"), 0.6, 0.3)  # the median is 0.3
    with open(tmp_path / "scores.csv", "w", newline="") as file:
        lines = zip(scores, *columns.values(), strict=True)
        csv.writer(file).writerows([("score", *columns), *lines])
    words = "--score score --group sex,race --profile nyc-ll144 --min-share 0 --csv -"
    assert main(["assess", file.name, *words.split()]) == 0
    found = csv.DictReader(capsys.readouterr().out.splitlines())
    of = {" ".join([*row.values()][:3]): float(row["estimate"]) for row in found}
    assert f"{of['rate scoring_rate Male']:.1%}" == "54.3%"
    sexes, races = "1.00 0.82", "1.00 0.58 0.78 0.97 0.65 0.97 0.78"
    both = "1.00 0.47 0.67 1.00 0.78 0.83 0.67 0.67 0.53 0.67 0.67 0.33 0.83 0.67"
    names, wanted = ["Male", "Female", *RACES, *CROSSED], f"{sexes} {races} {both}"
    assert " ".join(f"{of[f'impact_ratio scoring_rate {one}']:.2f}" for one in names) == wanted


def test_four_fifths_in_the_examples_of_the_commission():
    """Technical assistance of May 18, 2023 (48 of 80, 12 of 40), and question 11 of 1979."""
    found = profile({"White": (80, 48), "Black": (40, 12)})
    (table,), black = found.checks, found.tables[0].compared[0]
    assert (black.rate, black.impact_ratio, table.status, black.short) == (0.3, 0.5, "fail", 8)
    assert black.deviations == pytest.approx(-0.3 / np.sqrt(0.25 * (1 / 80 + 1 / 40)))
    hired = {"White": 60, "American Indian": 45, "Hispanic": 48, "Black": 51}
    (table,) = profile({name: (100, count) for name, count in hired.items()}).tables
    assert ratios(table, hired, 2) == "1.00 0.75 0.80 0.85"
    assert [one.short for one in table.compared] == [3, 0, 0]
    assert table.below == table.significant == ["American Indian"]
    assert profile({"a": (1000, 600), "b": (1000, 520)}).checks[0].status == "insufficient"


def test_fisher_and_the_population_are_those_of_scipy():
    rng = np.random.default_rng(0)
    cases = [*rng.integers(1, 300, (50, 2)), (10**7, 10**7), (10**7, 40)]
    for n, m in cases:
        k, j = map(int, rng.binomial([n, m], rng.random()))
        wanted = stats.fisher_exact([[k, n - k], [j, m - j]])[1]
        wanted = pytest.approx(wanted, rel=1e-9, abs=1e-9 * (n > 300))  # that of scipy rounds
        assert fisher_exact(k, int(n), j, int(m)) == wanted
    assert fisher_exact(10**6, 10**7, 10**5, 10**7) == 0.0 and fisher_exact(0, 1, 0, 1) == 1.0
    ratio = profile({"a": (60, 40), "b": (50, 25)}).tables[0].compared[0].population
    wanted = stats.beta(26, 26).expect(lambda p: stats.beta(41, 21).sf(p / 0.8))
    assert ratio.prob_below(0.8) == pytest.approx(wanted, abs=4 * np.sqrt(0.25 / 20_000))


def test_many_categories_share_a_prior():
    """Against the sum over a fine grid of its mean m and spread u."""
    selected, rows = np.array([(3.0, 10.0), (10.0, 20.0), (30.0, 50.0), (20.0, 50.0)]).T
    u, m = np.meshgrid(*[(np.arange(400) + 0.5) / 400] * 2)
    a, b = m * (u**-2 - 1.0), (1.0 - m) * (u**-2 - 1.0)
    pairs = [*zip(selected, rows, strict=True)]
    chance = np.prod([stats.betabinom.pmf(k, n, a, b) for k, n in pairs], axis=0)
    wanted = [np.average((a + k) / (a + b + n), weights=chance) for k, n in pairs]
    draws = rate_draws(selected, rows, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), wanted, atol=0.002)
    assert (rate_draws(np.full(3, 1e6), np.full(3, 1e6), 9, np.random.default_rng(0)) > 0.99).all()


def test_small_categories_keep_their_counts_and_rates():
    found = profile({"a": (500, 250), "b": (481, 200), "c": (19, 19)})
    text = " ".join(str(found).split())
    assert "c 19 19 1.000 - [1]" in text and "[1] 1.9 % of the rows, less than 2 %" in text
    assert found.tables[0].highest == "a" and found.tables[0].categories[2].impact_ratio is None


@pytest.mark.parametrize(
    "counts, options, message",
    [
        ({"a": (9, 5)}, {"name": "nyc"}, "no profile 'nyc'.*; there are nyc-ll144, four-fifths"),
        ({"a": (9, 5)}, {}, "race must have two known categories or more; got a"),
        ({"a": (9, 0), "b": (9, 0)}, {}, "no row is selected in race; check y_pred"),
        ({"a": (9, 0), "b": (9, 0)}, {"median": 1.0}, "no score lies above the median, 1; give"),
        ({"a": (9, 5), "b": (9, 5)}, {"min_share": 0.6}, "less than min_share, 0.6, of the"),
        ({"a": (9, 5), "b": (9, 5)}, {"median": np.nan}, "median must lie in .0, 1.; got nan"),
        ({"a": (9, 5), "b": (9, 5)}, {"audit_date": 2026}, "audit_date must be text; got 2026; "),
    ],
)
def test_bad_input_is_one_sentence(counts, options, message):
    with pytest.raises(ValueError, match=message):
        profile(counts, **options)
