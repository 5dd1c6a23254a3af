"""Adapt a Hugging Face encoder-decoder and its tokeniser to our training loop.

Ids are the model's own. The loop's flat batches become padded grids with a mask, and the logits
become flat again. The tokens that begin every output (a start token, a forced language code) are
decoder inputs but not targets.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from cgbench.checksums import SUMS
from cgbench.errors import InputError
from cgbench.files import read_json
from cgbench.models.checkpoints import (
    CONFIG,
    MODEL,
    OURS,
    CheckpointConfig,
    config_dict,
    seal_checkpoint,
    write_tensors,
)
from cgbench.models.external.adapters import save_adapter
from cgbench.models.external.hugging_face import HuggingFaceMember
from cgbench.models.external.loading import quietly
from cgbench.models.parts.ragged import Ragged
from cgbench.models.search import Translation
from cgbench.models.search_settings import SearchSettings

_IGNORED = -100  # not an id


class TrainableModel(nn.Module):
    """A model that the loop trains: logits under teacher forcing, search, and its checkpoint.

    :param member: the model with its tokeniser; ``freeze``: see
        :class:`.config.architectures.HuggingFaceConfig`.
    :param adapter: peft's wrapper, if only the adapter is trained (:func:`.adapters.add_adapter`).
    """

    def __init__(
        self, member: HuggingFaceMember, freeze: str = "none", adapter: Any = None
    ) -> None:
        super().__init__()
        self._member = member
        self.inner: Any = member.model
        # In a list, so that it is not a submodule: it shares all parameters with the model.
        self._adapter: list[Any] = [] if adapter is None else [adapter]
        self._begin = torch.from_numpy(member.prefix(np.zeros(0, np.int64)))
        self._tied = _second_names(self.inner)
        self.register_load_state_dict_pre_hook(self._add_tied)
        for module in _frozen(self.inner, freeze):
            module.requires_grad_(False)

    @property
    def longest(self) -> int | None:
        """Maximum tokens of a side, by the model's positions; None: no limit."""
        most = self._member.most
        return None if most is None else most - len(self._begin) + 1

    def forward(self, source: Ragged, target: Ragged) -> Tensor:
        """Return logits [N, vocabulary] under teacher forcing.

        :param target: the input of our decoders: a first id, which is ignored, and the target
            without its last token.
        """
        read, mask = _grid(source.ids, source.layout.lengths)
        written, real = _grid(target.ids, target.layout.lengths)
        begin = self._begin.to(written.device).expand(len(written), -1)
        logits: Tensor = self.inner(
            input_ids=read,
            attention_mask=mask.long(),
            # No decoder mask: padding is on the right and attention is causal.
            decoder_input_ids=torch.cat((begin, written[:, 1:]), 1),
            use_cache=False,
        ).logits
        return logits[:, self._begin.numel() - 1 :][real]

    def search(self, source: Ragged, settings: SearchSettings) -> list[list[Translation]]:
        """The best output of each sentence by transformers' ``generate``, without scores (0)."""
        read = [ids.cpu().numpy() for ids in source.ids.split(source.layout.lengths.tolist())]
        outputs = self._member.search(read, settings.limits(source.layout.lengths), settings)
        return [[Translation("", tokens, 0.0, 0.0)] for tokens in outputs]

    def save_checkpoint(
        self,
        folder: Path,
        config: CheckpointConfig,
        tensors: Mapping[str, Tensor],
        subwords: TokenizerText,
    ) -> None:
        """Write a folder that transformers loads; ``config.json``, which includes our
        configuration, comes last.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name in (CONFIG, SUMS):
            (folder / name).unlink(missing_ok=True)
        temporary = folder / ".saving"
        shutil.rmtree(temporary, ignore_errors=True)
        model_config: dict[str, Any] = {}
        if self._adapter:
            self.load_state_dict(dict(tensors))
            with quietly():
                save_adapter(self._adapter[0], temporary)
            write_tensors(
                temporary / MODEL, tensors
            )  # with our names, so that the run can be extended
        else:
            weights = {
                name.removeprefix("inner."): tensor.detach().cpu()
                for name, tensor in tensors.items()
            }
            with quietly():
                self.inner.save_pretrained(
                    temporary, state_dict=weights, max_shard_size="1000GB"
                )  # one file
                subwords.save(temporary)
            model_config = read_json(temporary / CONFIG)
        names = sorted(
            path.name for path in temporary.iterdir() if path.is_file() and path.name != CONFIG
        )
        for name in names:
            (temporary / name).replace(folder / name)
        shutil.rmtree(temporary)
        own_config = config_dict(config)
        seal_checkpoint(
            folder, names, {**model_config, OURS: own_config} if model_config else own_config
        )

    def state_dict(self, *arguments: Any, prefix: str = "", **options: Any) -> Any:
        """See :class:`torch.nn.Module`; tied tensors are listed once, under their first name."""
        state = super().state_dict(*arguments, prefix=prefix, **options)
        for name in self._tied:
            del state[f"{prefix}inner.{name}"]
        if self._adapter:
            for name in [
                name for name in state if name.startswith(f"{prefix}inner.") and "lora_" not in name
            ]:
                del state[name]
        return state

    def _add_tied(
        self, module: nn.Module, state: dict[str, Any], prefix: str, *rest_of_hook: object
    ) -> None:
        if self._adapter:
            for name, tensor in super().state_dict(prefix=prefix).items():
                state.setdefault(name, tensor)
            return
        for name, first in self._tied.items():
            state[f"{prefix}inner.{name}"] = state[f"{prefix}inner.{first}"]


class TokenizerText:
    """A tokeniser with the interface of :class:`.text.subwords.Subwords`; both sides have the
    model's ids.
    """

    unit: Literal["subwords"] = "subwords"

    def __init__(self, member: HuggingFaceMember, digest: str) -> None:
        self._member, self.digest = member, digest
        self.source_size = self.target_size = int(
            member.model.get_output_embeddings().weight.shape[0]
        )

    @property
    def largest(self) -> int:
        """The largest id."""
        return max(self._member.tokenizer.get_vocab().values())

    def encode_source(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line in the prompt template."""
        return self._member.read(list(lines))

    def encode_target(self, lines: Iterable[str]) -> list[np.ndarray]:
        """Ids of each line with the end token."""
        return self._member.encode_targets(list(lines))

    def decode_target(self, ids: Sequence[int]) -> str:
        """The text of an output."""
        return self._member.text(ids)

    def save(self, folder: Path) -> None:
        """Write the tokeniser's files."""
        self._member.tokenizer.save_pretrained(folder)


