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
                        Pair, Simultaneous, Verdict, ThresholdCurve; posterior -> Posterior;
                        its warnings are Python warnings, too -> FairnessWarning
    METRICS, Metric, cost           built-in metrics, user-defined ones, and costs of errors
    CRITERIA, parse_check           fairness criteria; a check as text, "tpr<=0.05"
    Prior, llo_prior, Trust         scales of the prior and of the discrepancy prior
    plan_labels         how many labels an interval takes -> LabelPlan
    choose_labels       which rows to label next -> LabelChoice
    compare_models      two to four models on the same rows -> ModelComparison
    find_threshold      thresholds at which groups have equal rates -> FoundThresholds
    audit_profile       tables of a rule on selection rates, as nyc-ll144 -> AuditProfile
    audit_record        the record of an audit, for programs
    assess_classes      three classes or more, each against the rest -> ClassesAssessment
    monitor             a check after every period, with one guarantee -> Monitoring
    within              gaps within strata, and their average -> ConditionalGaps
    assess_membership, membership, round_membership     groups known by chances of membership, of
                        rows, of an assessment of cells -> MembershipAssessment
    summarize, load_table           files of any size -> ScoreTable; a stored table
    ScoreTable          sufficient statistics of rows: tables add up, and assess takes them
    sql_query           the query that builds a table inside a database
    score_data, score_table         the two steps from columns to a table -> ScoreData, ScoreTable
    simulate, calibrate, beta_binomial, gelman_rubin    rows of known truth; single steps
    plot                lightfair.plot.differences(result, "tpr") and others, with matplotlib

Data flow; each package imports from those to the left of it only:

    core/data -> core/model -> core/mcmc -> core/metrics -> core/comparison -> core/diagnostics
      -> core (settings, fit, values, assessment, pipeline)     rows to an Assessment
      -> io | thresholds | planning | audit | model_comparison
      -> interop -> plot -> report -> api -> cli

The core can be copied into another code base; see its docstring. Reference by subject:
core.metrics.definitions (every metric: formula, source, names in other packages),
core.diagnostics.warnings (every warning), core.comparison (gaps, verdicts), thresholds, planning,
audit, model_comparison, io (files, SQL, tables), interop.tidy (columns of CSV and data frames).
"""

from os.path import abspath as _abspath

from .core import __version__ as __version__
from .core import lazy as _lazy

__path__ = [_abspath(_path) for _path in __path__]  # modules are imported late: after a chdir, too

TYPE_CHECKING = False  # the name is known to type checkers; importing typing would cost 4 ms
if TYPE_CHECKING:
    from . import plot as plot
    from .public import *  # noqa: F403

__getattr__ = _lazy(__name__)


def __dir__() -> list[str]:
    names: list[str] = __getattr__("__all__")  # type: ignore[assignment]
    return names
