"""Diagnostics: posterior predictive check, selection of labels by score, all warnings."""
