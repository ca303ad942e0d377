"""The first wall: what is not known to be harmless is refused, with advice."""
