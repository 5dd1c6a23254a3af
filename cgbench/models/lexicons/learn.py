"""Learn a lexicon from a corpus and write it (``cgbench lexicon learn``)."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from cgbench.argument_types import Bitext, File, as_path
from cgbench.errors import InputError
from cgbench.files import check_output
from cgbench.machine import check_memory
from cgbench.models.lexicons.bitext import BYTES_A_WORD
from cgbench.models.lexicons.lexicon import Learned, check_suffix, learn_lexicon
from cgbench.request import KW_ONLY, Request, accepts, option
from cgbench.text.formats import read_pairs
from cgbench.text.inputs import as_corpus
from cgbench.text.inspection import check_pairs
from cgbench.text.normalisation import PairOptions, TextAcceptance, normalise_pairs
from cgbench.text.word_counts import estimate_words


class LexiconRequest(Request):
    """What :func:`learn` is asked for."""

    open_field = "settings"
    corpus: Bitext = option(
        help="Training corpus: two files, or one with both sides",
    )
    out: File = option(
        "--out",
        help="Lexicon file, .json",
        group="Output",
    )
    _: KW_ONLY
    method: Literal["simple", "pmi", "ibm1", "ibm2", "bayesian"] = option(
        "--method",
        default="simple",
        help="Learning method",
        group="Method",
    )
    text: PairOptions = option(
        default=PairOptions(), help="How text is read and normalised (PairOptions)"
    )
    acceptance: TextAcceptance = option(
        default=TextAcceptance(), help="Whether wrong texts are read (TextAcceptance)"
    )
    settings: Mapping[str, Any] | None = option(
        default=None,
        help="Settings of the method",
    )


@accepts(LexiconRequest)
def learn(request: LexiconRequest) -> Learned:
    """Learn a lexicon as in Akyürek and Andreas (2021), and write it.

    :raises InputError: the corpus cannot be read, a setting is invalid, or the lexicon would be
        empty.
    """
    with TemporaryDirectory(prefix="cgbench-") as texts:  # for sentences in memory
        return _learn(request, Path(texts))


def _learn(request: LexiconRequest, texts: Path) -> Learned:
    out = as_path(request.out)
    spec = as_corpus(request.corpus, request.text.columns, "train", texts)
    check_output(out, spec.files)
    check_suffix(out)
    known = sum(estimate_words(path) or 0 for path in spec.paths)
    check_memory(
        f"{spec}: a lexicon of about {known:,} words",
        BYTES_A_WORD * known,
        "learn from a part of the text",
    )
    check_pairs(
        [spec],
        languages=request.text.corpus_options.languages,
        accept=request.acceptance.accept_text,
    )
    pairs = normalise_pairs(read_pairs(spec), request.text.normalisation_of(spec), str(spec))
    learned = learn_lexicon(request.method, pairs, request.settings)
    if not len(learned.lexicon):
        raise InputError(f"{spec}: method {request.method} finds no entries; nothing was written")
    learned.lexicon.save(out)
    return learned
