"""A whole Hugging Face encoder-decoder as our training loop sees a model, and its tokeniser as it sees subwords.

Ids are the model's own. The loop's batches are flat; the model reads them as grids with padding, which it is told of,
and its logits come back flat. What begins every output (a start token, a forced language code) is put before what the
decoder reads, and is no target.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.checksums import SUMS, digests_of, write_sums
from cgbench.errors import InputError
from cgbench.files import read_json, to_json, write_atomic
from cgbench.models.checkpoints import CONFIG, MODEL, OURS, CheckpointConfig, config_dict, write_tensors
from cgbench.models.external.adapters import save_adapter
from cgbench.models.external.hugging_face import HuggingFaceMember
from cgbench.models.external.loading import quietly
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import Hypothesis, length_limits

_IGNORED = -100  # no id


class TrainableModel(nn.Module):
    """A model that the loop trains: logits under teacher forcing, search, and its checkpoint.

    :param member: the model with its tokeniser; ``freeze``: see :class:`.config.outside.HuggingFaceConfig`.
    :param adapter: peft's model around it, where its adapter alone is trained (:func:`.adapters.add_adapter`).
    """

    def __init__(self, member: HuggingFaceMember, freeze: str = "none", adapter: Any = None) -> None:
        super().__init__()
        self._member = member
        self.inner: Any = member.model
        # No part of its own: it shares all with the model.
        self._adapter: list[Any] = [] if adapter is None else [adapter]
        self._begin = torch.from_numpy(member.prefix(np.zeros(0, np.int64)))
        self._tied = _second_names(self.inner)
        self.register_load_state_dict_pre_hook(self._bring_tied)
        for part in _frozen(self.inner, freeze):
            part.requires_grad_(False)

    @property
    def longest(self) -> int | None:
        """Tokens of the longest side that it has positions for; None where there is no limit."""
        most = self._member.most
        return None if most is None else most - len(self._begin) + 1

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, vocabulary] under teacher forcing.

        :param target: what our decoders read: a first id, which is not looked at, and the target but for its last.
        """
        read, mask = _grid(source.ids, source.layout.lengths)
        written, real = _grid(target.ids, target.layout.lengths)
        begin = self._begin.to(written.device).expand(len(written), -1)
        logits: Tensor = self.inner(
            input_ids=read,
            attention_mask=mask.long(),
            # Padding comes last, and a decoder looks back alone.
            decoder_input_ids=torch.cat((begin, written[:, 1:]), 1),
            use_cache=False,
        ).logits
        return logits[:, self._begin.numel() - 1 :][real]

    def search(self, source: Ragged, beam: int, extra: int) -> list[list[Hypothesis]]:
        """The best output of each sentence by transformers' ``generate``; scores are left out (0).

        :param extra: tokens that a translation may have beyond 1.2 times its source.
        """
        read = [part.cpu().numpy() for part in source.ids.split(source.layout.lengths.tolist())]
        found = self._member.search(read, length_limits(source.layout.lengths, 1.2, extra), beam)
        return [[Hypothesis(tokens, 0.0, 0.0)] for tokens in found]

    def save_checkpoint(
        self, folder: Path, config: CheckpointConfig, tensors: Mapping[str, Tensor], subwords: TokenizerText
    ) -> None:
        """Write a folder that transformers loads; ``config.json``, with ours in it, comes last."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (CONFIG, SUMS):
            (folder / name).unlink(missing_ok=True)
        made = folder / ".saving"
        shutil.rmtree(made, ignore_errors=True)
        given: dict[str, Any] = {}
        if self._adapter:
            self.load_state_dict(dict(tensors))
            with quietly():
                save_adapter(self._adapter[0], made)
            write_tensors(made / MODEL, tensors)  # by our names: the run may be made longer
        else:
            given = self._save_whole(made, tensors, subwords)
        text = to_json({**given, OURS: config_dict(config)} if given else config_dict(config))
        names = sorted(path.name for path in made.iterdir() if path.is_file() and path.name != CONFIG)
        for name in names:
            (made / name).replace(folder / name)
        shutil.rmtree(made)
        digests = digests_of(folder, names)
        write_sums(folder, {**digests, CONFIG: hashlib.sha256(text.encode()).hexdigest()})
        write_atomic(folder / CONFIG, text)

    def _save_whole(self, made: Path, tensors: Mapping[str, Tensor], subwords: TokenizerText) -> dict[str, Any]:
        """Write the files of a model; return its configuration."""
        weights = {name.removeprefix("inner."): tensor.detach().cpu() for name, tensor in tensors.items()}
        with quietly():
            self.inner.save_pretrained(made, state_dict=weights, max_shard_size="1000GB")  # one file
            subwords.save(made)
        config: dict[str, Any] = read_json(made / CONFIG)
        return config

    def state_dict(self, *arguments: Any, prefix: str = "", **options: Any) -> Any:
        """See :class:`torch.nn.Module`; what has several names has its first alone."""
        state = super().state_dict(*arguments, prefix=prefix, **options)
        for name in self._tied:
            del state[f"{prefix}inner.{name}"]
        if self._adapter:
            for name in [name for name in state if name.startswith(f"{prefix}inner.") and "lora_" not in name]:
                del state[name]
        return state

    def _bring_tied(self, module: nn.Module, state: dict[str, Any], prefix: str, *others: object) -> None:
        if self._adapter:
            for name, tensor in super().state_dict(prefix=prefix).items():
                state.setdefault(name, tensor)
            return
        for name, first in self._tied.items():
            state[f"{prefix}inner.{name}"] = state[f"{prefix}inner.{first}"]


class TokenizerText:
    """A tokeniser in the place of :class:`.text.subwords.Subwords`: the same ids on both sides, the model's own."""

    unit: Literal["subwords"] = "subwords"

    def __init__(self, member: HuggingFaceMember, digest: str) -> None:
        self._member, self.digest = member, digest
        self.source_size = self.target_size = int(member.model.get_output_embeddings().weight.shape[0])

    @property
    def largest(self) -> int:
        """The largest id."""
        return max(self._member.tokenizer.get_vocab().values())

    def encode_source(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line as the model reads it, in its template."""
        return self._member.read(list(lines))

    def encode_target(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line as the model writes it, the end token last."""
        return self._member.encode_targets(list(lines))

    def decode_target(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        return self._member.text(ids)

    def save(self, folder: Path) -> None:
        """Write the tokeniser's own files."""
        self._member.tokenizer.save_pretrained(folder)


def _grid(ids: Tensor, lengths: np.ndarray) -> tuple[Tensor, Tensor]:
    """Flat ids [N] as rows padded at the right, and where they are real, both [R, longest]."""
    # A padding id that every dictionary has; nothing attends to it, and nothing is learned from it.
    rows = nn.utils.rnn.pad_sequence(ids.split(lengths.tolist()), batch_first=True, padding_value=_IGNORED)
    real = rows != _IGNORED
    return rows.masked_fill(~real, 0), real


def _second_names(model: nn.Module) -> dict[str, str]:
    """Other names of tied parameters and buffers, and the first name of each."""
    first: dict[int, str] = {}
    found = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) in first:
            found[name] = first[id(tensor)]
        else:
            first[id(tensor)] = name
    return found


def _frozen(model: Any, what: str) -> list[nn.Module]:
    if what == "none":
        return []
    embeddings = model.get_input_embeddings()
    encoder = model.get_encoder()
    if what == "embeddings":
        return [part for part in (embeddings, encoder.get_input_embeddings()) if part is not None]
    return [encoder]


def check_fit(model: TrainableModel, text: TokenizerText, max_length: int, shown: str) -> None:
    """Check that every id of the tokeniser has an embedding, and the longest side that is trained on positions.

    :raises InputError: one has not.
    """
    if text.largest >= text.source_size:
        raise InputError(
            f"{shown}: its tokeniser is another model's: it has ids up to {text.largest:,}, and the model embeddings "
            f"of {text.source_size:,}"
        )
    if model.longest is not None and max_length > model.longest:
        raise InputError(
            f"training.max_length={max_length}: {shown} has positions for {model.longest} tokens; lower it"
        )
