"""Compare our models with the authors' own, which have the same weights: random ones.

    python lab/authors_models.py CODE [float64]

CODE holds copies of these repositories: ``syntactic_attention`` (github.com/jlrussin), ``lexical``
(ekinakyurek), ``transformer_generalization`` (RobertCsordas). Prints a row per model: how many
log-probabilities (of Transformers logits) were compared, their largest difference, and parameters
without those that belong to single words, ours and theirs. In float64, differences of rounding
vanish.
"""

import importlib.util
import random
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cgbench.models.config.architectures import build_model
from cgbench.models.config.presets import load_preset
from cgbench.models.parts.ragged import Ragged

SOURCE, TARGET = 24, 18  # vocabulary sizes
BOS, PAD, EOS, UNK, WORDS = 0, 1, 2, 3, 4  # our ids; words follow
SENTENCES = 32
KNOWN = [EOS, *range(WORDS, TARGET)]  # what both models can predict

Sentences = list[list[int]]
Compared = tuple[str, list[tuple[Tensor, Tensor]], nn.Module, nn.Module]


def sentences(draw: random.Random, size: int, longest: int) -> Sentences:
    """Random sentences of our ids, with their ends."""
    lengths = [draw.randint(1, longest) for _ in range(SENTENCES)]
    return [[*draw.choices(range(WORDS, size), k=length), EOS] for length in lengths]


def our_model(preset: str, changes: dict[str, Any]) -> tuple[Any, Any]:
    """Our model and its configuration."""
    config = load_preset(preset).replace(changes).model
    return build_model(config, SOURCE, TARGET).eval(), config


def padded(lists: Sentences, id_of: Callable[[int], int], *, first: bool) -> Tensor:
    """Their ids; ``first``: whether sentences are the first dimension."""
    rows = [torch.tensor(list(map(id_of, ids))) for ids in lists]
    return nn.utils.rnn.pad_sequence(rows, batch_first=first)


