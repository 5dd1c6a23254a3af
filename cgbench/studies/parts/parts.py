"""``parts()``: probes for the pieces of a test set, as ``cgbench parts`` writes them."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from cgbench import __version__
from cgbench.argument_types import as_path
from cgbench.benchmark.candidates.originals import original_of
from cgbench.benchmark.measure.divergence.elements import element_type
from cgbench.benchmark.release.manifest import SPLIT
from cgbench.benchmark.release.release import Release
from cgbench.benchmark.release.release_inputs import input_corpus
from cgbench.errors import InputError, argument
from cgbench.request import accepts
from cgbench.steps import Workspace, hash_value
from cgbench.studies.parts.folder import (
    REASONS,
    SIDES,
    PartsFolder,
    check_output_folder,
    text_digest,
    write_parts,
)
from cgbench.studies.parts.forms import compound_candidates, element_candidates
from cgbench.studies.parts.ngrams import ngram_candidates
from cgbench.studies.parts.request import PartsRequest
from cgbench.studies.parts.select import Candidates, bound
from cgbench.tables import render
from cgbench.text.corpus import ParallelText, plan_text
from cgbench.text.formats import CorpusSpec, Pair, read_pairs
from cgbench.text.hashes import line_hashes, mix
from cgbench.text.inputs import as_column, as_corpus, corpora_of
from cgbench.text.inspection import check_pairs
from cgbench.text.joins import Examples
from cgbench.text.plain_text import words_of
from cgbench.text.streams import read_lines

MIN_COUNT = 3


@accepts(PartsRequest)
def parts(request: PartsRequest) -> PartsFolder:
    """Find probes for the pieces of a test set: pairs that show whether a system knows its parts.

    Every piece of the test set gets up to k probes, which contain it in a known context; one probe
    serves many pieces. The same input gives the same probes, whatever the order of the corpora's
    pairs.

    :raises InputError: an input is missing or invalid, or the output folder holds something else.
    """
    out = as_path(request.out)
    check_output_folder(out)
    if (request.release is None) == (request.test is None):
        raise InputError(f"give either a release or a test set ({argument('test')})")
    with tempfile.TemporaryDirectory(prefix="cgbench-") as folder:
        texts = _Texts(request, Path(folder))
        candidates = _candidates(texts)
        pieces, probes = candidates.select(request.k)
        kind = "compounds" if request.compounds is not None else request.pieces.split(":")[0]
        of_ngrams = {"source": "outputs", "target": "words"}[texts.side]
        manifest = {
            "version": __version__,
            "side": texts.side,
            "match": {"compounds": "compound", "ngrams": of_ngrams}.get(kind, "exact"),
            "k": request.k,
            "pieces": kind,
            "settings": {
                "pieces": request.pieces,
                "max_length": request.max_length,
                "min_count": texts.min_count,
                "normalisation": texts.normalisation.settings,
            },
            "inputs": texts.inputs,
            "test": texts.digests(),
            "bound": round(bound(candidates.served), 6),
        }
        normalised = None if texts.normalisation.is_identity else probes
        rows, control = candidates.rows[: len(texts.test)], candidates.rows[len(texts.test) :]
        trained = int(texts.are_trained(probes).sum())
        return write_parts(
            out,
            pieces,
            texts.originals(probes),
            rows,
            manifest,
            normalised,
            control,
            trained,
            texts.remaining,
        )


def report(folder: PartsFolder) -> str:
    """What was found, as lines of text."""
    counts, reasons = folder.manifest["counts"], folder.manifest["reasons"]

    def share(count: int, of: str) -> str:
        return f"{count:,} ({100 * count / max(1, counts[of]):.1f}%)"

    rows = [
        ["test pairs", f"{counts['rows']:,}"],
        ["  with a probe for every piece", share(counts["rows_probed"], "rows")],
        ["pieces", f"{counts['pieces']:,}"],
        ["  with a probe", share(counts["probed"], "pieces")],
        [f"  with {folder.k} probes", share(counts["full"], "pieces")],
        *(
            [f"  {REASONS[name]}", share(reasons[name], "pieces")]
            for name in ("unknown", "absent")
            if name in reasons
        ),
        ["probes to translate", f"{counts['probes']:,}"],
        *(
            [["  in the training corpus", share(counts["trained"], "probes")]]
            if counts["trained"]
            else []
        ),
    ]
    return render([], rows)


class _Texts:
    """The texts of a request as plain, normalised files, and their checksums for the manifest
    (``inputs``).
    """

    def __init__(self, request: PartsRequest, folder: Path) -> None:
        self.request, self.folder = request, folder
        self.release = None if request.release is None else Release.of(request.release)
        self.inputs: dict[str, Any] = {}
        self.read: dict[str, tuple[CorpusSpec, ParallelText]] = {}  # by role
        self.control: Sequence[Pair] = ()
        self.remaining: Sequence[Path] = ()  # the training corpus without the pairs held back
        self.held_back: CorpusSpec | None = None
        self._trained = np.zeros(0, np.uint64)
        if self.release is not None:
            config = self.release.configuration
            self.normalisation, self.side = (
                self.release.normalisation,
                request.side or str(config["degree_side"]),
            )
            self.min_count = int(request.min_count or config["ngram_min_count"])
            self.test = self.release.pairs(normalised=True)
            if self.release.has_control and request.compounds is None:
                self.control = self.release.pairs("control", normalised=True)
            self.inputs["release"] = self.release.signature
        else:
            spec = as_corpus(request.test, request.text.columns, "test", folder)
            self.normalisation, self.min_count = (
                request.text.normalisation_of(spec),
                request.min_count or MIN_COUNT,
            )
            self.side = request.side or ("target" if request.pieces == "ngrams" else "source")
            self.test = list(iter_pairs(self._plain("test", spec)))

    def digests(self) -> dict[str, str]:
        """The checksum of each side of the test set; none where names were replaced, which score
        may not see.
        """
        if self.release is None and self.normalisation.anonymise != "none":
            return {}
        return {
            side: text_digest(lines)
            for side, lines in zip(SIDES, zip(*self.test, strict=True), strict=True)
        }

    def train(self) -> ParallelText:
        """The training corpus, which says what is known, without the pairs held back."""
        release, count = self.release, self.request.hold_back
        if self.request.train is not None:
            spec = as_corpus(self.request.train, self.request.text.columns, "train", self.folder)
        elif release is None:
            raise InputError(
                f"what is known follows from the training corpus: give {argument('train')}"
            )
        elif release.is_split:
            spec = CorpusSpec(tuple(map(release.train_path, SIDES)))
        elif "known_from" in release.manifest["inputs"]:
            raise InputError(
                f"{release.folder}: its known n-grams come from other text than its training"
                f" corpus; give the text that decides what is known ({argument('train')})"
            )
        else:
            spec = input_corpus(
                release, release.manifest["inputs"]["train"], remedy=f"; give {argument('train')}"
            )
        if count is not None:
            if self.request.corpora or not (release is None or release.is_split):
                raise InputError(
                    f"{argument('hold_back', count)} has no effect: probes come from other text;"
                    " leave it out"
                )
            spec, self.held_back = hold_back(spec, count, self.folder)
            self.remaining = spec.paths
        text = self._plain("train", spec)
        self._trained = line_hashes(read_lines(text.source.path))
        return text

    def corpora(self) -> list[tuple[ParallelText, list[np.ndarray]]]:
        """The corpora that probes are taken from, each with the hashes of sources and targets that
        may not be probes.

        These are the test set, the control set and the sources of the training corpus. A given
        corpus that contains training sources only was asked for, so its probes may be of training.
        """
        request, release = self.request, self.release
        if self.held_back is not None:
            specs: Sequence[CorpusSpec] = [self.held_back]
        elif request.corpora:
            specs = corpora_of(
                request.corpora, "from", columns=request.text.columns, texts=self.folder
            )
        elif release is None or release.is_split:
            raise InputError(
                "probes from the training corpus show what a system remembers, not what it knows:"
                f" give other text ({argument('corpora')}), or keep pairs out of training"
                f" ({argument('hold_back')}); {argument('corpora')} with the training corpus takes"
                " them from there all the same"
            )
        else:
            remedy = f"; give {argument('corpora')}"
            specs = [
                input_corpus(release, entry, remedy=remedy)
                for entry in release.manifest["inputs"]["pool"]
            ]
        role = "from" if self.held_back is not None or request.corpora else "pool"
        tested = [line_hashes(pair[at] for pair in (*self.test, *self.control)) for at in (0, 1)]
        corpora = []
        for position, spec in enumerate(specs, 1):
            text = self._plain(f"{role}-{position}", spec)
            from_training = bool(request.corpora) and self.are_trained(iter_pairs(text)).all()
            sources = tested[0] if from_training else np.concatenate([tested[0], self._trained])
            corpora.append((text, [sources, tested[1]]))
        return corpora

    def are_trained(self, pairs: Iterable[Pair]) -> np.ndarray:
        """Which pairs have a source that is in the training corpus."""
        return np.isin(line_hashes(source for source, _ in pairs), self._trained)

    def originals(self, probes: Sequence[Pair]) -> list[Pair]:
        """Probes as their files have them; of those with the same normalised form, the first in
        alphabetical order.
        """
        roles = [role for role in self.read if role.startswith(("from-", "pool-"))] or ["train"]
        if self.request.compounds is not None:  # probes are rows of the test set
            roles = ["test"] if self.release is None else []
        lines: Iterable[tuple[Pair, Pair]] = chain.from_iterable(
            zip(iter_pairs(text), read_pairs(spec), strict=True)
            for spec, text in map(self.read.__getitem__, roles)
        )
        if not roles and self.release is not None:
            lines = zip(self.test, self.release.pairs(), strict=True)
        wanted, originals = set(map(_joined_words, probes)), dict[Pair, Pair]()
        for normalised, pair in lines:
            if (key := _joined_words(normalised)) in wanted:
                original = original_of(pair, self.normalisation)
                originals[key] = min(original, originals.get(key, original))
        return [originals[_joined_words(probe)] for probe in probes]

    def _plain(self, role: str, spec: CorpusSpec) -> ParallelText:
        check_pairs([spec], accept=self.request.acceptance.accept_text)
        planned = plan_text(role, spec, self.normalisation)
        self.inputs[role] = [
            {"path": path.name, "sha256": code}
            for path, code in zip(spec.paths, planned.hashes, strict=True)
        ]
        text = planned.realise(Workspace(self.folder))
        self.read[role] = spec, text
        return text


def _candidates(texts: _Texts) -> Candidates:
    request = texts.request
    if request.compounds is not None:
        table = texts.release.folder / SPLIT if texts.release else None
        sources, references = map(list, zip(*texts.test, strict=True))
        examples = Examples.of("the test set", {"source": sources, "reference": references}, table)
        compounds = examples.join(as_column(request.compounds, "compounds", "compound"))
        if len(compounds) != len(texts.test):
            raise InputError(
                f"{compounds.name} has {len(compounds):,} rows and the test set"
                f" {len(texts.test):,}: give one per pair"
            )
        texts.inputs["compounds"] = hash_value(compounds.values)
        return compound_candidates(texts.test, compounds.values)
    kind = None if request.pieces == "ngrams" else element_type(request.pieces, name="pieces")
    train, (corpora, excluded) = texts.train(), zip(*texts.corpora(), strict=True)
    limits = {"max_length": request.max_length, "k": request.k}
    if kind is None:
        lines = [pair[SIDES.index(texts.side)] for pair in (*texts.test, *texts.control)]
        return ngram_candidates(
            lines, train, corpora, texts.side, excluded, min_count=texts.min_count, **limits
        )
    named_corpora = [
        (f"corpus {position}", list(iter_pairs(text))) for position, text in enumerate(corpora, 1)
    ]
    test, trained = (
        ("the test set", [*texts.test, *texts.control]),
        (
            "the training corpus",
            list(iter_pairs(train)),
        ),
    )
    return element_candidates(kind, texts.side, test, trained, named_corpora, excluded, **limits)


def iter_pairs(text: ParallelText) -> Iterator[Pair]:
    """The pairs of a corpus, one at a time."""
    return zip(*map(read_lines, (text.source.path, text.target.path)), strict=True)


def hold_back(spec: CorpusSpec, count: int, folder: Path) -> tuple[CorpusSpec, CorpusSpec]:
    """Divide a corpus into the rest and random pairs, written to a folder as they are.

    A hash of the source decides, so the order of the corpus does not, and no source is in both. The
    pairs of the last source may make a few more than ``count``.

    :raises InputError: there are not more than ``count`` pairs.
    """
    keys = mix(line_hashes(source for source, _ in read_pairs(spec)))
    distinct, sizes = np.unique(keys, return_counts=True)
    end = int(np.searchsorted(np.cumsum(sizes), count)) + 1
    if end >= len(distinct):
        raise InputError(
            f"{argument('hold_back', count)}: {spec} has {len(keys):,} pairs, and some must remain"
        )
    parts = [
        CorpusSpec(tuple(folder / f"{name}.{side}" for side in SIDES))
        for name in ("train", "held-back")
    ]
    with ExitStack() as stack:
        files = [
            [
                stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
                for path in part.paths
            ]
            for part in parts
        ]
        for pair, held in zip(read_pairs(spec), keys < distinct[end], strict=True):
            for file, line in zip(files[int(held)], pair, strict=True):
                file.write(f"{line}\n")
    return parts[0], parts[1]


def _joined_words(pair: Pair) -> Pair:
    """Both sides as words joined by one blank."""
    source, target = pair
    return " ".join(words_of(source)), " ".join(words_of(target))
