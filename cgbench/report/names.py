"""What the column names of a release mean, for the pages that show them."""

import re

from markupsafe import Markup

from cgbench.errors import printable

_IN_NATS = {
    "expected_entropy": "data uncertainty: mean entropy of the members' predictions",
    "entropy_of_expected": "total uncertainty: entropy of the members' mean prediction",
    "mutual_information": "knowledge uncertainty: total uncertainty minus data uncertainty",
    "epkl": "knowledge uncertainty: mean KL divergence between two members",
    "rmi": "knowledge uncertainty: reverse mutual information, how far the members disagree",
    "token_du": "mean over members of the tokens' negative log-probability",
    "token_pe_tu": "negative log of the tokens' mean probability",
    "token_pe_mkl": "token_du minus token_pe_tu",
    "pe_stu": "negative log-likelihood per token under the ensemble",
    "sdu": "mean over members of the negative log-likelihood per token",
    "pe_smkl": "sdu minus pe_stu",
    "log_prob": "log-probability of the whole translation under the ensemble",
    "reverse_pe_stu": "negative log-likelihood of the source given the target, per token",
    "dual_cross_entropy": "dual conditional cross-entropy of the pair (Junczys-Dowmunt 2018)",
    "joint_cross_entropy": "negative log-probability of source and target together, per word",
}
_MEANING = _IN_NATS | {
    "degree": (
        "compositional degree: the smallest number of known n-grams that cover the sentence, over"
        " its length"
    ),
    "source_length": "words in the source",
    "target_length": "words in the target",
    "pieces": "number of known n-grams in the smallest cover",
    "source_rarest": (
        "how often the rarest word of the source occurs in training (0: too rare to be known)"
    ),
    "target_rarest": (
        "how often the rarest word of the target occurs in training (0: too rare to be known)"
    ),
    "rank": "place by uncertainty among the candidates; 1 is the most uncertain",
    "difficulty": "difficulty that an external program gave the pair",
    "perplexity": "perplexity per token under the language model",
    "var": "variance over members of the probability, normalised by length",
    "combo": "var over the mean probability, minus 1",
    "logvar": "variance over members of the log-probability per token",
    "logcombo": "logvar over the mean log-probability, minus 1",
    "reference_pe_stu": (
        "how unlikely the ensemble finds the given translation: negative log-likelihood per token"
    ),
}


def meaning(name: str) -> str:
    """The definition of a column; empty for a name that is not one of ours."""
    if name in _MEANING:
        return _MEANING[name]
    if name.startswith("reference_"):
        base, of = meaning(name.removeprefix("reference_")), "of the given translation"
    else:
        base = _MEANING.get(name.replace("ep_", "pe_", 1)) or _MEANING.get(
            name.replace("ep_", "", 1), ""
        )
        of = "members weighted by the probability they give to the preceding words"
    return f"{base}; {of}" if base else ""


def in_words(name: str) -> str:
    """A column in words, with its name: ``Knowledge uncertainty (rmi)``; the name if there are
    none.
    """
    words, colon, _ = meaning(name).partition(": ")
    return f"{words[0].upper()}{words[1:]} ({name})" if colon else name


def with_unit(name: str) -> str:
    """The name of a column with its unit: likelihoods and entropies are in nats, most of them per
    token.
    """
    base = name.removeprefix("reference_").replace("ep_", "pe_", 1)
    return f"{name} (nats)" if base in _IN_NATS else name


def with_meanings(text: str) -> Markup:
    """Text in which each column name has its definition as a tooltip; long names may wrap."""
    words = re.split(r"(\w+)", printable(text))
    return Markup("").join(
        (
            Markup('<abbr title="{}">{}</abbr>').format(
                about, Markup("_<wbr>").join(word.split("_"))
            )
            if (about := meaning(word))
            else word
        )
        for word in words
    )
