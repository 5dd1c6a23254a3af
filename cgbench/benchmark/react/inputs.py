"""The inputs of a build as it reads them: from what a request names, or holds as lists of sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from cgbench.benchmark.react.request import SIDES, BuildRequest
from cgbench.checksums import known_digest
from cgbench.errors import InputError, argument
from cgbench.models.external.opening import Planned, check_together, plan_member
from cgbench.text.formats import CorpusSpec, form, languages_of
from cgbench.text.inputs import as_corpus

PathLike: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True)
class Inputs:
    """What a build reads. ``phrases`` is a list of known n-grams given by the user (a phrase a line); ``known``
    results of ``cgbench overlap`` by side, which stand for that side of the training text there; ``ensemble`` a
    folder of trained members, else they are trained; ``members`` models from outside instead of either; ``reverse`` an
    ensemble that translates the other way round; ``lm`` a language model that scores the candidates; ``difficulty`` a
    file of values beside each corpus of the pool. Languages are parts of file names."""

    train: CorpusSpec
    pools: tuple[CorpusSpec, ...]
    exclude: tuple[CorpusSpec, ...] = ()
    phrases: Path | None = None
    known: Mapping[str, Path] = field(default_factory=dict)
    ensemble: Path | None = None
    reverse: Path | None = None
    lm: Path | None = None
    difficulty: tuple[Path, ...] = ()
    members: tuple[Planned, ...] = ()
    languages: tuple[str, str] = ("source", "target")


def read_inputs(request: BuildRequest, texts: Path) -> Inputs:
    """The inputs that a request names.

    :param texts: the folder where lists of sentences are written.
    :raises InputError: they do not fit together, or one of them is not what it should be.
    """
    train = as_corpus(request.train, request.columns, "train", texts)
    languages = languages_of(request.languages, train)
    inputs = Inputs(
        train=train,
        pools=corpora_of(request.pools, "pool", columns=request.columns, texts=texts),
        exclude=tuple(
            sorted(corpora_of(request.exclude, "exclude", columns=request.columns, texts=texts), key=_by_bytes)
        ),
        phrases=_path(request.ngrams),
        known=known_from_of(request.known_from, request.degree_side),
        ensemble=_path(request.ensemble),
        reverse=_path(request.reverse_ensemble),
        lm=_path(request.lm),
        difficulty=tuple(map(Path, _listed(request.difficulty))),
        members=_external_members(request),
        languages=languages,
    )
    if inputs.phrases and request.degree_side in inputs.known:
        raise InputError(
            f"{argument('known_from')} and {argument('ngrams')}: one of them, for the {request.degree_side}"
        )
    if not inputs.pools:
        raise InputError(f"{argument('pools')}: a pool of pairs is needed")
    return inputs


def _by_bytes(spec: CorpusSpec) -> tuple[list[str], str]:
    """What corpora to exclude are ordered by: it must not matter in which order they were given."""
    return [known_digest(path) if path.is_file() else "" for path in spec.files], str(spec)


def _path(given: PathLike | None) -> Path | None:
    return None if given is None else Path(given)


def _listed(given: Any) -> Sequence[Any]:
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _external_members(request: BuildRequest) -> tuple[Planned, ...]:
    """The external models that stand for the members, checked to make an ensemble."""
    names = _listed(request.member)
    if not names:
        if request.prompt is not None:
            raise InputError(f"{argument('prompt')} belongs to {argument('member')}")
        return ()
    if request.ensemble is not None:
        raise InputError(f"{argument('member')} and {argument('ensemble')}: one of them; a member may be a checkpoint")
    if request.until == "candidates":
        return ()
    members = tuple(plan_member(str(name), request.prompt) for name in names)
    check_together(members)
    return members


def corpora_of(given: Any, role: str, *, columns: tuple[str, str] | None, texts: Path) -> tuple[CorpusSpec, ...]:
    """Several corpora, or one alone: two names of plain files can only be the two sides of one.

    :raises InputError: one of them is none.
    """
    if isinstance(given, (str, os.PathLike, CorpusSpec)) or _is_pair(given):
        return (as_corpus(given, columns, f"{role}-1", texts),)
    return tuple(as_corpus(one, columns, f"{role}-{number}", texts) for number, one in enumerate(given, 1))


def _is_pair(given: Sequence[object]) -> bool:
    """Whether these are the sides of one corpus: two plain files, or two lists of sentences that are no two files."""
    if len(given) != 2:
        return False
    if all(isinstance(part, (str, os.PathLike)) for part in given):
        return all(form(Path(str(part))) == "plain" for part in given)
    return all(
        isinstance(part, Sequence) and not isinstance(part, str) and len(part) != 2
        and all(isinstance(one, str) for one in part)
        for part in given
    )  # fmt: skip


def known_from_of(given: Any, degree_side: str) -> dict[str, Path]:
    """The results of ``cgbench overlap`` by side: ``{"source": FOLDER}``, or ``source=FOLDER``; a folder without a side
    is of the one that the degree is of.

    :raises InputError: there is no such side, or a side has two.
    """
    if isinstance(given, Mapping):
        pairs = [(str(side), str(folder)) for side, folder in given.items()]
    else:
        parts = [(word, *word.partition("=")) for word in map(os.fspath, _listed(given))]
        pairs = [
            (side, folder) if sign and side in SIDES else (degree_side, word) for word, side, sign, folder in parts
        ]
    for side, folder in pairs:
        if side not in SIDES or not folder:
            raise InputError(f"{argument('known_from', f'{side}={folder}')}: a side and a folder, as source=FOLDER")
    found = {side: Path(folder) for side, folder in pairs}
    if len(found) < len(pairs):
        raise InputError(f"{argument('known_from')}: one folder per side, as source=FOLDER and target=FOLDER")
    return dict(sorted(found.items()))
