"""Programs as plain data, TVM's graphs, the executors and threads that run both, and the ways to call a model."""
