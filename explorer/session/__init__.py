"""The session document, what is recorded in it, and what reads it."""
