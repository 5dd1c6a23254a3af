"""What architectures are made of."""