def load_file(path: Path, name: str) -> Any:
    """A module from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def syntactic_attention(code: Path, draw: random.Random) -> Iterator[Compared]:
    """SyntAtt, whose code has no masks, so one sentence at a time."""
    module = load_file(code / "syntactic_attention/SyntacticAttention.py", "syntactic_authors")
    for read_syntax in (False, True):
        ours, config = our_model("syntactic_attention_scan", {"model.read_syntax": read_syntax})
        theirs = module.Seq2SeqSynAttn(
            *(SOURCE, config.meaning_width, 2 * config.syntax_width, TARGET, "LSTM", 1),
            *(config.dropout, False, read_syntax, False, None, "cpu"),
        ).eval()
        encoder, decoder = theirs.encoder, theirs.decoder
        same = (
            *((ours.meaning, encoder.W_m), (ours.syntax, encoder.W_x)),
            *((ours.around, encoder.rnn1), (ours.encoder, encoder.rnn2)),
            *((ours.begin, encoder.fc0), (ours.output, decoder.out)),
        )
        for our_part, their_part in same:
            our_part.load_state_dict(their_part.state_dict())
        ours.ends.copy_(torch.cat((encoder.SOS_embed.weight, encoder.EOS_embed.weight)))
        copy_cell(ours.cell, decoder.rnn, 0)
        source, target = sentences(draw, SOURCE, 8), sentences(draw, TARGET, 20)
        logits = ours(Ragged.pack(source), Ragged.pack(target))
        rows = torch.log_softmax(logits, 1).split(list(map(len, target)))
        pairs = []
        for words, actions, row in zip(source, target, rows, strict=True):
            begun = [torch.tensor([BOS, *ids]) for ids in (words, actions)]
            pairs.append((row, theirs(begun[:1], begun[1:])[0][0].T))
        yield f"SyntAtt, read_syntax={read_syntax}", pairs, ours, theirs


def copy_cell(cell: nn.LSTMCell, lstm: nn.LSTM, layer: int) -> None:
    """Copy a layer of an LSTM."""
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).copy_(getattr(lstm, f"{name}_l{layer}"))


def lexical(code: Path, draw: random.Random) -> Iterator[Compared]:
    """LSTMs without a lexicon and with each kind of one."""
    sys.path.insert(0, str(code / "lexical"))
    from absl import flags  # type: ignore[import-not-found, import-untyped, unused-ignore]

    for name in ("highdrop", "highdroptest", "debug"):
        flags.DEFINE_bool(name, False, "")
    flags.DEFINE_float("highdropvalue", 0.5, "")
    flags.FLAGS(["lexical"])
    src: Any = importlib.import_module("src")
    for preset, kind in (
        *(("lstm_scan", "none"), ("lstm_lexicon_scan", "hard"), ("lstm_lexicon_scan", "soft")),
        *(("lstm_lexicon_cogs", "copy"), ("lstm_lexicon_cogs", "learned")),
    ):
        ours, config = our_model(preset, {} if kind == "none" else {"model.lexicon": kind})
        vocabularies = src.Vocab(), src.Vocab()
        for vocabulary, size in zip(vocabularies, (SOURCE, TARGET), strict=True):
            for number in range(WORDS, size):
                vocabulary.add(f"word{number}")
        # Their special words are padding, beginning, end, copy and unknown.
        special, copied = {BOS: 1, PAD: 0, EOS: 2, UNK: 4}, 3
        their_ids = [special.get(number, number + 1) for number in range(SOURCE)]
        theirs = src.EncDec(
            *(*vocabularies, config.width, config.width),
            copy=kind != "none",
            n_layers=config.encoder_layers,
            bidirectional=False,
            source_att=True,
        ).eval()
        decoder, targets = theirs.decoder, their_ids[:TARGET]
        decoder.predict.weight.mul_(3)  # so that predictions are sharper
        ours.source_embedding.weight.copy_(theirs.encoder.embed.weight[their_ids])
        ours.target_embedding.weight.copy_(decoder.embed.weight[targets])
        ours.encoder.load_state_dict(theirs.encoder.rnn.state_dict())
        for layer, cell in enumerate(ours.cells):
            copy_cell(cell, decoder.rnn, layer)
        ours.attention.load_state_dict(decoder.attention_0.make_query.state_dict())
        ours.mix.load_state_dict(decoder.combine.state_dict())
        ours.output.weight.copy_(decoder.predict.weight[targets])
        ours.output.bias.copy_(decoder.predict.bias[targets])
        if kind != "none":
            ours.lexical.gate.weight.copy_(decoder.predict.weight[[copied]])
            ours.lexical.gate.bias.copy_(decoder.predict.bias[[copied]])
            decoder.copy_translation = their_lexicon(src, ours, kind, their_ids)
        source = sorted(sentences(draw, SOURCE, 9), key=len, reverse=True)
        target = sentences(draw, TARGET, 20)
        read = [[BOS, *ids[:-1]] for ids in target]
        logits = ours(Ragged.pack(source), Ragged.pack(read))[:, KNOWN]
        rows = torch.log_softmax(logits, 1).split(list(map(len, target)))
        begun = [[BOS, *ids] for ids in source]
        x, y = (padded(lists, their_ids.__getitem__, first=False) for lists in (begun, read))
        states, last = theirs.encoder(x, lens=torch.tensor(list(map(len, begun))))
        predictions, *_ = decoder(
            *(theirs.pass_hiddens(last), len(y)),
            ref_tokens=y,
            att_features=[theirs.proj(states)],
            att_tokens=[x],
        )
        predictions = predictions[:, :, [their_ids[number] for number in KNOWN]].log_softmax(2)
        pairs = [(row, predictions[: len(row), place]) for place, row in enumerate(rows)]
        yield f"LSTM, lexicon={kind}", pairs, ours, theirs


def their_lexicon(src: Any, ours: Any, kind: str, their_ids: Sequence[int]) -> Any:
    """Load a random lexicon into our model, and return it in their form."""
    import numpy as np

    matrix = torch.rand(SOURCE, TARGET).pow(4)
    matrix[:, [BOS, PAD, UNK]] = 0
    if kind == "copy":
        matrix = torch.eye(SOURCE, TARGET)
        matrix[:WORDS] = 0
    elif kind == "hard":
        matrix[[EOS, 7]] = 0  # words without an entry
    ours.lexical.load(matrix / matrix.sum(1, keepdim=True).clamp_min(1e-9))
    if kind in ("copy", "hard"):
        words = np.zeros(SOURCE + 1, dtype=np.int64)
        for number, aligned in enumerate(ours.lexical.aligned.tolist()):
            words[their_ids[number]] = their_ids[aligned]
        return words
    rows = ours.lexical.rows if kind == "learned" else ours.lexical.rows.log()
    logits = torch.full((SOURCE + 1, TARGET + 1), -99999.0)
    for number in range(SOURCE):
        logits[their_ids[number], list(their_ids[:TARGET])] = rows[number].clamp_min(-99999)
    lexicon = importlib.import_module("src.projection").SoftAlign(logits.numpy(), False)
    lexicon.proj.data = logits
    return lexicon


def transformers(code: Path, draw: random.Random) -> Iterator[Compared]:
    """The Transformers of "The Devil is in the Detail"."""
    folder = code / "transformer_generalization"
    # Of their framework, only positions are needed; the rest imports loggers.
    framework: Any = types.ModuleType("framework")
    framework.layers = load_file(folder / "framework/layers/positional_encoding.py", "positions")
    result = type("DotDict", (dict,), {"__getattr__": dict.__getitem__})
    framework.data_structures = types.SimpleNamespace(DotDict=result)
    sys.modules["framework"] = framework
    sys.path.insert(0, str(folder))
    layers: Any = importlib.import_module("layers.transformer")
    model: Any = importlib.import_module("models.transformer_enc_dec").TransformerEncDecModel
    down = {"embedding_init": "kaiming", "scale_mode": "down"}
    up = {"embedding_init": "xavier", "scale_mode": "opennmt"}
    relative = {"embedding_init": "xavier", "pos_embeddig": lambda x, offset: x}
    for preset, kind, options in (
        ("transformer_scan_ped", layers.Transformer, down),
        ("transformer_cogs_teu", layers.Transformer, up),
        ("transformer_scan_none", layers.Transformer, {}),
        ("transformer_scan_relative", layers.RelativeTransformer, relative),
        ("universal_scan_ped", layers.UniversalTransformer, down),
        ("universal_scan_relative", layers.UniversalRelativeTransformer, relative),
    ):
        ours, config = our_model(preset, {})
        theirs = model(
            *(SOURCE - WORDS, TARGET - WORDS, config.width),
            nhead=config.attention_heads,
            num_encoder_layers=config.encoder_layers,
            num_decoder_layers=config.decoder_layers,
            ff_multiplier=config.feedforward_width / config.width,
            transformer=kind,
            tied_embedding=True,
            **options,
        ).eval()
        for parameter in theirs.parameters():
            if parameter.ndim == 1 or len(parameter) == config.attention_heads:
                parameter.add_(0.2 * torch.randn_like(parameter))

        # Their end of a sentence follows the words; the beginning of a source follows it.
        def source_id(number: int) -> int:
            return {BOS: SOURCE - 3, EOS: SOURCE - 4}.get(number, max(number - WORDS, 0))

        def target_id(number: int) -> int:
            return TARGET - WORDS if number == EOS else max(number - WORDS, 0)

        targets = list(map(target_id, range(TARGET)))
        sources = list(map(source_id, range(SOURCE)))
        ours.source_embedding.weight.copy_(theirs.input_embedding.weight[sources])
        ours.target_embedding.weight.copy_(theirs.output_embedding.weight[targets])
        ours.output_bias.copy_(theirs.output_map.bias[targets])
        for side in ("encoder", "decoder"):
            for layer, their_layer in zip(
                getattr(ours, side), getattr(theirs.trafo, side).layers, strict=False
            ):
                copy_layer(layer, their_layer)
        source, target = sentences(draw, SOURCE, 9), sentences(draw, TARGET, 20)
        read = Ragged.pack([[EOS, *ids[:-1]] for ids in target])
        rows = ours(Ragged.pack(source), read)[:, KNOWN].split(list(map(len, target)))
        x, y = padded(source, source_id, first=True), padded(target, target_id, first=True)
        lengths = [torch.tensor(list(map(len, lists))) for lists in (source, target)]
        logits = theirs(x, lengths[0], y, lengths[1], True).data
        logits = logits[:, :, [target_id(number) for number in KNOWN]]
        yield (
            preset,
            [(row, logits[place, : len(row)]) for place, row in enumerate(rows)],
            ours,
            theirs,
        )


def copy_layer(layer: Any, theirs: Any) -> None:
    """Copy an encoder or decoder layer."""
    attention, their_attention = layer.attention, theirs.self_attn
    parts = their_attention.data_to_q.weight, *keys_and_values(their_attention)
    attention.project_in.weight.copy_(torch.cat(parts))
    attention.project_out.weight.copy_(their_attention.multi_head_merge.weight)
    if hasattr(their_attention, "pos_to_pq"):
        attention.relative.project.weight.copy_(their_attention.pos_to_pq.weight)
        attention.relative.content.copy_(their_attention.global_content_bias[:, None])
        attention.relative.position.copy_(their_attention.global_pos_bias[:, None])
    norms = [layer.attention_norm, layer.feed_forward_norm]
    if cross := getattr(layer, "cross", None):
        norms.insert(1, layer.cross_norm)
        cross.project_query.weight.copy_(theirs.multihead_attn.data_to_q.weight)
        cross.project_memory.weight.copy_(torch.cat(keys_and_values(theirs.multihead_attn)))
        cross.project_out.weight.copy_(theirs.multihead_attn.multi_head_merge.weight)
    for number, norm in enumerate(norms, 1):
        norm.load_state_dict(getattr(theirs, f"norm{number}").state_dict())
    layer.feed_forward.expand.load_state_dict(theirs.linear1.state_dict())
    layer.feed_forward.contract.load_state_dict(theirs.linear2.state_dict())


def keys_and_values(attention: Any) -> tuple[Tensor, Tensor]:
    """Their maps of keys and values, which alternate by head."""
    weight, heads = attention.data_to_kv.weight, attention.n_heads
    by_head = weight.view(heads, 2, -1, weight.shape[1])
    return by_head[:, 0].flatten(0, 1), by_head[:, 1].flatten(0, 1)


def parameters(model: nn.Module) -> int:
    """The number of parameters that belong to no single word."""
    sizes = SOURCE, SOURCE + 1, SOURCE - 2, TARGET, TARGET + 1, TARGET - 3
    return sum(
        item.numel()
        for name, item in model.named_parameters()
        if len(item) not in sizes and "gate" not in name  # theirs is the row of a word, to copy
    )


def main(folder: str, precision: str = "float32") -> None:
    """Print the rows."""
    torch.set_default_dtype(getattr(torch, precision))
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    draw = random.Random(0)
    for compare in (syntactic_attention, lexical, transformers):
        for name, pairs, ours, theirs in compare(Path(folder), draw):
            count = sum(row.numel() for row, _ in pairs)
            largest = max(float((row - other).abs().max()) for row, other in pairs)
            top = max(float(row.abs().max()) for row, _ in pairs)
            sizes = f"{parameters(ours):,}, {parameters(theirs):,}"
            print(
                f"{name}: {count:,} numbers of up to {top:.0f}, largest difference {largest:.1e};"
                f" parameters {sizes}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
