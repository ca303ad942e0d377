"""Queries back into the sketches that would write them."""
