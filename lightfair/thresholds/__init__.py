"""thresholds."""
