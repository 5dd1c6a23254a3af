"""What a model is called, made of and trained with: settings, papers, presets. No torch."""
