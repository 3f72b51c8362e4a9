"""lightfair beside other programs: each is run by the Python of its own environment."""
