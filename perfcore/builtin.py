"""The core's own plugin: it adds nothing, since models and results report themselves."""
