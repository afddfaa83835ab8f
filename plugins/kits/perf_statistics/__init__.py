"""Least squares for many series at once, and tests of slower or not."""

# What models can be compared by: smaller is better.
CRITERIA = {
    "loo": "leave-one-out error: how well each point is predicted from the others",
    "aicc": "Akaike's information criterion, corrected for few points",
    "bic": "Bayes' information criterion",
    "sse": "sum of squared errors: rewards every further function",
}
