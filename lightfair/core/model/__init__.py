"""Model: calibration curve, prior, discrepancy by region, likelihood."""
