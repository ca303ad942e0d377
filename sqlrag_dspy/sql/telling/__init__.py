"""What a query does, takes for granted, and why it found nothing, in plain words."""
