"""What measurements leave open about a law: noise, drift, the law itself, and a level that deviates."""
