"""Settings that follow from the size of the training corpus: filters, and updates of members."""

from collections.abc import Mapping
from itertools import islice

from cgbench.benchmark.build.react.build_inputs import Inputs
from cgbench.benchmark.build.react.request import BuildRequest
from cgbench.errors import argument, warn
from cgbench.models.config.presets import Preset
from cgbench.request import changed, flat_values, given_values
from cgbench.text.formats import read_pairs
from cgbench.text.normalisation import normalise_pairs

SMALL = 50_000  # training pairs below which LOOSER applies
LOOSER = {"word_min_count": 1, "min_length": 4}
"""Filters of the presets :data:`FOR_SMALL` for small training corpora: otherwise most pairs contain
a word that is too rare.
"""
FOR_SMALL = ("small", "laptop")
COUNTED = 200_000  # maximum pairs that are read for their number and length
SAMPLE = 1_000  # of them, evenly spaced, the pairs whose words are counted
SUBWORDS_PER_WORD = 1.25
WARM_UP = 8  # the warm-up is at most 1/8 of the updates


def fit_to_corpus(request: BuildRequest, inputs: Inputs, model: Preset) -> BuildRequest:
    """The request with the filters (:func:`loosen`) and the training (:func:`train_by_epochs`) that
    the training corpus asks for. Explicit settings stay.

    :param model: the preset of the members, with the changes of the request.
    """
    return train_by_epochs(loosen(request, inputs), inputs, model)


def loosen(request: BuildRequest, inputs: Inputs) -> BuildRequest:
    """The request with the filters :data:`LOOSER`, if the preset is one of :data:`FOR_SMALL` and
    the training corpus has fewer than :data:`SMALL` pairs. The counts of a larger corpus
    (``known_from``) stay.
    """
    explicit, settings = given_values(request), flat_values(request)
    looser = {
        key: value for key, value in LOOSER.items() if key not in explicit and value < settings[key]
    }
    if request.preset not in FOR_SMALL or not looser or inputs.known:
        return request
    pairs = sum(1 for _ in islice(read_pairs(inputs.train), SMALL))
    if pairs == SMALL:
        return request
    now = " ".join(f"{key}={value}" for key, value in looser.items())
    before = " ".join(argument(key, settings[key]) for key in looser)
    warn(
        f"{argument('preset', request.preset)}: {pairs:,} training pairs are fewer than {SMALL:,},"
        f" so the filters are loosened to {now}; to keep them, give {before}"
    )
    return changed(request, **looser)


def train_by_epochs(request: BuildRequest, inputs: Inputs, model: Preset) -> BuildRequest:
    """The request with the updates of ``epochs`` passes over the training corpus, if it has
    ``epochs``: at most those of the model's preset, with a warm-up in proportion.
    """
    epochs, settings = request.ensemble_options.epochs, dict(request.settings or {})
    if epochs is None or request.trained or "training.max_updates" in settings:
        return request
    # How many tokens has the corpus? Longer ones have more than enough.
    pairs = list(islice(read_pairs(inputs.train), COUNTED))
    count = min(SAMPLE, len(pairs))
    spread = (pairs[index * len(pairs) // count] for index in range(count))
    normalisation = request.text_options.normalisation_of(inputs.train)
    words = sum(
        max(len(side.split()) for side in pair)
        for pair in normalise_pairs(spread, normalisation, str(inputs.train))
    )
    tokens = len(pairs) * (SUBWORDS_PER_WORD * words / max(1, count) + 1)
    # A pass, in updates.
    training = model.training
    updates = round(epochs * tokens / (training.max_tokens * training.accumulation))
    updates = max(WARM_UP, min(updates, training.max_updates))
    fitted: Mapping[str, int] = {
        "training.max_updates": updates,
        "training.warmup_updates": min(training.warmup_updates, updates // WARM_UP),
    }
    return changed(request, settings={**fitted, **settings})
