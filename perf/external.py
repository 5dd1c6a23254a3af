"""Models from outside: `translate` against transformers' own `generate`, uncertainty against plain
passes, its memory.

``python perf/external.py [translate] [uncertainty] [memory]``, with ``pip install '.[hf]'``. Models
are Marian's, with random weights, made here; nothing is downloaded. Ratios are medians of the
ratios of neighbours in turn, with their range.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from model_work import Setting, in_turn, spread

from cgbench.engines import Local
from cgbench.models.external.opening import plan_member
from cgbench.models.external.token_space import Measurement, measure_in_token_space
from cgbench.models.search_settings import SearchSettings

SPECIALS = ("<pad>", "</s>", "<unk>")
MEMBERS = 5


def write_model(folder: Path, words: int, width: int, layers: int, seed: int) -> str:
    """A Marian with random weights and a word a token; returns its address."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    table = {
        word: number
        for number, word in enumerate([*SPECIALS, *(f"w{i}" for i in range(words - len(SPECIALS)))])
    }
    made = Tokenizer(models.WordLevel(table, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    sides = ("encoder", "decoder")
    config = transformers.MarianConfig(
        vocab_size=len(table),
        d_model=width,
        max_position_embeddings=128,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
        forced_eos_token_id=None,
        **{f"{side}_layers": layers for side in sides},
        **{f"{side}_attention_heads": 4 for side in sides},
        **{f"{side}_ffn_dim": 2 * width for side in sides},
    )
    torch.manual_seed(seed)
    transformers.MarianMTModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return f"hf:{folder}"


def sentences(count: int, words: int, least: int, most: int, seed: int = 0) -> list[str]:
    """Random sentences of random lengths."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(least, most + 1, count)
    return [
        " ".join(f"w{i}" for i in rng.integers(0, words - len(SPECIALS), length))
        for length in lengths
    ]


def translate(folder: Path, setting: Setting) -> tuple[str, str, str]:
    """Beam 5 to the limit of length (random weights seldom end), by 32 sentences, as somebody would
    write it.
    """
    count, words = 64, 4000
    lines = sentences(count, words, 6, 24)
    member = plan_member(write_model(folder / "translate", words, 128, 2, 0)).open()
    model, tokenizer = member.model, member.tokenizer

    def ours() -> None:
        assert len(member.translate(lines, SearchSettings(beam=5), batch_tokens=32 * 24)) == count

    def theirs() -> None:
        written = []
        for first in range(0, count, 32):
            given = tokenizer(lines[first : first + 32], return_tensors="pt", padding=True)
            given.pop("token_type_ids", None)
            most = int(given["input_ids"].shape[1] * 1.2 + 10)
            with torch.inference_mode():
                found = model.generate(
                    **given,
                    num_beams=5,
                    max_new_tokens=most + 1,
                    do_sample=False,
                    early_stopping=True,
                )
            written += tokenizer.batch_decode(found, skip_special_tokens=True)
        assert len(written) == count

    series = in_turn({"ours": ours, "theirs": theirs}, setting, setting.repeat)
    return (
        (
            f"beam 5, {count} sentences of 6 to 24 words, Marian 2+2, width 128, {words:,} words;"
            f" {setting.repeat} rounds"
        ),
        (
            f"{series.median('ours'):.2f} s = {spread(series.ratios('ours', 'theirs'))} x"
            f" `generate` alone ({series.median('theirs'):.2f} s)"
        ),
        "1 x",
    )


def uncertainty(folder: Path, setting: Setting) -> tuple[str, str, str]:
    """All measures of given translations by five members, loading included, against their passes,
    models loaded.
    """
    count, words = 100, 64_000
    planned = [
        plan_member(write_model(folder / f"m{seed}", words, 128, 2, seed))
        for seed in range(MEMBERS)
    ]
    source, target = (sentences(count, words, 8, 24, seed) for seed in range(2))
    opened = [member.open() for member in planned]
    calls = iter(range(1000))

    def ours() -> None:
        out = folder / f"measures-{next(calls)}"
        out.mkdir()
        measure_in_token_space(Measurement(tuple(planned), source, target), out, Local(1))

    def theirs() -> None:
        order = sorted(range(count), key=lambda row: len(target[row].split()))
        for member in opened:
            for first in range(0, count, 32):
                rows = order[first : first + 32]
                given = member.tokenizer(
                    [source[row] for row in rows], return_tensors="pt", padding=True
                )
                labels = member.tokenizer(
                    [target[row] for row in rows], return_tensors="pt", padding=True
                )["input_ids"]
                read = torch.cat((torch.zeros_like(labels[:, :1]), labels[:, :-1]), 1)
                with torch.inference_mode():
                    logits = member.model(
                        input_ids=given["input_ids"],
                        attention_mask=given["attention_mask"],
                        decoder_input_ids=read,
                    ).logits
                    torch.log_softmax(logits, -1).gather(2, labels[:, :, None])

    series = in_turn({"ours": ours, "theirs": theirs}, setting, setting.repeat)
    return (
        (
            f"uncertainty, {MEMBERS} members of {words:,} words, width 128, {count} candidates;"
            f" {setting.repeat} rounds"
        ),
        (
            f"{series.median('ours'):.2f} s = {spread(series.ratios('ours', 'theirs'))} x five"
            f" teacher-forced passes ({series.median('theirs'):.2f} s)"
        ),
        "1.2 x at most",
    )


def memory(folder: Path, setting: Setting) -> tuple[str, str, str]:
    """The largest memory of a process that measures 1,000 candidates, and of one that measures
    10,000.
    """
    for seed in range(MEMBERS):
        write_model(folder / f"memory-{seed}", 64_000, 32, 1, seed)
    peaks = []
    for count in (1_000, 10_000):
        command = [sys.executable, __file__, "--measure", str(folder), str(count)]
        peaks.append(
            int(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[
                    -1
                ]
            )
        )
    return (
        (
            f"largest memory, {MEMBERS} members of 64,000 words, width 32, 1,000 and 10,000"
            " candidates of 2 to 4 words"
        ),
        (
            f"{peaks[0] / 1024:,.0f} MiB and {peaks[1] / 1024:,.0f} MiB:"
            f" {100 * (peaks[1] / peaks[0] - 1):+.1f}%"
        ),
        "within 10%",
    )


def measure(folder: Path, count: int) -> None:
    """What :func:`memory` starts: measures, and prints its largest memory in KiB."""
    torch.set_num_threads(1)
    source, target = (sentences(count, 64_000, 2, 4, seed) for seed in range(2))
    out = folder / f"memory-{count}"
    out.mkdir()
    members = tuple(plan_member(f"hf:{folder / f'memory-{seed}'}") for seed in range(MEMBERS))
    measure_in_token_space(Measurement(members, source, target), out, Local(1))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--measure", nargs=2, metavar=("FOLDER", "COUNT"))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(Path(arguments.measure[0]), int(arguments.measure[1]))
        sys.exit()
    torch.set_num_threads(1)  # as commands do
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as scratch:
        for part in (translate, uncertainty, memory):
            if not arguments.parts or part.__name__ in arguments.parts:
                row = part(Path(scratch), Setting("cpu", arguments.repeat, torch.float32))
                print("| " + " | ".join(row) + " |", flush=True)
