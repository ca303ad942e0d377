"""Approximate search inside the allowed chunks, at a recall measured when it is built."""
