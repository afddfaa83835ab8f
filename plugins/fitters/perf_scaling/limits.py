"""Powers beyond which nothing can be told from anything; apart, since options import nothing heavy."""

__all__ = ["MOST_EXPONENT", "MOST_LOGARITHM"]

MOST_EXPONENT, MOST_LOGARITHM = 6, 3
