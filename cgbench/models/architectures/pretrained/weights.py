"""Map the parameters of RoBERTa, BERT and BART to ours."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

_ROBERTA = {
    "attention.project_in": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.project_out": ("attention.output.dense",),
    "attention_norm": ("attention.output.LayerNorm",),
    "feed_forward.expand": ("intermediate.dense",),
    "feed_forward.contract": ("output.dense",),
    "feed_forward_norm": ("output.LayerNorm",),
}
_BART = {
    "attention.project_in": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.project_out": ("self_attn.out_proj",),
    "attention_norm": ("self_attn_layer_norm",),
    "feed_forward.expand": ("fc1",),
    "feed_forward.contract": ("fc2",),
    "feed_forward_norm": ("final_layer_norm",),
}
_BART_CROSS = {
    "cross.project_query": ("encoder_attn.q_proj",),
    "cross.project_memory": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "cross.project_out": ("encoder_attn.out_proj",),
    "cross_norm": ("encoder_attn_layer_norm",),
}


@torch.no_grad()
def load_pretrained(model: Any, weights: Mapping[str, Tensor], mask: int | None) -> None:
    """Load the parameters of RoBERTa, BERT or BART into one of our models, in place.

    :param weights: named as in transformers' ``RobertaModel`` or ``BartModel``; ``mask``: id of its
        mask token, whose embedding initialises Dangle's end vector.
    """
    for parameter, names in named_parts(model):
        tensors = [weights[name] for name in names]
        if parameter is getattr(model.source_embedding, "token_type", None):
            tensors = [tensors[0][0]]  # BERT has a second type, for pairs of sentences
        parameter.copy_(torch.cat(tensors) if len(tensors) > 1 else tensors[0].view_as(parameter))
    if model.decodes_pretrained and hasattr(model, "target_type"):
        model.target_type.zero_()  # initially, prefixes are read like sources
    if mask is not None and hasattr(model, "end"):
        word = model.source_embedding.weight[mask]
        # Like the tokens of a prefix: normalised with BART, not normalised with RoBERTa.
        model.end.copy_(model.source_embedding.norm(word) if model.decodes_pretrained else word)


def named_parts(model: Any) -> Iterator[tuple[Tensor, list[str]]]:
    """Yield every pre-trained parameter of our model, with the names of its parts in
    transformers.
    """
    layers = [*getattr(model, "mixed", ()), *model.encoder]
    if not model.decodes_pretrained:
        block = model.source_embedding
        yield block.weight, ["embeddings.word_embeddings.weight"]
        yield block.positions.weight, ["embeddings.position_embeddings.weight"]
        yield block.token_type, ["embeddings.token_type_embeddings.weight"]
        yield from _parts(block.norm, {"": ("embeddings.LayerNorm",)})
        for index, layer in enumerate(layers):
            yield from _parts(layer, _ROBERTA, f"encoder.layer.{index}.")
        return
    yield model.source_embedding.weight, ["shared.weight"]
    sides = (
        ("encoder", model.source_embedding, layers),
        ("decoder", model.target_embedding, model.decoder),
    )
    for side, block, stack in sides:
        yield block.positions.weight, [f"{side}.embed_positions.weight"]
        yield from _parts(block.norm, {"": ("layernorm_embedding",)}, f"{side}.")
        for index, layer in enumerate(stack):
            yield from _parts(
                layer, _BART | (_BART_CROSS if side == "decoder" else {}), f"{side}.layers.{index}."
            )


def _parts(
    module: nn.Module, names: Mapping[str, tuple[str, ...]], prefix: str = ""
) -> Iterator[tuple[Tensor, list[str]]]:
    for submodule, sources in names.items():
        for kind in ("weight", "bias"):
            yield (
                module.get_submodule(submodule).get_parameter(kind),
                [f"{prefix}{name}.{kind}" for name in sources],
            )
