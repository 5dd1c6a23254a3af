"""A second peer, if installed (``pip install ctranslate2``): MarianMT models by CTranslate2."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import ctranslate2
import numpy as np
from ctranslate2.converters.transformers import MarianMTLoader
from model_work import SOURCE_SIZE, TARGET_SIZE
from transformers import MarianMTModel

from cgbench.models.special_ids import EOS, PAD, UNK
from cgbench.models.text.batches import Rows

SPECIAL = {EOS: "</s>", PAD: "<pad>", UNK: "<unk>"}


def translator(
    models: Sequence[MarianMTModel], source: Rows, batches: Sequence[np.ndarray], threads: int
) -> Callable[[], None]:
    """A function that translates the batches by each of the models, one after another, several
    batches at a time.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = [_converted(model, Path(folder, str(i))) for i, model in enumerate(models)]
        loaded = [
            ctranslate2.Translator(path, inter_threads=threads, intra_threads=1) for path in paths
        ]
    rows = [[_word(number) for number in ids] for ids in np.split(source.ids, source.offsets[1:-1])]

    def translate() -> None:
        for model in loaded:
            # Without waiting, so that each thread has a batch.
            waiting = [
                model.translate_batch(
                    [rows[row] for row in batch],
                    beam_size=5,
                    max_decoding_length=int(source.lengths[batch].max()),
                    asynchronous=True,
                )
                for batch in batches
            ]
            for results in waiting:
                for result in results:
                    result.result()

    return translate


def _word(number: int) -> str:
    return SPECIAL.get(int(number), f"w{number}")


def _converted(model: MarianMTModel, path: Path) -> str:
    """A model as CTranslate2 reads it, whose words are numbers; its source has no padding, the last
    id of Marian's.
    """
    spec = MarianMTLoader().get_model_spec(model)
    spec.register_source_vocabulary(list(map(_word, range(SOURCE_SIZE - 1))))
    spec.register_target_vocabulary(list(map(_word, range(TARGET_SIZE))))
    spec.config.bos_token = spec.config.eos_token = spec.config.decoder_start_token = SPECIAL[EOS]
    spec.config.unk_token = SPECIAL[UNK]
    spec.validate()
    spec.optimize(quantization="float32")
    path.mkdir()
    spec.save(str(path))
    return str(path)
