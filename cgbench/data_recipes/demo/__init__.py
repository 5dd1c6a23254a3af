"""The demo corpus: a German-English grammar, its lexicon, and what is planted."""
