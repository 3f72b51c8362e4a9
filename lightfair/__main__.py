"""`python -m lightfair` is the command `lightfair`."""

from .cli.main import run

run()
