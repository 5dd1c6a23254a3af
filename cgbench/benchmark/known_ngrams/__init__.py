"""Known n-grams of a training text, and the degree of a sentence: how many of them it takes to cover it."""
