"""Recipes: from other tools to here and back, in tests, in continuous integration, on model cards.

All of them go on from a data frame of scored rows. Few have a label; NaN is "not known":

    >>> import pandas
    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=200, rng=1)
    >>> frame = pandas.DataFrame({"score": rows.y_score, "label": rows.y_true, "sex": rows.group})
    >>> result = lf.assess(
    ...     frame["label"], frame["score"], sensitive_features=frame["sex"],
    ...     metrics=["tpr", "fpr"], reference="A", rng=1,
    ... )

Tables of pandas
----------------

Each number has a row of its own, in columns that are always the same (`lightfair.tidy`). So a table
is a filter and a pivot; `to_dataframe("polars")` does it for polars.

    >>> numbers = result.to_dataframe("pandas")
    >>> of_groups = numbers[(numbers.quantity == "metric") & (numbers.method == "lightfair")]
    >>> print(of_groups.pivot(index="group", columns="metric", values=["low", "high"]).round(2))
             low        high
    metric   fpr   tpr   fpr   tpr
    group
    A       0.12  0.59  0.25  0.70
    B       0.20  0.69  0.33  0.84

Ours beside what labels alone say, as a plot takes it:

    >>> both = numbers[(numbers.quantity == "difference") & (numbers.metric == "tpr")]
    >>> both = both[["method", "estimate", "low", "high"]].set_index("method")
    >>> list(both.index)
    ['lightfair', 'labels_only', 'prediction_powered']
    >>> width = both["high"] - both["low"]
    >>> bool(width["lightfair"] < width["labels_only"])
    True

A stored CSV, `result.to_csv()` or `--csv FILE`, is read with its types, so that a group named "NA"
or "007" stays what it is:

    >>> import io
    >>> from lightfair import tidy
    >>> kinds = {str: "string", float: "float64", int: "Int64", bool: "boolean"}
    >>> stored = pandas.read_csv(
    ...     io.StringIO(result.to_csv()),
    ...     dtype={name: kinds[kind] for name, kind in tidy.COLUMNS.items()},
    ...     keep_default_na=False, na_values=[""],
    ... )
    >>> pandas.testing.assert_frame_equal(stored, numbers)

A model card
------------

`result.to_markdown()` is the whole report, `--markdown FILE` on the command line. A table of one's
own, with what cannot be told said as such:

    >>> def cell(row):
    ...     if pandas.isna(row.estimate):
    ...         return f"not known: {row.reason}"
    ...     return f"{row.estimate:.2f} [{row.low:.2f}, {row.high:.2f}]"
    >>> card = ["| group | TPR | labels |", "|---|---|---|"]
    >>> for row in of_groups[of_groups.metric == "tpr"].itertuples():
    ...     card.append(f"| {row.group} | {cell(row)} | {row.positives} |")
    >>> print("\\n".join(card))
    | group | TPR | labels |
    |---|---|---|
    | A | 0.65 [0.59, 0.70] | 69 |
    | B | 0.76 [0.69, 0.84] | 30 |

Fairlearn: from a MetricFrame to here and back
----------------------------------------------

A MetricFrame needs every label, so it is made of the labeled rows; `assess` takes the same columns
with all rows, and the scores. Where decisions are not `score >= threshold`, give them as `y_pred`.

    >>> from fairlearn.metrics import MetricFrame, false_positive_rate, true_positive_rate
    >>> known = frame.dropna(subset=["label"])
    >>> metric_frame = MetricFrame(
    ...     metrics={"tpr": true_positive_rate, "fpr": false_positive_rate},
    ...     y_true=known["label"], y_pred=known["score"] >= 0.5,
    ...     sensitive_features=known["sex"],
    ... )

Back: a table in the form of `MetricFrame.by_group`, with posterior means, and its differences:

    >>> by_group = of_groups.pivot(index="group", columns="metric", values="estimate")
    >>> by_group = by_group.rename_axis(index="sex", columns=None)[["tpr", "fpr"]]
    >>> bool((by_group.index == metric_frame.by_group.index).all())
    True
    >>> tables = {"labels alone": metric_frame.by_group, "lightfair": by_group}
    >>> print(pandas.concat(tables, axis=1).round(2))
        labels alone       lightfair
                 tpr   fpr       tpr   fpr
    sex
    A           0.62  0.17      0.65  0.19
    B           0.73  0.29      0.76  0.27

With several sensitive features a MetricFrame has an index of several levels, and a group here has
the parts of its name:

    >>> parts = {g["name"]: tuple(g["parts"].values()) for g in result.to_dict()["data"]["groups"]}
    >>> parts["A"]
    ('A',)

Aequitas: from its frame to here and back
-----------------------------------------

Its frame has the columns score, label_value, which must be known, and one for each attribute.

    >>> from aequitas.group import Group
    >>> audit = frame.rename(columns={"label": "label_value"})
    >>> known = audit.dropna(subset=["label_value"]).astype({"label_value": int})
    >>> crosstab, _ = Group().get_crosstabs(
    ...     known, attr_cols=["sex"], score_thresholds={"score_val": [0.5]}
    ... )

The columns of `audit` with all its rows go to `assess`, as above. Back: posterior means in place of
its own numbers, so that its bias and its plots go on from them.

    >>> names = {"tpr": "tpr", "fpr": "fpr"}  # of Aequitas: as in lightfair.metrics
    >>> better = crosstab.copy()
    >>> for metric, column in names.items():
    ...     mine = of_groups[of_groups.metric == metric].set_index("group")["estimate"]
    ...     better[column] = better["attribute_value"].map(mine)
    >>> better[["attribute_value", "tpr", "fpr"]].round(2).values.tolist()
    [['A', 0.65, 0.19], ['B', 0.76, 0.27]]

scikit-learn: a pipeline as it is
---------------------------------

A fitted classifier, search or pipeline, new rows, and labels of some of them. Decisions are what
the model predicts; the sensitive columns need not be features.

    >>> import numpy
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rng = numpy.random.default_rng(1)
    >>> people = pandas.DataFrame({"income": rng.normal(size=1500), "age": rng.normal(size=1500)})
    >>> people["sex"] = rng.choice(["f", "m"], 1500)
    >>> repaid = (people["income"] + rng.normal(size=1500) > 0).astype(float)
    >>> train, new = people[:500], people[500:]
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> model = model.fit(train[["income", "age"]], repaid[:500])
    >>> y = repaid[500:].where(rng.random(1000) < 0.1)   # one in ten is known
    >>> of_model = lf.assess_estimator(
    ...     model, new, y, sensitive_features="sex", metrics="accuracy", rng=1
    ... )
    >>> of_model.groups, of_model.table.rows
    (('f', 'm'), 1000)

ArviZ: its plots and tables of the draws
----------------------------------------

`to_arviz` gives an InferenceData, or a DataTree from ArviZ 1 on; groups are selected by name.
`lightfair.arviz_data` has the names of all variables.

    >>> import arviz
    >>> draws = result.to_arviz()
    >>> forest = arviz.plot_forest(draws, var_names=["tpr", "tpr_difference"], combined=True)
    >>> ranks = arviz.plot_rank(draws, var_names=["mu"])
    >>> table = arviz.summary(draws, var_names=["tpr"])
    >>> list(table.index)
    ['tpr[A]', 'tpr[B]']
    >>> bool(draws["posterior"]["tpr"].sel(group="B").mean() > 0.5)
    True

pytest: a gate in the test suite
--------------------------------

test_fairness.py fails where a gap is too large, and is skipped, with the reason, where the labels
cannot tell. The sentence of the verdict is the message::

    import pandas
    import pytest

    import lightfair as lf


    @pytest.fixture(scope="module")
    def result():
        frame = pandas.read_csv("scores.csv")
        return lf.assess(
            frame["label"], frame["score"], sensitive_features=frame["sex"],
            metrics=["tpr", "fpr"], rng=1,
        )


    @pytest.mark.parametrize("check", ["tpr<=0.25", "equalized_odds<=0.3"])
    def test_groups_are_treated_alike(result, check):
        verdict = result.check(check)
        if verdict.status == "insufficient":
            pytest.skip(verdict.sentence)
        assert verdict.status == "pass", verdict.sentence

GitHub: a gate in a workflow
----------------------------

.github/workflows/fairness.yml. The exit code is 0 where all checks pass, 1 where one fails, 2 for
bad input, and 3 where there is not enough evidence, which here is a warning and no failure. The
report is shown with the run, and kept, whatever the verdict::

    name: fairness
    on:
      push:
      schedule:
        - cron: "0 6 * * 1"
    jobs:
      gate:
        runs-on: ubuntu-latest
        steps:
          - uses: actions/checkout@v4
          - uses: actions/setup-python@v5
            with:
              python-version: "3.12"
          - name: Install
            run: python -m pip install "./lightfair[plot]"  # a copy of its repository
          - name: Check
            run: |
              code=0
              python -m lightfair assess scores.csv --label label --score score --group sex \\
                --metric tpr --metric fpr --check "tpr<=0.25" --check "equalized_odds<=0.3" \\
                --html fairness.html --markdown fairness.md --csv fairness.csv || code=$?
              if [ -f fairness.md ]; then cat fairness.md >> "$GITHUB_STEP_SUMMARY"; fi
              if [ "$code" -eq 3 ]; then
                echo "::warning::not enough evidence for a verdict on fairness; label more rows"
                code=0
              fi
              exit "$code"
          - name: Keep the report
            if: always()
            uses: actions/upload-artifact@v4
            with:
              name: fairness
              path: fairness.*
"""
