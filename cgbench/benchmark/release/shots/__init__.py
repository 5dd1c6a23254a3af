"""Few-shot examples for prompts: chosen from training pairs, never from the test data."""
