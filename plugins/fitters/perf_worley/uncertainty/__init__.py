"""How sure breaks, levels and coefficients are."""
