"""The long table of an evaluation, and its forms."""
