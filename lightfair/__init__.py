"""Group fairness of a binary classifier from few labeled and many unlabeled scored rows.

Can I trust my fairness metric? lightfair reports the posterior of every group metric and of every
difference between groups, by the method of Ji, Smyth and Steyvers (NeurIPS 2020, arXiv 2010.09851):

    >>> import lightfair as lf
    >>> rows = lf.simulate(rows=2000, labeled=100, rng=1)
    >>> result = lf.assess(rows.y_true, rows.y_score, sensitive_features=rows.group, rng=1)
    >>> delta = result.difference("tpr", "B", "A")
    >>> print("{:.2f} [{:.2f}, {:.2f}]".format(delta.mean, *delta.interval(0.95)))
    0.11 [0.01, 0.21]

print(result) shows the report. The names by purpose; help(lightfair.assess) and the like say more:

    assess, assess_estimator        rows, a table, or a fitted model and its X -> Assessment
    Assessment          the report; metric, difference, ratio, check, ... -> Estimate, Ratio, Gap,
                        Pair, Simultaneous, Verdict, ThresholdCurve; posterior -> Posterior
    METRICS, Metric, cost           built-in metrics, user-defined ones, and costs of errors
    CRITERIA, parse_check           fairness criteria; a check as text, "tpr<=0.05"
    Prior, llo_prior, Trust         scales of the prior and of the discrepancy prior
    plan_labels         how many labels an interval takes -> LabelPlan
    choose_labels       which rows to label next -> LabelChoice
    compare_models      two to four models on the same rows -> ModelComparison
    find_threshold      thresholds at which groups have equal rates -> FoundThresholds
    summarize, load_table           files of any size -> ScoreTable; a stored table
    ScoreTable          sufficient statistics of rows: tables add up, and assess takes them
    sql_query           the query that builds a table inside a database
    score_data, score_table         the two steps from columns to a table -> ScoreData, ScoreTable
    simulate, calibrate, beta_binomial, gelman_rubin    rows of known truth; single steps
    plot                lightfair.plot.differences(result, "tpr") and others, with matplotlib

Data flow; each package imports from those to the left of it only:

    core/data -> core/model -> core/mcmc -> core/metrics -> core/comparison -> core/diagnostics
      -> core (settings, fit, values, assessment, pipeline)     rows to an Assessment
      -> io | thresholds | planning | model_comparison
      -> interop -> plot -> report -> api -> cli

The core can be copied into another code base; see its docstring. Reference by subject:
core.metrics.definitions (every metric: formula, source, names in other packages),
core.diagnostics.warnings (every warning), core.comparison (gaps, verdicts), thresholds, planning,
model_comparison, io (files, SQL, stored tables), interop.tidy (columns of CSV and data frames).
"""

from importlib import import_module as _import
from os.path import abspath as _abspath

from .core import HOMES, __version__
from .core import lazy as _lazy

__path__ = [_abspath(_path) for _path in __path__]  # modules are imported late: after a chdir, too

TYPE_CHECKING = False  # the name is known to type checkers; importing typing would cost 4 ms
if TYPE_CHECKING:
    from . import plot as plot
    from .api import Assessment as Assessment
    from .api import FairnessWarning as FairnessWarning
    from .api import FoundThresholds as FoundThresholds
    from .api import LabelPlan as LabelPlan
    from .api import ModelComparison as ModelComparison
    from .api import assess as assess
    from .api import assess_estimator as assess_estimator
    from .api import compare_models as compare_models
    from .api import find_threshold as find_threshold
    from .api import plan_labels as plan_labels
    from .api import score_table as score_table
    from .core.comparison.gaps import CRITERIA as CRITERIA
    from .core.comparison.gaps import Pair as Pair
    from .core.comparison.gaps import Simultaneous as Simultaneous
    from .core.comparison.verdict import Verdict as Verdict
    from .core.comparison.verdict import parse_check as parse_check
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
        "FairnessWarning",
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
    "io.sql": ("sql_query",),
    "io.summarize": ("summarize",),
    "io.table": ("ScoreTable", "load_table"),
    "planning.choose": ("LabelChoice", "choose_labels"),
    "thresholds.curve": ("ThresholdCurve",),
    **{f"core.{home}": names for home, names in HOMES.items()},  # those of api come first
}
_MODULES = {"metrics": ".core.metrics.definitions", "tidy": ".interop.tidy", "plot": ".plot"}
__all__ = ["__version__", *sorted({name for names in _HOMES.values() for name in names})]


_first_use = _lazy(__name__, _HOMES)


def __getattr__(name: str) -> object:
    """Import a name when it is first used: `import lightfair` alone loads nothing."""
    return _import(_MODULES[name], __name__) if name in _MODULES else _first_use(name)


def __dir__() -> list[str]:
    return sorted(__all__)
