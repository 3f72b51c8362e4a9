"""The measurements behind the figures that lightfair prints: `python -m bench` lists them."""
