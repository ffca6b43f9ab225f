"""Questions to a session document: flat tables of what is in it, a small language over them, and answers."""
