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
    tidy, plot          every number in a row of its own; plots
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
    plot, estimator
    cli finds the command, assess_command, plan_command, ...
        |  options, arguments, config, outputs, writing, colors, completion
"""

from os.path import abspath as _abspath

from .core import __version__

__path__ = [_abspath(_path) for _path in __path__]  # modules are imported late: after a chdir, too

TYPE_CHECKING = False  # the name is known to type checkers; importing typing would cost 4 ms
if TYPE_CHECKING:
    from . import plot as plot
    from .api import Assessment as Assessment
    from .api import FoundThresholds as FoundThresholds
    from .api import LabelPlan as LabelPlan
    from .api import ModelComparison as ModelComparison
    from .api import assess as assess
    from .api import assess_estimator as assess_estimator
    from .api import compare_models as compare_models
    from .api import find_threshold as find_threshold
    from .api import plan_labels as plan_labels
    from .api import score_table as score_table
    from .core.comparison.check import parse_check as parse_check
    from .core.comparison.gaps import CRITERIA as CRITERIA
    from .core.comparison.gaps import Pair as Pair
    from .core.comparison.gaps import Simultaneous as Simultaneous
    from .core.comparison.verdict import Verdict as Verdict
    from .core.data.rows import ScoreData as ScoreData
    from .core.data.rows import score_data as score_data
    from .core.mcmc.convergence import gelman_rubin as gelman_rubin
    from .core.mcmc.posterior import Posterior as Posterior
    from .core.metrics.definitions import METRICS as METRICS
    from .core.metrics.definitions import Metric as Metric
    from .core.metrics.definitions import cost as cost
    from .core.metrics.estimate import Estimate as Estimate
    from .core.metrics.estimate import Gap as Gap
    from .core.metrics.estimate import Ratio as Ratio
    from .core.metrics.labels_only import beta_binomial as beta_binomial
    from .core.model.curve import Prior as Prior
    from .core.model.curve import calibrate as calibrate
    from .core.model.curve import llo_prior as llo_prior
    from .core.model.regions import Trust as Trust
    from .core.simulation import simulate as simulate
    from .io.sql import sql_query as sql_query
    from .io.summarize import summarize as summarize
    from .io.table import ScoreTable as ScoreTable
    from .io.table import load_table as load_table
    from .planning.choose import LabelChoice as LabelChoice
    from .planning.choose import choose_labels as choose_labels
    from .thresholds.curve import ThresholdCurve as ThresholdCurve

_HOMES = {
    "api": (
        "Assessment",
        "FoundThresholds",
        "LabelPlan",
        "ModelComparison",
        "assess",
        "assess_estimator",
        "compare_models",
        "find_threshold",
        "plan_labels",
        "score_table",
    ),
    "core.comparison.check": ("parse_check",),
    "core.comparison.gaps": (
        "CRITERIA",
        "Pair",
        "Simultaneous",
    ),
    "core.comparison.verdict": ("Verdict",),
    "core.data.rows": (
        "ScoreData",
        "score_data",
    ),
    "core.mcmc.convergence": ("gelman_rubin",),
    "core.mcmc.posterior": ("Posterior",),
    "core.metrics.definitions": (
        "METRICS",
        "Metric",
        "cost",
    ),
    "core.metrics.estimate": (
        "Estimate",
        "Gap",
        "Ratio",
    ),
    "core.metrics.labels_only": ("beta_binomial",),
    "core.model.curve": (
        "Prior",
        "calibrate",
        "llo_prior",
    ),
    "core.model.regions": ("Trust",),
    "core.simulation": ("simulate",),
    "io.sql": ("sql_query",),
    "io.summarize": ("summarize",),
    "io.table": (
        "ScoreTable",
        "load_table",
    ),
    "planning.choose": (
        "LabelChoice",
        "choose_labels",
    ),
    "thresholds.curve": ("ThresholdCurve",),
}
_MODULES = {"metrics": ".core.metrics.definitions", "tidy": ".interop.tidy", "plot": ".plot"}
__all__ = ["__version__", *sorted(name for names in _HOMES.values() for name in names)]


def __getattr__(name: str) -> object:
    """Import what is asked for when it is asked for: `import lightfair` alone loads nothing."""
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value = getattr(import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    if name in _MODULES:
        from importlib import import_module

        return import_module(_MODULES[name], __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
