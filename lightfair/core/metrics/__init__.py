"""core/metrics."""
