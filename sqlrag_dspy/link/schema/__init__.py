"""Which tables of a large schema a question needs, and how they are joined."""
