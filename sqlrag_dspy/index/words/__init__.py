"""The lexical side: words, their spellings, and what they are worth."""
