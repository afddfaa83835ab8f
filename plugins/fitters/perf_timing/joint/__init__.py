"""All codes on all systems at once (Strohmaier)."""
