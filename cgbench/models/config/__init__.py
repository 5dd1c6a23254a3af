"""Configuration of models and training: settings, papers, presets; without torch."""
