"""Rows in, table out: columns are checked, encoded, and summed on the logit axis."""
