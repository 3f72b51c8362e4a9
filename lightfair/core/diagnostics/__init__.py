"""core/diagnostics."""
