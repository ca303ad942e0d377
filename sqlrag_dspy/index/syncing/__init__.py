"""A source's rows to an index: what changed, and nothing else."""
