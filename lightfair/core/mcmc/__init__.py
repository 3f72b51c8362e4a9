"""MCMC: Gaussian surrogate, moves in NumPy and compiled, sampler, convergence, Posterior."""
