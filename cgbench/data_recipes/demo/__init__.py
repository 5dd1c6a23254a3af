"""The demo corpus: a German-English grammar, and a pool with known noise."""
