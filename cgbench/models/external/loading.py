"""A Hugging Face model and its tokeniser from their files; what does not fit together is said, not made up.

transformers starts what a file lacks at random; here that is an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, argument, require
from cgbench.files import read_json
from cgbench.models.external.addresses import PLACE, Address, read_template
from cgbench.models.text.tokenized import check_tokenizer, quiet_panics, read_tokenizer_file, tokenizer_fault
from cgbench.steps import hash_value

COMPUTED = 1 << 22  # parameters that a model may have beside those that are stored


def load_tokenizer(address: Address, folder: Path) -> Any:
    """The tokeniser of a model.

    :raises InputError: it cannot be loaded.
    """
    try:
        if (folder / "tokenizer.json").is_file():
            check_tokenizer(read_tokenizer_file(folder / "tokenizer.json"), folder / "tokenizer.json")
        with quietly(), quiet_panics():
            transformers: Any = require("transformers", "hf")
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            with contextlib.suppress(Exception):  # a tokeniser that panics does so at once
                tokenizer(["a \u00e9 1", ""], verbose=False)
    except BaseException as error:
        raise tokenizer_fault(error, f"{address.text}: its tokeniser cannot be loaded") from None
    model: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if getattr(model, "dropout", None):
        model.dropout = None  # drawn anew in every call
    return tokenizer


def chat_of(address: Address, tokenizer: Any, template: str | None) -> str:
    """A prompt template as a message of a user, with all that a chat model reads before its answer.

    Nothing of it depends on the day, and a model that can think aloud is asked not to.

    :raises InputError: there is no prompt, or the tokeniser has no chat template, or none that keeps the sentence.
    """
    if template is None:
        raise InputError(
            f"{address.text}: a chat model is asked in words; give them with {argument('prompt')}, such as "
            f"'Translate German into "
            f"English: {PLACE}', or prompt=FILE behind a ?"
        )
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(f"{address.text}: its tokeniser has no chat template; leave chat=yes out")
    try:
        made = tokenizer.apply_chat_template(
            [{"role": "user", "content": template}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
            date_string="26 Jul 2024",  # the day that templates of Llama fall back on
        )
    except Exception as error:
        raise InputError(f"{address.text}: its chat template cannot be filled in ({_said(error)})") from None
    return read_template(str(made), f"{address.text}: its chat template")


def vocabulary_of(tokenizer: Any) -> str:
    """A hash of which token has which id; of a Marian tokeniser with two dictionaries, of the target's."""
    separate = getattr(tokenizer, "separate_vocabs", False)
    table = tokenizer.target_encoder if separate else tokenizer.get_vocab()
    return hash_value(sorted((int(number), str(token)) for token, number in table.items()))


def output_size(folder: Path) -> int | None:
    """Rows of the last layer, as the configuration says; None if it does not."""
    config = read_json(folder / "config.json")
    parts = [config, *(value for value in config.values() if isinstance(value, dict))]  # the text part of a larger one
    found = [part[name] for part in parts for name in ("decoder_vocab_size", "vocab_size") if part.get(name)]
    return int(found[0]) if found else None


def load_weights(address: Address, folder: Path, whole: bool) -> Mapping[str, Any]:
    """The parameters of an encoder by the names of its model in transformers; what lies above it is left out.

    :param whole: of an encoder with its decoder; the output layer is the table of words.
    :raises InputError: the weights do not fit the configuration, or the output layer is not that table alone.
    """
    with quietly():
        model = load_model(address, folder, encoder=not whole)
    if whole:
        tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
        if not tied or bool(getattr(model, "final_logits_bias", model.model.shared.weight.new_zeros(1)).any()):
            raise InputError(f"{address.text}: its output layer is not its table of words alone, as BART's is")
        model = model.model
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


def load_model(
    address: Address, folder: Path, device: str = "cpu", dropout: float | None = None, encoder: bool = False
) -> Any:
    """Load a model.

    :param dropout: another than that of its configuration; ``encoder``: load its encoder alone.
    :raises InputError: the weights do not fit the configuration.
    """
    import torch

    transformers: Any = require("transformers", "hf")
    settings: dict[str, Any] = {
        "dtype": getattr(torch, address.options.get("dtype", "float32")),
        "local_files_only": True,
        "use_safetensors": True,
        "ignore_mismatched_sizes": True,  # they are listed, and refused below by name
    }
    if device_map := address.options.get("device_map"):
        settings["device_map"] = device_map
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        if dropout is not None:
            for name in ("dropout", "dropout_rate"):  # BART and its kin; T5
                if hasattr(config, name):
                    setattr(config, name, dropout)
        if encoder:
            kind: Any = transformers.AutoModel
            settings["add_pooling_layer"] = False
        elif config.is_encoder_decoder:
            kind = transformers.AutoModelForSeq2SeqLM
        else:
            kind = transformers.AutoModelForCausalLM
        _check_size(kind, config, folder)
        model, info = kind.from_pretrained(folder, config=config, output_loading_info=True, **settings)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{address.text}: {folder} cannot be loaded ({_said(error)})") from None
    for name, what in (("mismatched_keys", "of another shape than"), ("missing_keys", "missing, and asked for by")):
        if wrong := sorted(str(one[0] if isinstance(one, tuple) else one) for one in info.get(name, ())):
            more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise InputError(
                f"{address.text}: the weights do not fit the configuration: {wrong[0]}{more} {what} config.json"
            )
    return model if device_map else model.to(device)


def _check_size(kind: Any, config: Any, folder: Path) -> None:
    """Check that a configuration asks for no more parameters than the weights can have, before any is allocated."""
    import torch

    unset: Any = contextlib.nullcontext
    with contextlib.suppress(ImportError):  # a version that has it elsewhere is slower, and finds the same
        from transformers.initialization import no_init_weights as unset
    with torch.device("meta"), unset():
        model = kind.from_config(config)
        model.tie_weights()
    asked = sum(parameter.numel() for parameter in model.parameters())
    held = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    # Four bits for a parameter are the least that is in use; tables of positions may be computed, not stored.
    if asked > 2 * held + COMPUTED:
        raise InputError(
            f"{folder / 'config.json'}: asks for {asked:,} parameters, which {held:,} bytes of weights cannot hold: it "
            "is another model's"
        )


def _said(error: Exception) -> str:
    """The words of another library's error, on one line and not without end."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:297]}..."


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Without the bars and remarks of transformers: what matters of them is an error here."""
    transformers: Any = require("transformers", "hf")
    log = transformers.utils.logging
    before, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(before)
        if bars:
            log.enable_progress_bar()
