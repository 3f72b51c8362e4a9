"""core/comparison."""
