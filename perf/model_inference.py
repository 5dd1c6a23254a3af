"""Speed of beam search against a peer, and what measures of uncertainty add to the forward passes
they need.
"""

import importlib.util
from typing import Any
from unittest import mock

import numpy as np
import torch
from model_work import SOURCE_SIZE, TARGET_SIZE, Setting, in_turn, padded, sentences, spread

from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset
from cgbench.models.ensemble import Ensemble
from cgbench.models.parts.cpu import packed
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import beam_search
from cgbench.models.search_settings import SearchSettings
from cgbench.models.special_ids import EOS, PAD
from cgbench.models.teacher_forcing import score_hypotheses
from cgbench.models.text.batches import Rows, make_batches

LENGTH = 25
CANDIDATES = 60_000
MANY = 3000


def decode(setting: Setting) -> list[tuple[str, str, str]]:
    """Beam search with 5 hypotheses; neither side may end before it has as many tokens as the
    source.
    """
    from marian import build

    config = load_preset("transformer_iwslt").model
    count = setting.on_gpu(128, 32)
    rng = np.random.default_rng(0)
    rows = [np.append(rng.integers(4, SOURCE_SIZE, LENGTH - 1), EOS) for _ in range(count)]
    source = Ragged.pack(rows, setting.device)
    ids = padded(source, PAD)
    torch.manual_seed(0)
    ours = build_model(config, SOURCE_SIZE, TARGET_SIZE).eval()
    theirs = build(config, "cpu").eval()
    # The end token is as likely as a word of the middle, and never among the best.
    for embedding in (ours.target_embedding, theirs.get_decoder().get_input_embeddings()):
        with torch.no_grad():
            embedding.weight[EOS] = 0
    ours, theirs = ours.to(setting.device), theirs.to(setting.device)

    def search() -> None:
        with setting.autocast():
            found = beam_search(
                [ours],
                source,
                SearchSettings(beam=5, max_length_ratio=0.0, max_length_extra=LENGTH - 1),
            )
        assert {len(one.tokens) for sentence in found for one in sentence} == {LENGTH}

    def generate() -> None:
        with torch.inference_mode(), setting.autocast():
            found = theirs.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=5,
                max_new_tokens=LENGTH,
                do_sample=False,
                early_stopping=True,
                length_penalty=1.0,
            )
        assert found.shape == (count, 1 + LENGTH)

    def unpacked() -> None:
        with mock.patch.object(packed, "onednn_is_faster", lambda: False):
            search()

    ways = {"ours": search, "theirs": generate}
    others = {"weights that are not packed": unpacked} if packed.onednn_is_faster() else {}
    ways |= others if setting.device == "cpu" else {}
    series = in_turn(ways, setting, setting.repeat)
    speed = {name: count * LENGTH / series.median(name) for name in ("ours", "theirs")}
    return [
        (
            f"beam 5, {count} sentences of {LENGTH} tokens",
            (
                f"{speed['ours']:,.0f} target tokens/s = {spread(series.ratios('theirs', 'ours'))}"
                f" x MarianMT's `generate` ({speed['theirs']:,.0f})"
            ),
            "3 x" if setting.device != "cpu" else "1.5 x",
        ),
        *(
            (f"the same against {name}", f"{spread(series.ratios(name, 'ours'))} x", "")
            for name in others
            if name in ways
        ),
    ]


class _Ids:
    """In place of subwords: sentences are numbers of rows, and translations stay ids."""

    def __init__(self, rows: Rows) -> None:
        self.rows = np.split(rows.ids, rows.offsets[1:-1])

    def encode_source(self, lines: list[int]) -> list[np.ndarray]:
        """The ids of rows."""
        return [self.rows[line] for line in lines]

    def decode_target(self, ids: list[int]) -> str:
        """The ids as text."""
        return " ".join(map(str, ids))


