"""The Explorer at work: models compiled and taken down as session documents, and served."""
