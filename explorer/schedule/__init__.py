"""Views of schedules: drawings after TVM's TEDD (`tedd`), their data (`tedd_json`), and differences (`diff`)."""
