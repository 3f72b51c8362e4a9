# PYTHON_ARGCOMPLETE_OK
"""`python -m lightfair` is the command `lightfair`."""

from .cli import run

run()
