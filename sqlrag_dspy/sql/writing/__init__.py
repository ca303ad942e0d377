"""Sketches to SQL, as expressions."""
