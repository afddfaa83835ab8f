"""Which laws the data support: hypotheses, noise, posterior."""
