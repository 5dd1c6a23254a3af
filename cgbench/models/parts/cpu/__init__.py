"""Operations as a CPU does them best, many with gradients written by hand; the plain definition of each, with the same
name, is in the module of the same name one folder up, and :mod:`cgbench.models.parts.forms` chooses."""
