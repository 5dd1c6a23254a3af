"""Which target words a source word stands for: learners, files, matrix, picture."""
