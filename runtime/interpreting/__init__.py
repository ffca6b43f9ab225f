"""Programs that Python interprets because values decide some steps: control flow, texts and the language."""
