"""Powers beyond which nothing can be told from anything; apart, since options import nothing heavy."""

MOST_EXPONENT, MOST_LOGARITHM = 6, 3
