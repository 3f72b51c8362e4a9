"""core/mcmc."""
