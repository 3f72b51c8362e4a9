"""Rows to an Assessment with numpy, scipy and numba alone: this folder can be copied elsewhere."""

__version__ = "0.1.0"
