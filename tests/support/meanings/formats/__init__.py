"""Models of each format, written node by node without any framework."""
