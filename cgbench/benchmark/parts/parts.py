"""``parts()``: probes for the pieces of a test set, as ``cgbench parts`` writes them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.benchmark.candidates.scan import NGRAMS, WORDS, line_hashes
from cgbench.benchmark.divergence.elements import element_type
from cgbench.benchmark.known_ngrams.known import KnownNgrams, learn_sides
from cgbench.benchmark.known_ngrams.vocabulary import Vocabulary
from cgbench.benchmark.parts.folder import REASONS, SIDES, PartsFolder, check_output_folder, write_parts
from cgbench.benchmark.parts.forms import compound_candidates, element_candidates
from cgbench.benchmark.parts.ngrams import Limits, ngram_candidates
from cgbench.benchmark.parts.request import PartsRequest
from cgbench.benchmark.parts.select import Candidates, bound
from cgbench.benchmark.release.release import Release
from cgbench.errors import InputError, argument
from cgbench.requests import accepts, as_path
from cgbench.steps import Workspace, hash_value
from cgbench.tables import render
from cgbench.text.blocks import read_blocks
from cgbench.text.columns import Column
from cgbench.text.corpus import ParallelText, plan_text
from cgbench.text.formats import CorpusSpec
from cgbench.text.inputs import as_column, as_corpus, corpora_of
from cgbench.text.streams import read_lines

NGRAM_MIN_COUNT = 3
SETTINGS = ("k", "pieces", "neighbours", "max_length")


@accepts(PartsRequest)
def parts(request: PartsRequest) -> PartsFolder:
    """Find probes for the pieces of a test set: pairs that show whether a system knows its parts.

    Every piece of the test set gets up to k probes, in which it stands in known surroundings; one probe serves many
    pieces. The same input gives the same probes, whatever the order of the corpora's pairs.

    :raises InputError: an input is missing or invalid, or the output folder holds something else.
    """
    out = as_path(request.out)
    check_output_folder(out)
    if request.release is None and request.test is None:
        raise InputError(f"give a release, or a test set ({argument('test')})")
    if request.release is not None and request.test is not None:
        raise InputError(f"give a release or {argument('test')}, not both")
    with tempfile.TemporaryDirectory(prefix="cgbench-") as folder:
        texts = _Texts(request, Path(folder))
        if request.compounds is not None:
            found, match = _of_compounds(texts, as_column(request.compounds, "compounds", "compound")), "compound"
        elif request.pieces == "ngrams":
            found, match = _of_ngrams(texts), "words" if texts.side == "target" else "exact"
        else:
            found, match = _of_elements(texts), "exact"
        pieces, probes = found.select(request.k)
        manifest = {
            "version": __version__,
            "side": texts.side,
            "match": match,
            "k": request.k,
            "pieces": "compounds" if match == "compound" else request.pieces.split(":")[0],
            "settings": {name: getattr(request, name) for name in SETTINGS}
            | {"min_count": texts.min_count, "normalisation": texts.normalisation.settings},
            "inputs": texts.inputs,
            "bound": round(bound(found.served), 6),
        }
        return write_parts(out, pieces, probes, found.rows, manifest)


def report(found: PartsFolder) -> str:
    """What was found, as lines of text."""
    counts, reasons = found.manifest["counts"], found.manifest["reasons"]
    head = ["test rows", "pieces", "with a probe", f"with {found.k}", "rows all probed", "probes"]

    def share(name: str, of: str) -> str:
        return f"{counts[name]:,} ({100 * counts[name] / max(1, counts[of]):.1f} %)"

    row = [f"{counts['rows']:,}", f"{counts['pieces']:,}", share("probed", "pieces"), share("full", "pieces")]
    lines = [render(head, [[*row, share("rows_probed", "rows"), f"{counts['probes']:,}"]])]
    near = [piece.neighbours for piece in found.pieces if piece.neighbours is not None]
    if near:
        rows = [[str(known), f"{near.count(known):,}"] for known in (2, 1, 0)]
        lines += ["", render(["neighbours known with a piece in each probe", "pieces"], rows)]
    if reasons:
        lines += ["", render(["pieces", f"have fewer than {found.k} probes: they are"],
                             [[f"{count:,}", REASONS[name]] for name, count in reasons.items()])]  # fmt: skip
    return "\n".join(lines)


class _Texts:
    """The texts of a request as plain, normalised files, and their checksums for the manifest (``inputs``)."""

    def __init__(self, request: PartsRequest, folder: Path) -> None:
        self.request, self.folder = request, folder
        self.release = None if request.release is None else Release.of(request.release)
        self.inputs: dict[str, Any] = {}
        if self.release is not None:
            config = self.release.configuration
            self.normalisation, self.side = self.release.normalisation, request.side or str(config["degree_side"])
            self.min_count = int(request.min_count or config["ngram_min_count"])
            self.test = list(zip(*(self.release.lines(side) for side in SIDES), strict=True))
            self.inputs["release"] = self.release.signature
        else:
            spec = as_corpus(request.test, request.columns, "test", folder)
            self.normalisation, self.min_count = request.normalisation_of(spec), request.min_count or NGRAM_MIN_COUNT
            self.side = request.side or ("target" if request.pieces == "ngrams" else "source")
            self.test = pairs_of(self._plain("test", spec))
        self.limits = Limits(request.max_length, request.neighbours, request.k)
        self.other = SIDES[self.side == "source"]

    def train(self) -> ParallelText | None:
        """The training corpus; None if it is not where the release had it."""
        if self.request.train is not None:
            return self._plain("train", as_corpus(self.request.train, self.request.columns, "train", self.folder))
        if self.release is None:
            return None
        if self.release.is_split:
            return self._plain("train", CorpusSpec(tuple(map(self.release.train_path, SIDES))))
        spec, recorded = self._recorded(self.release.manifest["inputs"]["train"])
        return self._plain("train", spec, recorded) if all(path.is_file() for path in spec.files) else None

    def corpora(self) -> list[ParallelText]:
        """The corpora that probes are taken from."""
        request, release = self.request, self.release
        if request.corpora:
            specs = corpora_of(request.corpora, "from", columns=request.columns, texts=self.folder)
            return [self._plain(f"from-{number}", spec) for number, spec in enumerate(specs, 1)]
        if release is not None and not release.is_split:
            pools = map(self._recorded, release.manifest["inputs"]["pool"])
            return [self._plain(f"pool-{number}", *pool) for number, pool in enumerate(pools, 1)]
        train = self.train()
        return [] if train is None else [train]

    def held(self) -> list[np.ndarray]:
        """The hashes of the sources and of the targets that are never probes."""
        pairs = list(self.test)
        if self.release is not None and self.release.has_control:
            pairs += zip(*(self.release.control_lines(side) for side in SIDES), strict=True)
        specs = corpora_of(self.request.exclude, "exclude", columns=self.request.columns, texts=self.folder)
        texts = [self._plain(f"exclude-{number}", spec) for number, spec in enumerate(specs, 1)]
        return [
            np.unique(np.concatenate([line_hashes(pair[at] for pair in pairs), *(
                line_hashes(read_lines(getattr(text, side).path)) for text in texts)]))
            for at, side in enumerate(SIDES)
        ]  # fmt: skip

    def _recorded(self, entry: dict[str, Any]) -> tuple[CorpusSpec, list[str]]:
        """A corpus of the manifest of a release, and the checksums of its files."""
        assert self.release is not None
        paths = tuple(self.release.input_path(file["path"]) for file in entry["files"])
        columns = tuple(entry["columns"]) if entry["columns"] else None
        return CorpusSpec(paths, columns), [file["sha256"] for file in entry["files"]]

    def _plain(self, role: str, spec: CorpusSpec, recorded: Sequence[str] | None = None) -> ParallelText:
        planned = plan_text(role, spec, self.normalisation)
        if recorded is not None and list(planned.hashes) != recorded:
            raise InputError(f"{spec}: not the text that the release was built from; give one with "
                             f"{argument('train' if role == 'train' else 'corpora')}")  # fmt: skip
        self.inputs[role] = [
            {"path": path.name, "sha256": code} for path, code in zip(spec.paths, planned.hashes, strict=True)
        ]
        made = self.release.step(planned.step.name) if self.release and planned.step else None
        kept = planned.kept(Workspace(made.parents[1])) if made else None
        return kept or planned.realise(Workspace(self.folder))


def _of_ngrams(texts: _Texts) -> Candidates:
    request, release, train = texts.request, texts.release, texts.train()
    learned, words = None, None
    if release and texts.side == release.configuration["degree_side"] and request.min_count is None:
        words = release.configuration.get("word_min_count")
        learned = release.step("known-ngrams") if request.train is None else None
        if request.train is None and not learned and {"ngrams", "known_from"} & set(release.manifest["inputs"]):
            raise InputError(f"{release.folder}: its known n-grams come from other text than its training corpus, and "
                             "its work folder is missing; restore that folder")  # fmt: skip
    if learned:
        known, other = KnownNgrams.load(learned / NGRAMS), Vocabulary.load(learned / WORDS)
    elif train is not None:
        paths = (getattr(train, side).path for side in (texts.side, texts.other))
        known, other = learn_sides(*paths, min_count=texts.min_count, word_min_count=words)
    else:
        raise InputError(f"known n-grams are learned from the training corpus: give {argument('train')}")
    corpora = texts.corpora()
    blocks = read_blocks(getattr(train, texts.side).path) if train is not None else None
    lines = [pair[SIDES.index(texts.side)] for pair in texts.test]
    return ngram_candidates(lines, known, other, texts.side, texts.limits, texts.held(), blocks, corpora)


def _of_elements(texts: _Texts) -> Candidates:
    train = texts.train()
    kind = element_type(texts.request.pieces, name="pieces")
    if train is None:
        raise InputError(
            f"which atoms and compounds are known follows from the training corpus: give {argument('train')}"
        )
    corpora = [(f"corpus {number}", pairs_of(text)) for number, text in enumerate(texts.corpora(), 1)]
    named = ("the test set", texts.test), ("the training corpus", pairs_of(train))
    return element_candidates(kind, texts.side, *named, corpora, texts.held(), texts.limits)


def _of_compounds(texts: _Texts, compounds: Column) -> Candidates:
    if len(compounds) != len(texts.test):
        raise InputError(
            f"{compounds.name} has {len(compounds):,} rows and the test set {len(texts.test):,}: give one per pair"
        )
    texts.inputs["compounds"] = hash_value(compounds.values)
    return compound_candidates(texts.test, compounds.values)


def pairs_of(text: ParallelText) -> list[tuple[str, str]]:
    """The pairs of a corpus."""
    return list(zip(read_lines(text.source.path), read_lines(text.target.path), strict=True))
