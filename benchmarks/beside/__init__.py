"""Networks of Whence beside other runtimes: candidates in processes of their own, tables, a chart."""
