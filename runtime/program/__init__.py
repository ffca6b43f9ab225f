"""Programs as plain data, TVM's graphs, and what runs both: executors, threads, and the ways to call a model."""
