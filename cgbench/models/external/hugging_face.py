"""A Hugging Face model as a member: encoder-decoder (Marian, NLLB, M2M100, mBART, T5, BART), or
decoder-only.

These models differ in details that are unified here:

- the tokens that begin an output (a start token, a forced language code, a prompt) are not part of
  a target;
- real tokens never attend to padding;
- the length limit depends on the sentence, so no translation depends on its batch;
- the model's ``generation_config.json`` does not override the search options.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from cgbench.errors import InputError, argument, reason_of
from cgbench.models.devices import one_thread
from cgbench.models.external.member import Done, Head, Member
from cgbench.models.external.monte_carlo_dropout import check_dropout
from cgbench.models.lengths import check_positions, positions_of
from cgbench.models.search import Translation
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.servers.prompt_templates import Pairs, Prompt
from cgbench.models.text.batches import make_batches
from cgbench.models.text.tokenized import tokenizer_fault
from cgbench.settings import did_you_mean

TOLERANCE = 1e-3  # maximum difference between our logits and the model's, relative to the largest


class HuggingFaceMember(Member):
    """A loaded model with its tokeniser.

    :param model: in evaluation mode, on ``device``.
    :param template: prompt with ``{source}`` for the sentence; None: the sentence itself.
    :param special_tokens: whether the tokeniser adds special tokens to the input; a chat template
        has its own.
    :param source: language code, for multilingual models; also ``target``.
    :param seed: of the masks of Monte-Carlo dropout; None: no dropout. Search is without: it needs
        one distribution.
    :param label: name of the model in messages.
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
        seed: int | None = None,
        device: str = "cpu",
        label: str = "the model",
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self._prompt = None if template is None else Prompt("prompt", template, frozenset())
        self._special_tokens, self._seed = special_tokens, seed
        self._device, self._shown = torch.device(device), label
        self._shots: Mapping[str, Pairs] = {}
        config, settings = model.config, model.generation_config
        self._encodes = bool(config.is_encoder_decoder)
        if not self._encodes and template is None:
            raise InputError(
                f"{label}: a model without an encoder needs a prompt; set {argument('prompt')},"
                " such as 'German: {source}\\nEnglish:', or add ?prompt=FILE"
            )
        ends = (
            settings.eos_token_id
            if settings.eos_token_id not in (None, [])
            else tokenizer.eos_token_id
        )
        self._ends = tuple(ends) if isinstance(ends, (list, tuple)) else (ends,)
        if not self._encodes:  # otherwise the model may continue with another line
            self._ends += tuple(_line_breaks(tokenizer))
        if self._ends[0] is None:
            raise InputError(
                f"{label}: neither its configuration nor its tokeniser defines an end token"
                " (eos_token_id)"
            )
        self._end = (
            tokenizer.eos_token_id if tokenizer.eos_token_id in self._ends else self._ends[0]
        )
        pad = (
            tokenizer.pad_token_id if tokenizer.pad_token_id is not None else settings.pad_token_id
        )
        self._pad = self._end if pad in (None, -1) else pad  # -1 in early Llama models means none
        start = getattr(settings, "decoder_start_token_id", None)
        start = getattr(config, "decoder_start_token_id", None) if start is None else start
        self._start = start if self._encodes else None
        if self._encodes and self._start is None:
            raise InputError(f"{label}: its configuration defines no decoder_start_token_id")
        self._forced = settings.forced_bos_token_id if self._encodes else None
        self._check_ids()
        self._set_languages(source, target)
        self.most = positions_of(config)
        if seed is not None:
            check_dropout(model, config, label)

    def _check_ids(self) -> None:
        """Check that the model has rows for the ids of configuration, ``generation_config.json``
        and tokeniser.
        """
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
                        f"{self._shown}: {name} ({value!r}, in its configuration or tokeniser) is"
                        f" not an id below {min(self._rows):,}, the size of the model's vocabulary"
                    )
        if bos is not None and not _is_id(
            bos
        ):  # GPT-2's default is beyond the vocabulary, but never used
            raise InputError(
                f"{self._shown}: bos_token_id ({bos!r}, in its configuration) is not an id"
            )

    def _ids(self, **arguments: Any) -> list[list[int]]:
        try:
            ids: list[list[int]] = self.tokenizer(**arguments, verbose=False)["input_ids"]
        except BaseException as error:
            raise tokenizer_fault(
                error, f"{self._shown}: its tokeniser cannot encode the text"
            ) from None
        return ids

    def _check_read(self, read: list[np.ndarray], rows: int) -> list[np.ndarray]:
        for line_number, ids in enumerate(read, 1):
            if len(ids) and int(ids.max()) >= rows:
                raise InputError(
                    f"{self._shown}: the tokeniser belongs to another model: line {line_number} has"
                    f" id {int(ids.max()):,}, but the model has {rows:,} rows"
                )
        return read

    def _set_languages(self, source: str | None, target: str | None) -> None:
        tokenizer, label = self.tokenizer, self._shown
        if not hasattr(tokenizer, "src_lang"):
            if source or target:
                raise InputError(
                    f"{label}: its tokeniser has no language codes; leave out source= and target="
                )
            return
        if not source or not target:
            raise InputError(
                f"{label}: a multilingual model needs language codes, as its tokeniser names them: "
                "?source=CODE&target=CODE"
            )
        _language(tokenizer, source, label)
        written = _language(tokenizer, target, label)
        tokenizer.src_lang, tokenizer.tgt_lang = source, target
        if self._start in (*self._ends, self._pad, tokenizer.bos_token_id):
            self._forced = written
        else:  # mBART-25 starts with the target language code
            self._start = written

    def give_shots(self, shots: Mapping[str, Pairs]) -> None:
        """Set the examples of each sentence, for ``{shots}`` in the template.

        :raises InputError: the model has an encoder.
        """
        if self._encodes:
            super().give_shots(shots)
        self._shots = shots

    # Ids of inputs and outputs.

    def read(self, lines: Sequence[str]) -> list[np.ndarray]:
        """Input ids of the sentences in their prompt template."""
        if not lines:
            return []
        texts = list(lines)
        if self._prompt is not None:
            texts = self._prompt.render(lines, [self._shots.get(line, ()) for line in lines])
        read = self._ids(text=texts, add_special_tokens=self._special_tokens)
        return self._check_read([np.array(ids, np.int64) for ids in read], self._rows[0])

    def _source_lengths(self, lines: Sequence[str], lengths: np.ndarray) -> np.ndarray:
        """Tokens of the sentences without the template, with an end token, from those of the whole
        inputs.
        """
        if self._prompt is None:
            return lengths
        sentences = self._ids(text=list(lines), add_special_tokens=False) if lines else []
        return np.array([len(ids) + 1 for ids in sentences], np.int64)

    @cached_property
    def _begin(self) -> list[int]:
        """The token that this tokeniser puts before a target although no setting forces it: BART's
        <s>.
        """
        if not self._encodes or self._forced is not None:
            return []
        first = self._ids(text_target=[""])[0][:1]
        bos = self.tokenizer.bos_token_id
        return first if bos is not None and first == [bos] and bos != self._end else []

    def encode_targets(self, texts: Sequence[str]) -> list[np.ndarray]:
        """See :meth:`.member.Member.encode_targets`."""
        if not texts:
            return []
        side = "text_target" if self._encodes else "text"
        targets = self._ids(**{side: list(texts)}, add_special_tokens=False)
        ids = [np.array([*self._begin, *ids, self._end], np.int64) for ids in targets]
        return self._check_read(ids, self._rows[1])

    def text(self, ids: Sequence[int]) -> str:
        """An output as one line of text, without special tokens."""
        text = self.tokenizer.decode(
            list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return " ".join(text.strip().splitlines()).strip()

    # Teacher forcing.

    @torch.inference_mode()
    def states(self, lines: Sequence[str], targets: Sequence[np.ndarray]) -> Tensor:
        """See :meth:`.member.Member.states`."""
        return self._states(lines, targets, self._seed)

    def _states(
        self, lines: Sequence[str], targets: Sequence[np.ndarray], seed: int | None
    ) -> Tensor:
        """States of the last layer, with the masks of ``seed`` if it is not None."""
        read = self.read(lines)
        wholes = [self._whole(ids, target) for ids, target in zip(read, targets, strict=True)]
        lengths = [max(len(ids), len(whole)) for ids, whole in zip(read, wholes, strict=True)]
        check_positions(lengths, self.most, model=self._shown)

        def states_of(batch: np.ndarray) -> list[Tensor]:
            inputs = self._inputs([read[row] for row in batch], [wholes[row] for row in batch])
            states = _before_last_layer(self.model, inputs)
            ends = [len(wholes[row]) for row in batch]
            return [
                states[position, end - len(targets[row]) : end].float().cpu()
                for position, (row, end) in enumerate(zip(batch, ends, strict=True))
            ]

        reading, writing = (
            np.array([len(ids) for ids in rows], np.int64) for rows in (read, wholes)
        )
        width = int(self.model.get_output_embeddings().weight.shape[1])
        return self._in_batches(states_of, lines, (reading, writing), width, self.model, seed)

    def _whole(self, ids: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Decoder input: the prefix, and the target without its last token."""
        return np.concatenate([self.prefix(ids), target[:-1]]).astype(np.int64)

    def prefix(self, ids: np.ndarray) -> np.ndarray:
        """Decoder input before a target; ``ids``: of the sentence, for models without an
        encoder.
        """
        if not self._encodes:
            return ids
        return np.array([self._start, *([] if self._forced is None else [self._forced])], np.int64)

    def _inputs(self, read: Sequence[Any], wholes: Sequence[Any]) -> dict[str, Any]:
        ids, mask = self._grid(wholes)
        if not self._encodes:
            return {"input_ids": ids, "attention_mask": mask, "use_cache": False}
        source, seen = self._grid(read)
        return {
            "input_ids": source,
            "attention_mask": seen,
            "decoder_input_ids": ids,
            "use_cache": False,
        }

    def _grid(self, rows: Sequence[Any], pad_left: bool = False) -> tuple[Tensor, Tensor]:
        """Ids padded on the right or on the left, and their mask."""
        tensors, side = (
            [torch.as_tensor(row, dtype=torch.int64) for row in rows],
            ("left" if pad_left else "right"),
        )
        ids = pad_sequence(tensors, batch_first=True, padding_value=-1, padding_side=side).to(
            self._device
        )
        return ids.masked_fill(ids < 0, self._pad), (ids >= 0).long()

    @torch.inference_mode()
    def head(self) -> Head:
        """See :meth:`.member.Member.head`; checked against the model's own logits."""
        layer = self.model.get_output_embeddings()
        if layer is None or getattr(layer, "weight", None) is None:
            raise InputError(
                f"{self._shown}: not a text generation model: it has no output layer over a"
                " vocabulary"
            )
        bias = getattr(layer, "bias", None)
        if (added := getattr(self.model, "final_logits_bias", None)) is not None:
            bias = added[0] if bias is None else bias + added[0]
        config = self.model.config
        scale = getattr(config, "logit_scale", None) or 1 / (
            getattr(config, "logits_scaling", None) or 1.0
        )
        cap = getattr(config, "final_logit_softcapping", None)
        head = Head(
            layer.weight.detach().float(),
            None if bias is None else bias.detach().float(),
            float(scale),
            cap,
        )
        self._check_head(head)
        return head

    @torch.inference_mode()
    def check_runs(self) -> None:
        """Check that the model runs."""
        try:
            self.model(**self._inputs([[self._end]], [[self._end]]))
        except Exception as error:
            raise InputError(
                f"{self._shown}: a model with this configuration does not run ({reason_of(error)})"
            ) from None

    def _check_head(self, head: Head) -> None:
        probe = [[self._end, self._pad, self._end]]
        inputs = self._inputs(probe, probe)
        expected = self.model(**inputs).logits.float()
        logits = head.logits(_before_last_layer(self.model, inputs).float())
        tolerance = TOLERANCE if self.model.dtype == torch.float32 else 0.05
        if float((logits - expected).abs().max()) > tolerance * max(
            1.0, float(expected.abs().max())
        ):
            raise InputError(
                f"{self._shown}: its logits are not a function of its last layer alone; such models"
                " are not supported for uncertainty, only for translation (translate"
                f" {argument('system')})"
            )

    # Search.

    @torch.inference_mode()
    def translate(
        self,
        lines: Sequence[str],
        settings: SearchSettings = DEFAULT_SEARCH,
        *,
        nbest: int = 1,
        batch_tokens: int | None = None,
        done: Done | None = None,
    ) -> list[list[Translation]]:
        """Translate with transformers' ``generate``; see :meth:`.member.Member.translate`.

        A blank line has the empty translation. Scores are those of ``generate``: log-probabilities
        divided by length^penalty, where the length counts the end token and a forced first token (a
        language code), whose probability is 1.
        """
        if settings.length_offset:
            raise InputError(
                f"{argument('length_offset', settings.length_offset)}: transformers has length"
                " penalties without an offset; it must be 0"
            )
        # Check that inputs and outputs fit the model's positions.
        read = self.read(lines)
        lengths = np.array([len(ids) for ids in read], np.int64)
        limits = settings.limits(self._source_lengths(lines, lengths))
        check_positions(lengths.tolist(), self.most, model=self._shown)
        if not self._encodes:
            most = (lengths + limits + 1).tolist()
            check_positions(
                most, self.most, "the prompt and the longest translation of line", self._shown
            )
        rows = np.array([row for row, line in enumerate(lines) if line.strip()], np.int64)
        result = [[Translation("", np.array([self._end], np.int32), 0.0, 0.0)]] * len(lines)
        try:
            head: Head | None = self.head()
        except InputError:  # use whole forward passes instead
            head = None
        # Search in batches; then score, because generate needs the whole vocabulary's scores of
        # every step for it.
        with one_thread(self._device):
            for batch in make_batches(lengths, lengths, rows, batch_tokens or self.batch_tokens):
                batch_translations = self.search(
                    [read[row] for row in batch], limits[batch], settings, nbest
                )
                chosen = [lines[row] for row in batch for _ in range(nbest)]
                log_probs = self._sequence_log_probs(head, chosen, batch_translations)
                most = np.repeat(limits[batch], nbest).tolist()
                translations = [
                    Translation(
                        self.text(tokens.tolist()),
                        tokens,
                        log_prob,
                        settings.score(log_prob, len(tokens) + self._forced_tokens),
                        len(tokens) > limit,
                    )
                    for tokens, log_prob, limit in zip(
                        batch_translations, log_probs, most, strict=True
                    )
                ]
                for row, first in zip(
                    batch.tolist(), range(0, len(translations), nbest), strict=True
                ):
                    result[row] = translations[first : first + nbest]
                if done:
                    done(len(batch))
        return result

    @torch.inference_mode()
    def search(
        self,
        read: Sequence[np.ndarray],
        limits: np.ndarray,
        settings: SearchSettings,
        nbest: int = 1,
    ) -> list[np.ndarray]:
        """The best ``nbest`` outputs of each sentence of a batch, in order: ids with the end token.

        :param read: ids of the sentences (:meth:`read`); ``limits``: maximum tokens of each before
            the end.
        """
        from transformers import GenerationConfig, LogitsProcessorList

        ids, mask = self._grid(read, pad_left=not self._encodes)
        begin = (
            1 + self._forced_tokens if self._encodes else ids.shape[1]
        )  # tokens before the target
        # Settings that do not depend on the model's own.
        configured = self.model.generation_config
        generation = GenerationConfig(
            num_beams=settings.beam,
            num_return_sequences=nbest,
            do_sample=False,
            max_new_tokens=int(limits.max()) + 1 + self._forced_tokens,
            early_stopping=settings.beam > 1,
            length_penalty=settings.length_penalty,
            bos_token_id=configured.bos_token_id,
            eos_token_id=list(self._ends),
            bad_words_ids=configured.bad_words_ids,
            suppress_tokens=configured.suppress_tokens,
            pad_token_id=self._pad,
            decoder_start_token_id=self._start,
            forced_bos_token_id=self._forced,
        )
        self.model.generation_config = GenerationConfig()  # otherwise generate fills in its values
        try:
            output = self.model.generate(
                input_ids=ids,
                attention_mask=mask,
                generation_config=generation,
                logits_processor=LogitsProcessorList(
                    [_EndAtLimit(limits, self._ends, self._end, begin)]
                ),
            )
        finally:
            self.model.generation_config = configured
        # Cut each output after its first end token.
        outputs = []
        for path in output[:, begin:].cpu().numpy():
            over = np.flatnonzero(np.isin(path, self._ends))
            outputs.append(
                (path[: over[0] + 1] if len(over) else np.append(path, self._end)).astype(np.int32)
            )
        return outputs

    @property
    def _forced_tokens(self) -> int:
        """Number of forced tokens of an output.

        ``generate`` includes them in lengths; targets do not.
        """
        return int(self._forced is not None)

    def _sequence_log_probs(
        self, head: Head | None, lines: Sequence[str], targets: Sequence[np.ndarray]
    ) -> list[float]:
        """The log-probability of each target, one sentence at a time to save memory."""
        if head is not None:
            states = self._states(lines, targets, None).split([len(target) for target in targets])
        log_probs = []
        for row, (line, target) in enumerate(zip(lines, targets, strict=True)):
            if head is not None:
                logits = head.logits(states[row].to(self._device))
            else:
                (read,) = self.read([line])
                inputs = self._inputs([read], [self._whole(read, target)])
                logits = self.model(**inputs).logits[0, -len(target) :].float()
            log_p = torch.log_softmax(logits, 1)
            chosen = log_p[torch.arange(len(target)), torch.from_numpy(target.astype(np.int64))]
            log_probs.append(float(chosen.double().sum()))
        return log_probs


class _EndAtLimit:
    """A logits processor that allows only the end token once a sentence has reached its limit."""

    def __init__(self, limits: np.ndarray, ends: Sequence[int], end: int, begin: int) -> None:
        self._limits, self._ends, self._end, self._begin = limits, list(ends), end, begin

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """``[rows, tokens so far]``, ``[rows, vocabulary]`` -> changed scores."""
        written = input_ids.shape[1] - self._begin
        if written < 0:
            return scores  # a forced token comes next
        if (over := np.repeat(self._limits <= written, len(scores) // len(self._limits))).any():
            rows = torch.from_numpy(np.flatnonzero(over)).to(scores.device)
            end = scores[rows, self._end]
            scores = scores.index_fill(0, rows, -torch.inf)
            scores[rows, self._end] = torch.where(torch.isfinite(end), end, 0)
        if written == 0:
            scores = scores.clone()
            scores[:, self._ends] = -torch.inf
        return scores


class _Reached(Exception):  # noqa: N818 - not an error
    """The last layer has been reached."""


def _before_last_layer(model: Any, inputs: Mapping[str, Any]) -> Tensor:
    """The input of a model's last layer, ``[rows, columns, width]``; the layer itself does not
    run.
    """
    inputs_of_layer: list[Tensor] = []

    def stop(layer: object, arguments: tuple[Any, ...]) -> None:
        inputs_of_layer.append(arguments[0])
        raise _Reached

    hook = model.get_output_embeddings().register_forward_pre_hook(stop)
    try:
        model(**inputs)
    except _Reached:
        return inputs_of_layer[0]
    finally:
        hook.remove()
    raise AssertionError("a model without its last layer")


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _joined(lists: Any) -> list[Any]:
    """The ids of nested lists; anything else becomes a list, which fails the check for ids."""
    if not isinstance(lists, list) or not lists:
        return [[lists]]
    return [item for ids in lists for item in (ids if isinstance(ids, list) and ids else [[ids]])]


def _line_breaks(tokenizer: Any) -> list[int]:
    """The ids of tokens that contain a line break, in byte-level and SentencePiece vocabularies."""
    vocabulary = tokenizer.get_vocab().items()
    return sorted(
        token_id
        for token, token_id in vocabulary
        if "\u010a" in token or "\n" in token or token == "<0x0A>"
    )


def _language(tokenizer: Any, code: str, label: str) -> int:
    vocabulary = tokenizer.get_vocab()
    for token in (code, f"__{code}__"):
        if token in vocabulary and vocabulary[token] != tokenizer.unk_token_id:
            return int(vocabulary[token])
    special = {
        str(token).strip("_") for token in tokenizer.all_special_tokens if len(str(token)) > 1
    }
    special |= {str(token) for token in getattr(tokenizer, "added_tokens_encoder", {})}
    raise InputError(
        f"{label}: its tokeniser has no language"
        f" {code!r}{did_you_mean(code, sorted(special)[:300])}"
    )
