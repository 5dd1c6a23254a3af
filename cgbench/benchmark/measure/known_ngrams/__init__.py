"""Known n-grams of a training text, and the degree of a sentence: how many of them cover it."""
