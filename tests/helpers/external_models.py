"""Tiny random models of others, made from configurations and written as folders; nothing is
downloaded.
"""

import torch

WORDS = (
    *("der", "die", "hund", "katze", "vogel", "schläft", "sieht", "singt"),
    *("the", "dog", "cat", "bird", "sleeps", "sees", "sings"),
)
SPECIALS = ("<pad>", "</s>", "<unk>")
LINES = [
    "der hund schläft",
    "die katze sieht der vogel",
    "der vogel singt",
    "die katze",
    "der hund sieht die katze",
]
PROMPT = "der die {source} the"


def tokenizer(words=WORDS, codes=()):
    """A word a token, the end token last; nothing before the sentence."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    table = {word: number for number, word in enumerate([*SPECIALS, *words, *codes])}
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        extra_special_tokens=list(codes),
    )


def prompted_tokenizer():
    """The same for a decoder: no end token behind what it reads."""
    from tokenizers import processors

    made = tokenizer()
    made.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A", special_tokens=[]
    )
    return made


def configuration(kind, dropout=0.0, words=WORDS):
    import transformers

    size = len(SPECIALS) + len(words)
    ends = {"vocab_size": size, "pad_token_id": 0, "eos_token_id": 1}
    sides = {
        **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
        **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": 16 for side in ("encoder", "decoder")},
    }
    if kind == "marian":
        return transformers.MarianConfig(
            d_model=16,
            max_position_embeddings=32,
            decoder_start_token_id=0,
            dropout=dropout,
            **ends,
            **sides,
        )
    if kind == "bart":
        return transformers.BartConfig(
            d_model=16,
            max_position_embeddings=32,
            decoder_start_token_id=1,
            forced_bos_token_id=3,
            bos_token_id=3,
            dropout=dropout,
            **ends,
            **sides,
        )
    if kind == "t5":
        return transformers.T5Config(
            d_model=16,
            d_kv=8,
            d_ff=16,
            num_layers=1,
            num_heads=2,
            decoder_start_token_id=0,
            dropout_rate=dropout,
            **ends,
        )
    return transformers.GPT2Config(
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=64,
        resid_pdrop=dropout,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        **ends,
    )


SHARPER = {"marian": 6.0, "bart": 6.0, "t5": 2.0, "gpt2": 6.0}  # T5's logits are large as it is


def write_model(folder, kind="marian", seed=0, dropout=0.0, words=WORDS):
    """An untrained model with its tokenizer, sharpened so that members disagree; returns its
    address.
    """
    import transformers

    torch.manual_seed(seed)
    config = configuration(kind, dropout, words)
    auto = (
        transformers.AutoModelForSeq2SeqLM if kind != "gpt2" else transformers.AutoModelForCausalLM
    )
    model = auto.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(SHARPER[kind])
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.normal_()
    model.save_pretrained(folder)
    (prompted_tokenizer() if kind == "gpt2" else tokenizer(words)).save_pretrained(folder)
    return f"hf:{folder}"


def marked_tokenizer(words=WORDS):
    """A word a token, after RoBERTa's and BART's first ids and before <mask>; <s> before and </s>
    after a sentence.
    """
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    table = {
        word: number
        for number, word in enumerate(["<s>", "<pad>", "</s>", "<unk>", *words, "<mask>"])
    }
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    names = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **{f"{name}_token": token for name, token in names.items()}
    )


def write_roberta(folder, seed=0, words=WORDS, **changes):
    """An untrained RoBERTa with a tokeniser of its form, its weights far from zero; returns its
    address.
    """
    import transformers

    config = transformers.RobertaConfig(
        **{
            **{
                "vocab_size": len(words) + 5,
                "hidden_size": 16,
                "num_hidden_layers": 3,
                "num_attention_heads": 2,
            },
            **{
                "intermediate_size": 32,
                "max_position_embeddings": 40,
                "type_vocab_size": 1,
                "layer_norm_eps": 1e-5,
            },
            **changes,
        }
    )
    torch.manual_seed(seed)
    return _write_far_from_zero(
        transformers.RobertaForMaskedLM(config).eval(), marked_tokenizer(words), folder
    )


BERT_WORDS = (*WORDS, "un", "##known", "##s", ",", "'", "10")


def bert_tokenizer(words=BERT_WORDS):
    """Pieces of words in lower case, with BERT's special tokens at its ids; [CLS] before and [SEP]
    after a sentence.
    """
    import transformers
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    entries = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    table = {word: number for number, word in enumerate(entries)}
    made = Tokenizer(models.WordPiece(table, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 3), ("[SEP]", 4)]
    )
    names = {"cls": "[CLS]", "pad": "[PAD]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **{f"{name}_token": token for name, token in names.items()}
    )


def write_bert(folder, seed=0, words=BERT_WORDS, **changes):
    """An untrained BERT with a tokeniser of its form, its weights far from zero; returns its
    address.
    """
    import transformers

    shape = {
        "vocab_size": len(words) + 6,
        "hidden_size": 16,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 40,
    }
    torch.manual_seed(seed)
    config = transformers.BertConfig(**{**shape, **changes})
    return _write_far_from_zero(
        transformers.BertForMaskedLM(config).eval(), bert_tokenizer(words), folder
    )


def write_bart(folder, seed=0, words=WORDS, **changes):
    """An untrained BART with a tokeniser of its form, its weights far from zero; returns its
    address.
    """
    import transformers

    config = transformers.BartConfig(
        **{
            **{
                "vocab_size": len(words) + 5,
                "d_model": 16,
                "encoder_layers": 3,
                "decoder_layers": 2,
            },
            **{"encoder_attention_heads": 2, "decoder_attention_heads": 4},
            **{"encoder_ffn_dim": 32, "decoder_ffn_dim": 24},
            **{
                "max_position_embeddings": 38,
                "bos_token_id": 0,
                "pad_token_id": 1,
                "eos_token_id": 2,
            },
            **{"decoder_start_token_id": 2, "forced_bos_token_id": 0, "forced_eos_token_id": 2},
            **changes,
        }
    )
    torch.manual_seed(seed)
    return _write_far_from_zero(
        transformers.BartForConditionalGeneration(config).eval(), marked_tokenizer(words), folder
    )


def _write_far_from_zero(model, kept, folder):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    kept.save_pretrained(folder)
    return f"hf:{folder}"


def forced_log_probs(member, lines, targets):
    """Natural log-probabilities at every target token, [T, vocabulary]."""
    return torch.log_softmax(member.head().to("cpu").logits(member.states(lines, targets)), 1)