def translate(setting: Setting) -> list[tuple[str, str, str]]:
    """Beam search by an ensemble of three models of ``laptop``, a batch per thread, against three
    models of MarianMT, and of CTranslate2 if it is installed, one after another.

    Every translation is as long as its source; the peers pad their batches of like lengths.
    """
    from marian import build

    config = load_preset("laptop").model
    source, _ = sentences(MANY, seed=2, mean=12.0)
    members, peers = [], []
    for seed in range(3):
        torch.manual_seed(seed)
        members.append(build_model(config, SOURCE_SIZE, TARGET_SIZE).eval())
        peers.append(build(config, "cpu").eval())
        for embedding in (members[-1].target_embedding, peers[-1].get_decoder().embed_tokens):
            with torch.no_grad():
                embedding.weight[EOS] = 0
    ensemble = Ensemble(tuple(members), _Ids(source), torch.device("cpu"), 1000)  # type: ignore[arg-type]
    threads = torch.get_num_threads()
    limit: dict[str, Any] = {"max_length_ratio": 1.0, "max_length_extra": 0}
    batches = make_batches(source.lengths, source.lengths, np.arange(MANY), 1024)

    def ours() -> None:
        ensemble.search(range(MANY), **limit, jobs=threads)  # type: ignore[arg-type]

    @torch.inference_mode()
    def theirs() -> None:
        for peer in peers:
            for batch in batches:
                ids = padded(source.take(batch), PAD)
                peer.generate(
                    input_ids=ids,
                    attention_mask=(ids != PAD).long(),
                    num_beams=5,
                    max_new_tokens=int(source.lengths[batch].max()),
                    do_sample=False,
                    early_stopping=True,
                )

    some = list(range(0, MANY, MANY // 20))
    alone = [ensemble.search([line], **limit)[0][0].text for line in some]  # type: ignore[list-item]
    together = ensemble.search(some, **limit, jobs=threads)  # type: ignore[arg-type]
    assert alone == [hypotheses[0].text for hypotheses in together]
    ways = {"ours": ours, "MarianMT's `generate`": theirs}
    if importlib.util.find_spec("ctranslate2"):
        from ctranslate import translator

        ways["CTranslate2"] = translator(peers, source, batches, threads)
    series = in_turn(ways, setting, 1, warm=0)
    what = f"three members of `laptop`, beam 5, {MANY:,} sentences, {threads} threads"
    return [
        (
            f"{what}, against {name} one after another",
            f"{series.median('ours'):.1f} s = {series.ratio(name, 'ours'):.2f} x {name}",
            "1 x",
        )
        for name in ways
        if name != "ours"
    ]


def uncertainty(setting: Setting) -> list[tuple[str, str, str]]:
    """All measures with ten members on a sample, against ten plain teacher-forced passes over the
    same batches.

    A plain pass is the forward pass and the log-softmax of its logits.
    """
    config = load_preset("transformer_iwslt").model
    count = setting.on_gpu(2000, 100)
    source, target = sentences(count, seed=1)
    members = []
    for seed in range(10):
        torch.manual_seed(seed)
        members.append(build_model(config, SOURCE_SIZE, TARGET_SIZE).to(setting.device).eval())
    sources, targets = (np.split(side.ids, side.offsets[1:-1]) for side in (source, target))
    batch_tokens = setting.on_gpu(16_384, 1024)

    def score() -> None:
        score_hypotheses(
            members, sources, targets, batch_tokens=batch_tokens, device=setting.device
        )

    @torch.inference_mode()
    def plain() -> None:
        for batch in make_batches(source.lengths, target.lengths, np.arange(count), batch_tokens):
            pair = source.take(batch, setting.device), target.take(batch, setting.device).shifted()
            for member in members:
                torch.log_softmax(member(*pair), 1)

    series = in_turn({"score": score, "plain": plain}, setting, setting.repeat)
    hours = series.median("score") * CANDIDATES / count / 3600
    return [
        (
            f"uncertainty with 10 members, {count} of {CANDIDATES:,} candidates",
            (
                f"{series.median('score'):.1f} s = {spread(series.ratios('score', 'plain'))} x ten"
                f" passes; {hours:.1f} h for all"
            ),
            "1.15 x",
        )
    ]
