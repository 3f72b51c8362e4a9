"""Group fairness of a binary classifier from few labelled and many unlabelled scored rows."""

from ._version import __version__

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
