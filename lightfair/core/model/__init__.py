"""core/model."""
