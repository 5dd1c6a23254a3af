"""SMCalFlow-CS: calendar requests that combine two skills, few of them in training (Yin et al.,
NAACL 2021).
"""

from collections.abc import Iterator
from pathlib import Path

from cgbench.data_recipes.csl.programs import prepared_pairs, spaced
from cgbench.data_recipes.recipe import Recipe, Source, Sources, Split, Writer
from cgbench.errors import InputError
from cgbench.files import parse_json
from cgbench.text.streams import read_lines

ARCHIVE = "reg_attn_data.zip"
FOLDER = "smcalflow_cs/calflow.orgchart.event_create/source_domain_with_target_num"
SHOTS = (0, 8, 16, 32, 64, 128)  # compositional pairs in training
ALIGNED = "train.alignment.jsonl"  # the training pairs with the authors' spans
SUBSETS = {"train": None, "valid": 1_324, "test": 1_325}
COMPOSITIONAL_SUBSETS = {"valid-compositional": 662, "test-compositional": 663}
COMPOSITIONAL = "events_with_orgchart"  # the tag of requests that need both skills
# Of a copy of the archive's files (connermanuel/cm-takehome @ 6cca214); the archive itself was
# never read.
HASHES = {
    "num128.valid.jsonl": (
        "sha256:1d6134b15d6eaa99bdd9f3318fe8f0b2a0614f87096c7a4164316ee96050c640",
    ),
    "num128.test.jsonl": (
        "sha256:b7735e29bcd7f8547d5ad12519bed7cd8347b7b4a5fbe057ccb6f1e8897a017a",
    ),
}


def read_requests(path: Path) -> Iterator[tuple[str, str, str]]:
    """Utterance, plan, and whether the request is ``compositional`` or ``single``.

    :raises InputError: a row is not such a record.
    """
    for row, line in enumerate(read_lines(path, sentences=False), 1):
        try:
            record = parse_json(line, f"{path}, row {row}")
            utterance, plan, tags = (record[key] for key in ("utterance", "plan", "tags"))
            yield utterance, plan, "compositional" if COMPOSITIONAL in tags else "single"
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{path}, row {row}: not a record with utterance, plan and tags ({error!r})"
            ) from None


def read_aligned_spans(path: Path) -> Iterator[str]:
    """Per request, the spans that the authors aligned, as ``--set method.spans=FILE`` reads them.

    :raises InputError: a row is not such a record.
    """
    for row, line in enumerate(read_lines(path, sentences=False), 1):
        try:
            spans = []
            for entry in parse_json(line, f"{path}, row {row}")["alignments"]:
                target, source = (
                    "-".join(str(int(index)) for index in entry[f"{side}_tokens_idx"])
                    for side in ("target", "source")
                )
                spans.append(f"{target}:{source}")
            yield " ".join(spans)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}, row {row}: not a record of alignments ({error!r})") from None


def prepare_smcalflow(sources: Sources, out: Writer) -> None:
    """Write the splits of each number of compositional training pairs."""
    for shots in SHOTS:
        for subset in SUBSETS:
            if not (paths := sources.find(f"num{shots}.{subset}.jsonl")):
                continue
            name = f"num{shots}/{subset}"
            sides: tuple[str, ...] = ("src", "tgt", "kind")
            rows: list[tuple[str, ...]] = list(read_requests(paths[0]))
            if aligned := subset == "train" and sources.find(f"num{shots}.{ALIGNED}"):
                spans = list(read_aligned_spans(aligned[0]))
                if len(spans) != len(rows):
                    raise InputError(
                        f"{aligned[0]}: has {len(spans):,} rows, but {paths[0]} {len(rows):,}"
                    )
                rows = [(*row, line) for row, line in zip(rows, spans, strict=True)]
                sides += ("spans",)
            out.split(name, rows, sides=sides)
            if subset == "train":
                pairs = prepared_pairs((request, program) for request, program, *_ in rows)
                out.split(f"{name}-spaced", pairs)
            else:
                chosen = [row for row in rows if row[2] == "compositional"]
                out.split(f"{name}-compositional", chosen, sides=sides)
                pairs = [(spaced(request), program) for request, program, *_ in chosen]
                out.split(f"{name}-compositional-spaced", pairs)


def _sources() -> Iterator[Source]:
    yield Source(ARCHIVE, f"https://www.cs.cmu.edu/~pengchey/{ARCHIVE}")
    for shots in SHOTS:
        for subset in SUBSETS:
            name = f"num{shots}.{subset}.jsonl"
            yield Source(
                name,
                hashes=HASHES.get(name, ()),
                archive=ARCHIVE,
                member=f"{FOLDER}{shots}/{subset}.jsonl",
            )
        yield Source(
            f"num{shots}.{ALIGNED}",
            archive=ARCHIVE,
            member=f"{FOLDER}{shots}/{ALIGNED}",
        )


RECIPES = (
    Recipe(
        name="smcalflow-cs",
        summary="calendar requests and programs, few-shot",
        licence="CC BY-SA 4.0",
        citation=(
            "Yin et al., Compositional Generalization for Neural Semantic Parsing via Span-level"
            " Supervised Attention, NAACL 2021"
        ),
        homepage="https://github.com/microsoft/compositional-generalization-span-level-attention",
        sides=("src", "tgt"),
        size="2,649 requests and training",
        splits=tuple(
            Split(f"num{shots}/{subset}", rows if shots == 128 else None)
            for shots in SHOTS
            for subset, rows in {
                **SUBSETS,
                "train-spaced": None,
                **COMPOSITIONAL_SUBSETS,
                **{f"{name}-spaced": rows for name, rows in COMPOSITIONAL_SUBSETS.items()},
            }.items()
        ),
        sources=tuple(_sources()),
        prepare=prepare_smcalflow,
        notes=(
            "numN has N compositional pairs in training; .kind marks the compositional rows",
            "-spaced: with spaces around punctuation, as CSL reads requests; in training, only"
            " pairs whose requests have the names and years of their programs",
            ".spans of training: spans of target and source words, where the authors' alignments"
            " are available",
        ),
        revision=3,
    ),
)