def _grid(ids: Tensor, lengths: np.ndarray) -> tuple[Tensor, Tensor]:
    """Flat ids [N] as rows padded on the right, and the mask of real ids, both [R, longest];
    padding has id 0.
    """
    rows = nn.utils.rnn.pad_sequence(
        ids.split(lengths.tolist()), batch_first=True, padding_value=_IGNORED
    )
    real = rows != _IGNORED
    return rows.masked_fill(~real, 0), real


def _second_names(model: nn.Module) -> dict[str, str]:
    """Further names of tied parameters and buffers, mapped to the first name."""
    first: dict[int, str] = {}
    aliases = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) in first:
            aliases[name] = first[id(tensor)]
        else:
            first[id(tensor)] = name
    return aliases


def _frozen(model: Any, choice: str) -> list[nn.Module]:
    if choice == "none":
        return []
    embeddings = model.get_input_embeddings()
    encoder = model.get_encoder()
    if choice == "embeddings":
        return [
            module for module in (embeddings, encoder.get_input_embeddings()) if module is not None
        ]
    return [encoder]


def check_fit(model: TrainableModel, text: TokenizerText, max_length: int, label: str) -> None:
    """Check that the model has embeddings for the tokeniser's ids and positions for the longest
    training sentence.
    """
    if text.largest >= text.source_size:
        raise InputError(
            f"{label}: the tokeniser belongs to another model: it has ids up to {text.largest:,},"
            f" but the model has {text.source_size:,} embeddings"
        )
    if model.longest is not None and max_length > model.longest:
        raise InputError(
            f"training.max_length={max_length}: {label} has positions for {model.longest} tokens;"
            " lower it"
        )
