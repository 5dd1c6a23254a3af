"""Load a Hugging Face model and its tokeniser.

Missing or mismatched weights are errors here; transformers would initialise them at random.
"""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cgbench.errors import InputError, argument, reason_of, require
from cgbench.files import read_json
from cgbench.models.checkpoints import check_finite
from cgbench.models.external.addresses import Address, read_template
from cgbench.models.text.tokenized import (
    check_tokenizer_json,
    quiet_panics,
    read_tokenizer_file,
    tokenizer_fault,
)
from cgbench.steps import hash_value

COMPUTED = 1 << 22  # parameters that a model may compute instead of storing them


def load_tokenizer(address: Address, folder: Path) -> Any:
    """Load the tokeniser of a model."""
    try:
        if (folder / "tokenizer.json").is_file():
            check_tokenizer_json(
                read_tokenizer_file(folder / "tokenizer.json"), folder / "tokenizer.json"
            )
        with quietly(), quiet_panics():
            transformers: Any = require("transformers", "hf")
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            with contextlib.suppress(
                Exception
            ):  # a tokeniser that panics does so on the first call
                tokenizer(["a \u00e9 1", ""], verbose=False)
    except BaseException as error:
        raise tokenizer_fault(error, f"{address.text}: its tokeniser cannot be loaded") from None
    model: Any = getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)
    if getattr(model, "dropout", None):
        model.dropout = None  # BPE dropout would be random in every call
    return tokenizer


def chat_of(address: Address, tokenizer: Any, template: str | None) -> str:
    """Put a prompt template into the tokeniser's chat template, as a user message.

    The result does not depend on the date, and reasoning mode is disabled.

    :raises InputError: there is no prompt, no chat template, or the chat template drops the
        sentence.
    """
    if template is None:
        raise InputError(
            f"{address.text}: a chat model needs a prompt; set {argument('prompt')}, such as "
            "'Translate German into English: {source}', or add ?prompt=FILE"
        )
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(f"{address.text}: its tokeniser has no chat template; leave out chat=yes")
    try:
        filled = tokenizer.apply_chat_template(
            [{"role": "user", "content": template}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
            date_string="26 Jul 2024",  # the default of Llama's templates
        )
    except Exception as error:
        raise InputError(f"{address.text}: its chat template fails ({reason_of(error)})") from None
    return read_template(str(filled), f"{address.text}: its chat template")


def vocabulary_of(tokenizer: Any) -> str:
    """A hash of the mapping from tokens to ids; of a Marian tokeniser with two vocabularies, the
    target's.
    """
    table = (
        tokenizer.target_encoder
        if getattr(tokenizer, "separate_vocabs", False)
        else tokenizer.get_vocab()
    )
    return hash_value(sorted((int(token_id), str(token)) for token, token_id in table.items()))


def output_size(folder: Path) -> int | None:
    """Rows of the last layer according to the configuration; None if unknown."""
    config = read_json(folder / "config.json")
    # A multimodal model has its text settings in a section.
    sections = [config, *(value for value in config.values() if isinstance(value, dict))]
    names = ("decoder_vocab_size", "vocab_size")
    return next(
        (int(section[name]) for section in sections for name in names if section.get(name)), None
    )


def load_weights(address: Address, folder: Path, both_sides: bool) -> Mapping[str, Any]:
    """The parameters of an encoder, by their names in transformers, without task heads.

    :param both_sides: load encoder and decoder; the output layer must be the embedding matrix.
    """
    with quietly():
        model = load_model(address, folder, encoder=not both_sides)
    if both_sides:
        tied = model.get_output_embeddings().weight is model.get_input_embeddings().weight
        if not tied or bool(
            getattr(model, "final_logits_bias", model.model.shared.weight.new_zeros(1)).any()
        ):
            raise InputError(
                f"{address.text}: its output layer is not its embedding matrix alone, as in BART"
            )
        model = model.model
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


def load_model(
    address: Address,
    folder: Path,
    device: str = "cpu",
    dropout: float | None = None,
    encoder: bool = False,
) -> Any:
    """Load a model.

    :param dropout: replaces the rate in the configuration; ``encoder``: load only the encoder.
    """
    import torch

    transformers: Any = require("transformers", "hf")
    # How it is loaded.
    settings: dict[str, Any] = {
        "dtype": getattr(torch, address.options.get("dtype", "float32")),
        "local_files_only": True,
        "use_safetensors": True,
        "ignore_mismatched_sizes": True,  # they are listed, and refused below
    }
    if device_map := address.options.get("device_map"):
        settings["device_map"] = device_map
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
        if dropout is not None:
            for name in ("dropout", "dropout_rate"):  # BART and similar; T5
                if hasattr(config, name):
                    setattr(config, name, dropout)
        if encoder:
            model_class: Any = transformers.AutoModel
            settings["add_pooling_layer"] = False
        elif config.is_encoder_decoder:
            model_class = transformers.AutoModelForSeq2SeqLM
        else:
            model_class = transformers.AutoModelForCausalLM
        _check_size(model_class, config, folder)
        model, info = model_class.from_pretrained(
            folder, config=config, output_loading_info=True, **settings
        )
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{address.text}: {folder} cannot be loaded ({reason_of(error)})"
        ) from None
    # Weights that do not fit.
    for name, fault in (
        ("mismatched_keys", "has another shape than in"),
        ("missing_keys", "is missing, required by"),
    ):
        if wrong := sorted(
            str(key[0] if isinstance(key, tuple) else key) for key in info.get(name, ())
        ):
            further = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
            raise InputError(
                f"{address.text}: the weights do not fit the configuration: {wrong[0]}{further}"
                f" {fault} config.json"
            )
    check_finite(folder, model.state_dict())
    return model if device_map else model.to(device)


def _check_size(model_class: Any, config: Any, folder: Path) -> None:
    """Before allocation, check that a configuration has no more parameters than the weight files
    can hold.
    """
    import torch

    unset: Any = contextlib.nullcontext
    with contextlib.suppress(ImportError):  # without it the check is only slower
        from transformers.initialization import no_init_weights as unset
    with torch.device("meta"), unset():
        model = model_class.from_config(config)
        model.tie_weights()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    weight_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    # Parameters have at least four bits; tables of positions may be computed, not stored.
    if parameters > 2 * weight_bytes + COMPUTED:
        raise InputError(
            f"{folder / 'config.json'}: has {parameters:,} parameters, too many for"
            f" {weight_bytes:,} bytes of weights; it belongs to another model"
        )


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Suppress the progress bars and messages of transformers; the relevant ones are errors
    here.
    """
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
