"""The public names of the core, imported together when one of them is first used."""

# ruff: noqa: F401
from .assessment import Assessment
from .comparison.gaps import CRITERIA, Pair, Simultaneous
from .comparison.verdict import Verdict, parse_check
from .data.rows import ScoreData, score_data
from .data.table import ScoreTable, score_table
from .mcmc.convergence import gelman_rubin
from .mcmc.posterior import Posterior
from .metrics.definitions import METRICS, Metric, cost
from .metrics.estimate import Estimate, Gap, Ratio
from .metrics.labels_only import beta_binomial
from .model.curve import Prior, calibrate, llo_prior
from .model.regions import Trust
from .pipeline import assess
from .simulation import simulate
