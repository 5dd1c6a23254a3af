"""The demo corpus: a German-English grammar, its lexicon, and a pool with known noise."""
