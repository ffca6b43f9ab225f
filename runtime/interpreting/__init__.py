"""Programs of which only values decide some steps: control flow, texts and the language, which Python interprets."""
