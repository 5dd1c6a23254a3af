"""Settings of the lexical translation mechanism of several architectures; without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cgbench.errors import InputError, argument
from cgbench.settings import option

WITH_FILE = ("hard", "soft", "learned")


@dataclass(frozen=True)
class LexicalConfig:
    """Lexical translation in the output layer (Akyürek and Andreas, 2021)."""

    lexicon: Literal["none", "copy", "hard", "soft", "learned", "uniform"] = option(
        "none",
        "Source of word translations: ``none``; ``copy`` (words of both vocabularies translate to themselves); from a "
        "lexicon file, ``hard`` (one word each), ``soft`` (distributions) or ``learned`` (distributions trained "
        "further with the model); or learned without a file from a ``uniform`` start",
    )  # fmt: skip
    lexicon_temperature: float = option(
        0.1, "Temperature of the distributions of a soft lexicon; half the ``soft_temp`` of the authors' code", above=0
    )

    @property
    def needs_lexicon(self) -> bool:
        """Whether the model needs a lexicon file."""
        return self.lexicon in WITH_FILE

    @property
    def lexicon_is_learned(self) -> bool:
        """Whether the lexicon is trained with the model."""
        return self.lexicon in ("learned", "uniform")

    @property
    def projects_states(self) -> bool:
        """See :class:`.common.ModelConfig`."""
        return self.lexicon == "none"

    @property
    def lexicon_is_one_word(self) -> bool:
        """Whether every source word has at most one translation."""
        return self.lexicon in ("copy", "hard")


def check_lexicon(model: object, lexicon: object) -> None:
    """Check that there is a lexicon file if, and only if, a model needs one.

    :param model: any model's configuration; ``lexicon``: the file, or None.
    """
    needed = isinstance(model, LexicalConfig) and model.needs_lexicon
    if needed and lexicon is None:
        raise InputError(
            f"model.lexicon={getattr(model, 'lexicon', '')}: needs a lexicon; make one with cgbench lexicon learn, and "
            f"add it with {argument('lexicon')}"
        )
    if lexicon is not None and not needed:
        raise InputError(f"{lexicon}: this model uses no lexicon; set model.lexicon to {', '.join(WITH_FILE)}")
