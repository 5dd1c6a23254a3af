"""Folders of strangers: models of Hugging Face with adapters and tokenisers, and our own with
links, pipes, devices.
"""

import json
import tempfile
from pathlib import Path

import mutators as m
from target import ENGLISH, GERMAN, Target, collected, made


def ours():
    """Splits and results of overlap: what stands in the place of a file, and JSON that is no more
    what it was.
    """
    files = made(
        {"t.de": GERMAN, "t.en": ENGLISH},
        ("split", "--method", "random", "--corpus", "{}/t.de", "{}/t.en", "--out", "{}/split"),
        ("overlap", "{}/t.de", "--corpus", "{}/t.de", "--out", "{}/found", "--jobs", "1"),
    )
    verify, degree = ("verify", "{}/split"), ("degree", "--known-from", "{}/found", "{}/t.de")
    for name in ("manifest.json", "split.tsv", "test.de"):
        yield Target(
            "verify", f"split: {name}", files, f"split/{name}", m.special, verify, refusals=(1, 2)
        )
    for name in ("known.json", "matches.npy", "SHA256SUMS", "automaton.table.npy", "words.json"):
        yield Target("degree --known-from", name, files, f"found/known/{name}", m.special, degree)


def many_lines():
    """A compressed hypothesis below every ratio of bytes, in very many lines."""
    import gzip

    lines = ENGLISH.encode()
    words = ("score", "exact", "--ref", "{}/r", "--hyp", "a={}/h.gz")
    files = {"r": lines, "h.gz": gzip.compress(lines, mtime=0)}
    yield Target("score exact", "gz of many lines", files, "h.gz", m.many_lines, words)


def hugging_face():
    """Whole models, and an adapter over one."""
    import peft
    import transformers
    from external_models import write_model

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for kind in ("marian", "t5", "gpt2"):
            write_model(folder / kind, kind)
        base = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder / "t5")
        settings = peft.LoraConfig(r=2, target_modules=r".*\.(q|v)", task_type="SEQ_2_SEQ_LM")
        adapted = peft.get_peft_model(base, settings)
        adapted.peft_config["default"].base_model_name_or_path = "t5"
        adapted.save_pretrained(folder / "lora", save_embedding_layers=False)
        keys = list(_keys(folder / "marian/model.safetensors"))
        files = collected(folder)
    index = {"metadata": {}, "weight_map": dict.fromkeys(keys, "part.safetensors")}
    files["cut/model.safetensors.index.json"] = json.dumps(index).encode()
    for name in [name for name in files if name.startswith("marian/")]:
        to = "part.safetensors" if name.endswith("model.safetensors") else name.partition("/")[2]
        files[f"cut/{to}"] = files[name]
    files["s"] = b"der hund\ndie katze sieht\n"
    models = {
        "marian": (
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        "gpt2": ("config.json", "generation_config.json"),
        "t5": ("config.json",),
        "cut": ("model.safetensors.index.json",),
        "lora": ("adapter_config.json",),
    }
    for folder, names in models.items():
        system = f"hf:{{}}/{folder}" if folder != "lora" else "hf:{}/t5?adapter={}/lora"
        words = (
            "translate",
            "--system",
            system,
            "--device",
            "cpu",
            "--beam",
            "1",
            "{}/s",
            "-o",
            "{}/out/t",
        )
        words += ("--prompt", "der {source} the") if folder == "gpt2" else ()
        own = [
            name
            for name in files
            if name.startswith((f"{folder}/", "t5/" if folder == "lora" else "s"))
        ]
        chosen = {name: files[name] for name in own if "/" in name or name == "s"} | {
            "s": files["s"]
        }
        for name in names:
            how = m.stranger_json
            yield Target(
                "translate --system",
                f"{folder}: {name}",
                chosen,
                f"{folder}/{name}",
                how,
                words,
                heavy=True,
            )


def _keys(path):
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return list(file.keys())
