"""The learned SQL writer: a question's links to skeleton, slots, sketch and confidence."""
