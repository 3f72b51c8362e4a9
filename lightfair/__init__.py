"""Group fairness of a binary classifier from few labeled and many unlabeled scored rows.

Can I trust my fairness metric? Every group metric and every difference between groups comes with a
posterior, by the method of Ji, Smyth and Steyvers (NeurIPS 2020, arXiv 2010.09851):

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> delta = result.difference("tpr", "B", "A")
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(delta.mean, *delta.interval(0.95)))
    0.11 [0.01, 0.21]

print(result) shows all. Names, by what they are for; help(lightfair.assess) and the like say more:

    assess, assess_estimator        rows, a table, or a fitted model and its X -> Assessment
    Assessment          the report; metric, difference, ratio, check, ... -> Estimate, Ratio, Gap,
                        Pair, Simultaneous, Verdict, ThresholdCurve; posterior -> Posterior
    METRICS, Metric, cost           metrics by name, of your own, of unequal errors (metrics)
    CRITERIA, parse_check           criteria by name; a check as text, "tpr<=0.05"
    Prior, llo_prior, Trust         scales of the prior, of deviations from the curve (model, trust)
    plan_labels         how many labels it takes -> LabelPlan
    choose_labels       which rows to label next -> LabelChoice
    compare_models      two to four models on the same rows -> ModelComparison
    find_threshold      the threshold at which a group has a given rate -> FoundThresholds
    summarize, load_table           files of any size -> ScoreTable; a stored one
    ScoreTable          what is kept of rows: tables add, and assess takes them
    sql_query           the query that makes a table where the rows are
    score_data, score_table         the two steps from columns to a table -> ScoreData, ScoreTable
    simulate, calibrate, beta_binomial, gelman_rubin    rows with known truth; the parts by hand
    plot                lightfair.plot.differences(result, "tpr") and others, with matplotlib

Reference, one module a subject; python -m pydoc lightfair.metrics, and the like:

    metrics             every metric: formula, source, its name in other packages
    warn                every warning: code, and when
    comparisons, verdict, thresholds, planning, label_choice, paired, marginals, nested
                        what can be asked, with examples
    summary, sql, stored            large files, databases, the JSON of a table
    model, trust, sampler           the model, its priors, how it is fitted
    assessment          Assessment.to_dict has the keys of --json
    recipes, tidy, plot             from and to Fairlearn, Aequitas, scikit-learn, pandas, ArviZ,
                        pytest, a workflow; every number in a row of its own; pictures
    cli, config         the command line, whose commands are in ..._command; a file of its options

How data takes its way, each module importing only from those above it:

    y_true, y_score, sensitive_features
        |  data (columns, labels, groups)     checks, encodes
        |  table        rows become weighted nodes on the logit axis; tables add
        |  bands        rows kept apart by several thresholds
        |  reading, summary, stored           files of any size into a table; tables as JSON
        |  sql, rows    the query that makes a table where the rows are; its result
        |  trust, scales        regions of scores, and the prior of deviations from the curve
        |  evidence, quadrature       what the likelihood sees: the labeled nodes, few of them
        |  surrogate, moves, sampler, posterior       Metropolis-within-Gibbs
        |  compiled, _kernels, _cache         the same moves, compiled; what is kept of that
        |  nested, nested_moves, nested_sampler       the same for crossed attributes
        |  imputation, slots          labels of the unlabeled rows, draw by draw; score by score
        |  metrics, score_metrics, labels_only, prediction_powered    metrics
        |  compare, comparisons, ratio, between, simultaneous, criteria
        |  diagnostics, misfit, drift, effective, warn        what to believe
    assessing puts these in a row and returns an Assessment (assessment)
        |  check, verdict, marginals, thresholds, threshold_search
        |  planning, forecast, refits, label_choice           labels to come
        |  paired       several models on the same rows
    report, comparison_report, ..., plan_report, paired_report       a Document (blocks)
        |  cautions, provenance       warnings; what was assumed, how to reproduce it
        |  text, markdown, html, figures        show it; showing: how numbers are written
    values, tidy, frames, arviz_data            plain values, rows, data frames, draws
    plot, estimator, recipes
    cli finds the command, assess_command, plan_command, ...
        |  options, arguments, config, outputs, writing, colors, completion
"""

from os.path import abspath as _abspath

from ._version import __version__

__path__ = [_abspath(_path) for _path in __path__]  # modules are imported late: after a chdir, too

TYPE_CHECKING = False  # the name is known to type checkers; importing typing would cost 4 ms
if TYPE_CHECKING:
    from . import plot as plot
    from .assessing import assess as assess
    from .assessment import Assessment as Assessment
    from .check import parse_check as parse_check
    from .compare import Estimate as Estimate
    from .compare import Gap as Gap
    from .comparisons import Pair as Pair
    from .conjugate import beta_binomial as beta_binomial
    from .criteria import CRITERIA as CRITERIA
    from .data import ScoreData as ScoreData
    from .data import score_data as score_data
    from .diagnostics import gelman_rubin as gelman_rubin
    from .estimator import assess_estimator as assess_estimator
    from .gather import score_table as score_table
    from .label_choice import LabelChoice as LabelChoice
    from .label_choice import choose_labels as choose_labels
    from .metrics import METRICS as METRICS
    from .metrics import Metric as Metric
    from .metrics import cost as cost
    from .model import Prior as Prior
    from .model import calibrate as calibrate
    from .model import llo_prior as llo_prior
    from .paired import ModelComparison as ModelComparison
    from .paired import compare_models as compare_models
    from .planning import LabelPlan as LabelPlan
    from .planning import plan_labels as plan_labels
    from .posterior import Posterior as Posterior
    from .ratio import Ratio as Ratio
    from .simulation import simulate as simulate
    from .simultaneous import Simultaneous as Simultaneous
    from .sql import sql_query as sql_query
    from .stored import load_table as load_table
    from .summary import summarize as summarize
    from .table import ScoreTable as ScoreTable
    from .threshold_search import FoundThresholds as FoundThresholds
    from .threshold_search import find_threshold as find_threshold
    from .thresholds import ThresholdCurve as ThresholdCurve
    from .trust import Trust as Trust
    from .verdict import Verdict as Verdict

_HOMES = {
    "assessing": ("assess",),
    "assessment": ("Assessment",),
    "check": ("parse_check",),
    "compare": ("Estimate", "Gap"),
    "comparisons": ("Pair",),
    "conjugate": ("beta_binomial",),
    "criteria": ("CRITERIA",),
    "data": ("ScoreData", "score_data"),
    "diagnostics": ("gelman_rubin",),
    "estimator": ("assess_estimator",),
    "gather": ("score_table",),
    "label_choice": ("LabelChoice", "choose_labels"),
    "metrics": ("METRICS", "Metric", "cost"),
    "model": ("Prior", "calibrate", "llo_prior"),
    "paired": ("ModelComparison", "compare_models"),
    "planning": ("LabelPlan", "plan_labels"),
    "posterior": ("Posterior",),
    "ratio": ("Ratio",),
    "simulation": ("simulate",),
    "simultaneous": ("Simultaneous",),
    "sql": ("sql_query",),
    "stored": ("load_table",),
    "summary": ("summarize",),
    "table": ("ScoreTable",),
    "threshold_search": ("FoundThresholds", "find_threshold"),
    "thresholds": ("ThresholdCurve",),
    "trust": ("Trust",),
    "verdict": ("Verdict",),
}
__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `import lightfair` alone loads nothing."""
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    if name == "plot":  # a package of its own, which a host may have left out
        from importlib import import_module

        return import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
