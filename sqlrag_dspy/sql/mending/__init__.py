"""Statements whose names and literals do not fit, made to fit where the catalog knows how."""
