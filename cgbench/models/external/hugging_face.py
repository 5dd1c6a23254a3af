"""A Hugging Face model as a member: encoder-decoder (Marian, NLLB, M2M100, mBART, T5, BART), or decoder-only.

What such models do differently, and is made alike here: how an output begins (a start token, a language code that is
forced, a prompt) is no part of a target; padding never meets a real token; a limit of length is the sentence's own, so
that no translation depends on its batch; settings that come with a model (``generation_config.json``) do not decide
what was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cgbench.errors import InputError, argument
from cgbench.models.devices import one_thread
from cgbench.models.ensemble import Translation
from cgbench.models.external.addresses import PLACE
from cgbench.models.external.generation import generate
from cgbench.models.external.member import Done, Head, check_lengths, in_order
from cgbench.models.search import length_limits
from cgbench.models.text.batches import make_batches
from cgbench.models.text.tokenized import tokenizer_fault

ALMOST = 1e-3  # how far the last layer by itself may be from the model's own logits, relative to the largest


class HuggingFaceMember:
    """A loaded model with its tokeniser.

    :param model: in evaluation mode, on ``device``.
    :param template: what a model reads, ``{source}`` being the sentence; None: the sentence as it is.
    :param special_tokens: whether the tokeniser adds its own to what is read; a chat template has them.
    :param source: language codes, of models that translate between several; ``target``: likewise.
    :param shown: what messages call the model.
    :raises InputError: a language code is none of the tokeniser's, or a decoder-only model has no template.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        template: str | None = None,
        special_tokens: bool = True,
        source: str | None = None,
        target: str | None = None,
        device: str = "cpu",
        shown: str = "the model",
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self._template, self._special_tokens = template, special_tokens
        self._device, self._shown = torch.device(device), shown
        config, settings = model.config, model.generation_config
        self._encodes = bool(config.is_encoder_decoder)
        if not self._encodes and template is None:
            raise InputError(
                f"{shown}: a model without an encoder reads the sentence in a prompt: give one with "
                f"{argument('prompt')}, such as "
                f"'German: {PLACE}\\nEnglish:', or prompt=FILE behind a ?"
            )
        ends = settings.eos_token_id if settings.eos_token_id not in (None, []) else tokenizer.eos_token_id
        self._ends = tuple(ends) if isinstance(ends, (list, tuple)) else (ends,)
        if not self._encodes:  # a model that was not trained on one line alone goes on with a next one
            self._ends += tuple(_line_breaks(tokenizer))
        if self._ends[0] is None:
            raise InputError(f"{shown}: neither its configuration nor its tokeniser names an end token (eos_token_id)")
        self._end = tokenizer.eos_token_id if tokenizer.eos_token_id in self._ends else self._ends[0]
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else settings.pad_token_id
        self._pad = self._end if pad in (None, -1) else pad  # -1: of early Llamas, none
        start = getattr(settings, "decoder_start_token_id", None)
        start = getattr(config, "decoder_start_token_id", None) if start is None else start
        self._start = start if self._encodes else None
        if self._encodes and self._start is None:
            raise InputError(f"{shown}: its configuration names no decoder_start_token_id")
        self._forced = settings.forced_bos_token_id if self._encodes else None
        self._check_ids()
        self._set_languages(source, target)
        self.most = _positions(config)

    def _check_ids(self) -> None:
        """Check the ids that configuration, ``generation_config.json`` and tokeniser give: the model has their rows."""
        settings = self.model.generation_config
        first, last = self.model.get_input_embeddings(), self.model.get_output_embeddings()
        self._rows = tuple(len(layer.weight) for layer in (first, first if last is None else last))
        bad, bos = settings.bad_words_ids, settings.bos_token_id
        ids: dict[str, Any] = {
            "eos_token_id": self._ends,
            "pad_token_id": [self._pad],
            "decoder_start_token_id": [self._start] if self._encodes else [],
            "forced_bos_token_id": [] if self._forced is None else [self._forced],
            "suppress_tokens": settings.suppress_tokens or [],
            "bad_words_ids": [] if bad is None else _joined(bad),
        }
        for name, values in ids.items():
            for value in values:
                if not _is_id(value) or value >= min(self._rows):
                    raise InputError(
                        f"{self._shown}: {name} ({value!r}, in its configuration or tokeniser) is none of the "
                        f"{min(self._rows):,} ids of the model"
                    )
        if bos is not None and not _is_id(bos):  # one beyond the vocabulary is GPT-2's default, and never read
            raise InputError(f"{self._shown}: bos_token_id ({bos!r}, in its configuration) is no id")

    def _ids(self, **given: Any) -> list[list[int]]:
        try:
            found: list[list[int]] = self.tokenizer(**given, verbose=False)["input_ids"]
        except BaseException as error:
            raise tokenizer_fault(error, f"{self._shown}: its tokeniser cannot read all of the text") from None
        return found

    def _check_read(self, read: list[np.ndarray], rows: int) -> list[np.ndarray]:
        for number, ids in enumerate(read, 1):
            if len(ids) and int(ids.max()) >= rows:
                raise InputError(
                    f"{self._shown}: its tokeniser is another model's: line {number} has id {int(ids.max()):,}, and "
                    f"the model has {rows:,}"
                )
        return read

    def _set_languages(self, source: str | None, target: str | None) -> None:
        tokenizer, shown = self.tokenizer, self._shown
        if not hasattr(tokenizer, "src_lang"):
            if source or target:
                raise InputError(f"{shown}: its tokeniser has no languages; leave source= and target= out")
            return
        if not source or not target:
            raise InputError(
                f"{shown}: it translates between many languages; say which with ?source=CODE&target=CODE, as its "
                "tokeniser calls them"
            )
        _language(tokenizer, source, shown)
        written = _language(tokenizer, target, shown)
        tokenizer.src_lang, tokenizer.tgt_lang = source, target
        if self._start in (*self._ends, self._pad, tokenizer.bos_token_id):
            self._forced = written
        else:  # mBART-25 starts with the language that it writes
            self._start = written

    # What it reads and writes, as ids.

    def read(self, lines: Sequence[str]) -> list[np.ndarray]:
        """The sentences, in their template, as the model reads them."""
        if not lines:
            return []
        texts = list(lines) if self._template is None else [self._template.replace(PLACE, line) for line in lines]
        read = self._ids(text=texts, add_special_tokens=self._special_tokens)
        return self._check_read([np.array(ids, np.int64) for ids in read], self._rows[0])

    def _source_lengths(self, lines: Sequence[str], read: Sequence[np.ndarray]) -> np.ndarray:
        """Tokens of the sentences themselves, an end counted: what limits of length go by."""
        if self._template is None:
            return np.array([len(ids) for ids in read], np.int64)
        found = self._ids(text=list(lines), add_special_tokens=False) if lines else []
        return np.array([len(ids) + 1 for ids in found], np.int64)

    @cached_property
    def _begin(self) -> list[int]:
        """What a target of this tokeniser begins with, and no setting forces: BART's <s>."""
        if not self._encodes or self._forced is not None:
            return []
        first = self._ids(text_target=[""])[0][:1]
        bos = self.tokenizer.bos_token_id
        return first if bos is not None and first == [bos] and bos != self._end else []

    def encode_targets(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Target ids of given translations, the end token included."""
        if not texts:
            return []
        given: Any = {"text_target": list(texts)} if self._encodes else {"text": list(texts)}
        found = self._ids(**given, add_special_tokens=False)
        ids = [np.array([*self._begin, *ids, self._end], np.int64) for ids in found]
        return self._check_read(ids, self._rows[1])

    def text(self, ids: Sequence[int]) -> str:
        """One line of text: what an output says without its special tokens."""
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return " ".join(text.strip().splitlines()).strip()

    # Teacher forcing.

    @torch.inference_mode()
    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """As :meth:`.member.Member.states`.

        :raises InputError: a sentence or a target is longer than the model has positions for.
        """
        read = self.read(lines)
        wholes = [self._whole(ids, target) for ids, target in zip(read, targets, strict=True)]
        check_lengths(self._shown, [max(len(a), len(b)) for a, b in zip(read, wholes, strict=True)], self.most)

        def states_of(batch: np.ndarray) -> list[Tensor]:
            given = self._inputs([read[row] for row in batch], [wholes[row] for row in batch])
            states = _before_last_layer(self.model, given)
            ends = [len(wholes[row]) for row in batch]
            return [
                states[place, end - len(targets[row]) : end].float().cpu()
                for place, (row, end) in enumerate(zip(batch, ends, strict=True))
            ]

        reading, writing = (np.array([len(ids) for ids in rows], np.int64) for rows in (read, wholes))
        batches = make_batches(reading, writing, np.arange(len(read)), self._tokens())
        with one_thread(self._device):
            return in_order(batches, states_of, int(self.model.get_output_embeddings().weight.shape[1]))

    def _whole(self, ids: np.ndarray, target: np.ndarray) -> np.ndarray:
        """What the decoder reads: what comes before the target, and the target without its last token."""
        return np.concatenate([self.prefix(ids), target[:-1]]).astype(np.int64)

    def prefix(self, ids: np.ndarray) -> np.ndarray:
        """What the decoder reads before a target; ``ids``: of the sentence, for models without an encoder."""
        if not self._encodes:
            return ids
        return np.array([self._start, *([] if self._forced is None else [self._forced])], np.int64)

    def _inputs(self, read: Sequence[Any], wholes: Sequence[Any]) -> dict[str, Any]:
        """What the model is called with for sentences and what its decoder reads."""
        ids, mask = self._grid(wholes)
        if not self._encodes:
            return {"input_ids": ids, "attention_mask": mask, "use_cache": False}
        source, seen = self._grid(read)
        return {"input_ids": source, "attention_mask": seen, "decoder_input_ids": ids, "use_cache": False}

    def _tokens(self) -> int:
        return 1024 if self._device.type == "cpu" else 16384

    def _grid(self, rows: Sequence[Any], left: bool = False) -> tuple[Tensor, Tensor]:
        """Rows of ids side by side, padded at the right or at the left: ids, and where there are some."""
        width = max(map(len, rows))
        ids, mask = np.full((len(rows), width), self._pad), np.zeros((len(rows), width), np.int64)
        for place, row in enumerate(rows):
            part = slice(width - len(row), width) if left else slice(0, len(row))
            ids[place, part], mask[place, part] = row, 1
        return torch.from_numpy(ids).to(self._device), torch.from_numpy(mask).to(self._device)

    @torch.inference_mode()
    def head(self) -> Head:
        """The last layer, held against the model's own logits.

        :raises InputError: the model does something else between its last layer and its logits.
        """
        layer = self.model.get_output_embeddings()
        if layer is None or getattr(layer, "weight", None) is None:
            raise InputError(f"{self._shown}: has no output layer over a vocabulary: it is no model that writes text")
        bias = getattr(layer, "bias", None)
        added = getattr(self.model, "final_logits_bias", None)
        if added is not None:
            bias = added[0] if bias is None else bias + added[0]
        config = self.model.config
        scale = getattr(config, "logit_scale", None) or 1 / (getattr(config, "logits_scaling", None) or 1.0)
        cap = getattr(config, "final_logit_softcapping", None)
        head = Head(layer.weight.detach().float(), None if bias is None else bias.detach().float(), float(scale), cap)
        self._check_head(head)
        return head

    @torch.inference_mode()
    def check_runs(self) -> None:
        """Check that the model computes anything at all: sizes in its configuration may not fit together.

        :raises InputError: it does not.
        """
        try:
            self.model(**self._inputs([[self._end]], [[self._end]]))
        except Exception as error:
            said = " ".join(str(error).split())[:200] or type(error).__name__
            raise InputError(f"{self._shown}: its configuration makes no model that runs ({said})") from None

    def _check_head(self, head: Head) -> None:
        probe = [[self._end, self._pad, self._end]]
        given = self._inputs(probe, probe)
        expected = self.model(**given).logits.float()
        found = head.logits(_before_last_layer(self.model, given).float())
        near = ALMOST if self.model.dtype == torch.float32 else 0.05
        if float((found - expected).abs().max()) > near * max(1.0, float(expected.abs().max())):
            raise InputError(
                f"{self._shown}: its logits are more than its last layer makes of its states; members of that kind "
                f"are not supported for uncertainty (they translate: translate {argument('system')})"
            )

    # Search.

    @torch.inference_mode()
    def translate(
        self,
        lines: Sequence[str],
        *,
        beam: int = 5,
        nbest: int = 1,
        max_length_ratio: float = 1.2,
        max_length_extra: int = 10,
        length_penalty: float = 1.0,
        batch_tokens: int | None = None,
        done: Done | None = None,
    ) -> list[list[Translation]]:
        """Translate by transformers' ``generate``: beam search, greedy for a beam of 1; the best ``nbest`` of each.

        A line without a word has the empty translation. A hypothesis that reaches the limit of its length ends there.
        Scores are ``generate``'s own, so the best comes first: log-probabilities divided by length^penalty, where the
        length counts the end token and a forced first token (a language code), whose probability is 1.

        :raises InputError: a sentence is longer than the model has positions for.
        """
        read = self.read(lines)
        lengths = self._source_lengths(lines, read)
        limits = length_limits(lengths, max_length_ratio, max_length_extra)
        room = limits + [len(ids) if not self._encodes else 0 for ids in read] + 1 if lines else limits
        check_lengths(self._shown, [len(ids) for ids in read], self.most)
        if not self._encodes:
            check_lengths(self._shown, room.tolist(), self.most, "the prompt and the longest translation of line")
        rows = np.array([row for row, line in enumerate(lines) if line.strip()], np.int64)
        result = [[Translation("", np.array([self._end], np.int32), 0.0, 0.0)]] * len(lines)
        sizes = np.array([len(ids) for ids in read], np.int64)
        try:
            head: Head | None = self.head()
        except InputError:  # what no last layer says by itself, whole passes do
            head = None
        with one_thread(self._device):
            for batch in make_batches(sizes, sizes, rows, batch_tokens or self._tokens()):
                found = self.search([read[row] for row in batch], limits[batch], beam, nbest, length_penalty)
                chosen = [lines[row] for row in batch for _ in range(nbest)]
                # generate would keep the scores of every step, vocabulary-wide, to say these.
                log_probs = self._sequence_log_probs(head, chosen, found)
                most = np.repeat(limits[batch], nbest).tolist()
                translations = [
                    Translation(
                        self.text(tokens.tolist()),
                        tokens,
                        log_prob,
                        log_prob / (len(tokens) + self._forced_tokens) ** length_penalty,
                        len(tokens) > limit,
                    )
                    for tokens, log_prob, limit in zip(found, log_probs, most, strict=True)
                ]
                for place, row in enumerate(batch.tolist()):
                    result[row] = translations[place * nbest : (place + 1) * nbest]
                if done:
                    done(len(batch))
        return result

    @torch.inference_mode()
    def search(
        self, read: Sequence[np.ndarray], limits: np.ndarray, beam: int, nbest: int = 1, length_penalty: float = 1.0
    ) -> list[np.ndarray]:
        """The best ``nbest`` outputs of each sentence of a batch, one after another: ids, the end token last.

        :param read: ids of the sentences (:meth:`read`); ``limits``: the most tokens before the end of each.
        """
        ids, mask = self._grid(read, left=not self._encodes)
        return generate(
            self.model,
            ids,
            mask,
            limits,
            begin=1 + self._forced_tokens if self._encodes else ids.shape[1],
            ends=self._ends,
            end=self._end,
            beam=beam,
            nbest=nbest,
            length_penalty=length_penalty,
            more=self._forced_tokens,
            pad_token_id=self._pad,
            decoder_start_token_id=self._start,
            forced_bos_token_id=self._forced,
        )

    @property
    def _forced_tokens(self) -> int:
        """How many forced tokens an output has: ``generate`` counts them in every length, a target has none."""
        return int(self._forced is not None)

    def _sequence_log_probs(
        self, head: Head | None, lines: Sequence[str], targets: Sequence[np.ndarray]
    ) -> list[float]:
        """The log-probability of each target, a sentence at a time over the vocabulary."""
        if head is not None:
            # Those of the model as it translates: without the masks of Monte-Carlo dropout.
            states = HuggingFaceMember.states(self, lines, targets).split([len(target) for target in targets])
        found = []
        for number, (line, target) in enumerate(zip(lines, targets, strict=True)):
            logits = self._own_logits(line, target) if head is None else head.logits(states[number].to(self._device))
            log_p = torch.log_softmax(logits, 1)
            chosen = log_p[torch.arange(len(target)), torch.from_numpy(target.astype(np.int64))]
            found.append(float(chosen.double().sum()))
        return found

    def _own_logits(self, line: str, target: np.ndarray) -> Tensor:
        """The model's own logits at every token of one target."""
        read = self.read([line])
        given = self._inputs(read, [self._whole(read[0], target)])
        return torch.as_tensor(self.model(**given).logits[0, -len(target) :]).float()


class _Reached(Exception):  # noqa: N818 - no error
    """The last layer has been reached."""


def _before_last_layer(model: Any, given: Mapping[str, Any]) -> Tensor:
    """What goes into a model's last layer, ``[rows, columns, width]``; the layer itself does not run."""
    found: list[Tensor] = []

    def stop(layer: object, arguments: tuple[Any, ...]) -> None:
        found.append(arguments[0])
        raise _Reached

    hook = model.get_output_embeddings().register_forward_pre_hook(stop)
    try:
        model(**given)
    except _Reached:
        return found[0]
    finally:
        hook.remove()
    raise AssertionError("a model without its last layer")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _joined(lists: Any) -> list[Any]:
    """The ids of lists of them; what is no such list stands in a list of its own, which is no id."""
    if not isinstance(lists, list) or not lists:
        return [[lists]]
    return [one for ids in lists for one in (ids if isinstance(ids, list) and ids else [[ids]])]


def _positions(config: Any) -> int | None:
    """How many tokens a model has positions for; None where there is no limit (T5)."""
    if getattr(config, "model_type", "") in ("t5", "mt5", "umt5", "longt5"):
        return None
    found = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    return int(found) if found else None


def _line_breaks(tokenizer: Any) -> list[int]:
    """The ids of tokens in which a line ends, as byte-level dictionaries and SentencePiece write them."""
    found = tokenizer.get_vocab().items()
    return sorted(number for token, number in found if "\u010a" in token or "\n" in token or token == "<0x0A>")


def _language(tokenizer: Any, code: str, shown: str) -> int:
    """The id of a language code's token."""
    from cgbench.settings import did_you_mean

    vocabulary = tokenizer.get_vocab()
    for token in (code, f"__{code}__"):
        if token in vocabulary and vocabulary[token] != tokenizer.unk_token_id:
            return int(vocabulary[token])
    special = {str(token).strip("_") for token in tokenizer.all_special_tokens if len(str(token)) > 1}
    special |= {str(token) for token in getattr(tokenizer, "added_tokens_encoder", {})}
    raise InputError(f"{shown}: its tokeniser has no language {code!r}{did_you_mean(code, sorted(special)[:300])}")
