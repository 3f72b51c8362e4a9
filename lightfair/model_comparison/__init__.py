"""Two to four models on the same rows: is one fairer, or more accurate, than another?

Two separate assessments cannot tell: they impute the same labels twice, independently, and the
difference of their results has the uncertainty of both. Where the models make the same decision,
though, a row contributes equally to both, whatever its label. So the labels are imputed once for
all models. Each group is crossed with the joint decision of the models, and these cells are fitted
as groups are: a cell has its own calibration curve and shares the nested prior with the others,
with effects of the attributes, of the joint decision, and of the cell. So groups inform each other
about which model is right when they disagree. The curves are functions of one score, the mean of
the models' log odds (each score clipped as in `assess`)::

    y_i ~ Bernoulli(f(s_i)),   logit s_i = mean over models of logit s_im,   f of the row's cell

In a cell every model has made one decision, so the confusion counts of each model are exact sums
over cells, draw by draw::

    count_m(group, predicted, label) = sum of count(cell, label), cells where m decides `predicted`

Then delta = theta_group - theta_reference of each model, and

    P(B fairer than A) = P(|delta_B| < |delta_A|)
    P(B more accurate than A) = P(accuracy_B > accuracy_A)

from the same draws. A metric of scores, such as the area under the curve, would need the joint
distribution of all scores, which is not kept; so the metrics are those of decisions.

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> scores = {"old": rows.y_score, "new": rows.y_score**1.2}
    >>> found = lf.compare_models(
    ...     scores, rows.y_true, sensitive_features=rows.group, metrics="tpr", rng=1
    ... )
    >>> for model in found.models:
    ...     tpr = found.metric(model, "tpr")
    ...     print(f"{model} {tpr.mean:.3f}, {found.gap(model, 'tpr', 'B').mean:.3f}")
    old 0.672, 0.083
    new 0.590, 0.104
    >>> print(f"{found.prob_fairer('tpr', 'new', 'old', 'B'):.3f}")
    0.092
    >>> print(f"{found.prob_more_accurate('old', 'new'):.3f}")
    0.918

On the command line::

    lightfair compare scores.csv --label label --score old --score new --group race
"""
