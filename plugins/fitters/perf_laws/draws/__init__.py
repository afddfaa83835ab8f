"""What the data leave open, as equally probable values."""
