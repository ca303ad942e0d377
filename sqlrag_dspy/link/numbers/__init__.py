"""Numbers, comparisons, amounts and ranks in questions: found, and tied to columns."""
