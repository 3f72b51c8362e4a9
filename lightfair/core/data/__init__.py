"""core/data."""
