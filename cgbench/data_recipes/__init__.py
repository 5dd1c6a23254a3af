"""Recipes: where a data set comes from and how it is prepared."""
