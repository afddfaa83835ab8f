"""Phases have names: by what the processors do in them."""
