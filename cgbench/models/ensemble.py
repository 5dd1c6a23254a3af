"""Ensembles: translate with the mean distribution of several models, and measure their
disagreement.

A result depends only on the arguments and the members. On a CPU, a batch is computed by one thread,
because splitting sums among threads changes their rounding. Several batches may be searched at a
time, in threads; worker processes open their own ensembles and divide the sentences.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from cgbench.errors import InputError, argument
from cgbench.machine import in_threads
from cgbench.models.checkpoints import load_checkpoint, member_folders
from cgbench.models.devices import batch_tokens_on, one_thread
from cgbench.models.lengths import check_positions
from cgbench.models.search import Translation, beam_search
from cgbench.models.search import longest as longest_of
from cgbench.models.search_settings import DEFAULT_SEARCH, SearchSettings
from cgbench.models.special_ids import EOS
from cgbench.models.teacher_forcing import score_hypotheses
from cgbench.models.text.batches import Rows, make_batches
from cgbench.models.text.subwords import Subwords
from cgbench.progress import bar
from cgbench.request import check


@dataclass(frozen=True)
class Ensemble:
    """Models that share their subwords; one model is also an ensemble.

    :param max_length: length limit in training, the minimum over members, in tokens with the end
        token.
    """

    members: tuple[nn.Module, ...]
    subwords: Subwords
    device: torch.device
    max_length: int

    @classmethod
    def open(
        cls, paths: str | Path | Sequence[str | Path], device: str | torch.device = "cpu"
    ) -> Ensemble:
        """Load the members.

        :param paths: a checkpoint, a folder with ``member-0``, ``member-1`` and so on, or several
            of either.
        :raises InputError: a checkpoint is missing or damaged, or members have different subwords.
        """
        try:
            device = torch.device(device)
        except (RuntimeError, TypeError):
            raise InputError(
                f"{argument('device', device)}: unknown device; use cpu or cuda"
            ) from None
        folders = [
            folder
            for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)
            for folder in member_folders(Path(path))
        ]
        if not folders:
            raise InputError("no model is named; name the folder of a checkpoint or of an ensemble")
        members, lengths, shared = [], [], None
        for folder in folders:
            model, subwords, config = load_checkpoint(folder, str(device))
            shared = shared or subwords
            if subwords.digest != shared.digest:
                raise InputError(
                    f"{folders[0]} and {folder} have different subwords; train the members of an"
                    " ensemble on the same corpus with the same text settings"
                )
            members.append(model)
            lengths.append(config.training.max_length)
        assert shared is not None
        return cls(tuple(members), shared, device, min(lengths))

    def lengths(self, lines: Sequence[str]) -> np.ndarray:
        """Return the number of tokens of each source line with the end token."""
        return np.array([len(source) for source in self.subwords.encode_source(lines)], np.int64)

    def translate(
        self, lines: Sequence[str], settings: SearchSettings = DEFAULT_SEARCH, **options: Any
    ) -> list[Translation]:
        """Return the best hypothesis of each line; arguments as for :meth:`search`."""
        return [best for best, *_ in self.search(lines, settings, **options)]

    def search(
        self,
        lines: Sequence[str],
        settings: SearchSettings = DEFAULT_SEARCH,
        *,
        longest: int | None = None,
        batch_tokens: int | None = None,
        jobs: int = 1,
        progress: bool = False,
    ) -> list[list[Translation]]:
        """Translate by beam search (:func:`cgbench.models.search.beam_search`).

        A line without tokens has the empty translation: only the end token, with probability 1.

        :param longest: truncate sources to this number of tokens, with the end token.
        :param batch_tokens: maximum source tokens per batch, with padding (default: by the device).
        :param jobs: number of batches at a time, each on one thread, which changes no result.
        :returns: up to ``settings.beam`` hypotheses of each line, best first.
        """
        check(int, 1, longest=longest, batch_tokens=batch_tokens, jobs=jobs)
        # An architecture may have a search of its own, for one model.
        search: Any = partial(beam_search, self.members)
        if len(self.members) == 1:
            search = getattr(self.members[0], "search", search)
        # Lines without tokens have a result already; the others are searched in batches.
        sources = self._sources(lines, longest)
        lengths = np.array([len(source) for source in sources], np.int64)
        rows = np.flatnonzero(lengths > 1)
        result = [[Translation("", np.array([EOS], np.int32), 0.0, 0.0)]] * len(lines)
        packed = Rows.pack(sources)
        batches = make_batches(lengths, lengths, rows, batch_tokens or batch_tokens_on(self.device))

        def search_batch(batch: np.ndarray) -> list[list[Translation]]:
            with one_thread(self.device):  # OpenMP has a setting per thread, MKL one for all
                nbest_lists: list[list[Translation]] = search(
                    packed.take(batch, self.device), settings
                )
            return nbest_lists

        with (
            one_thread(self.device),
            bar(len(rows), "translating", "sentence", progress) as progress_bar,
        ):
            results = (
                map(search_batch, batches)
                if jobs == 1
                else in_threads(search_batch, batches, jobs, 2 * jobs)
            )
            for batch, nbest_lists in zip(batches, results, strict=True):
                for row, hypotheses in zip(batch.tolist(), nbest_lists, strict=True):
                    result[row] = [
                        replace(best, text=self.subwords.decode_target(best.tokens.tolist()))
                        for best in hypotheses
                    ]
                progress_bar.update(len(batch))
        return result

    def score(
        self,
        lines: Sequence[str],
        hypotheses: Sequence[np.ndarray],
        *,
        longest: int | None = None,
        batch_tokens: int | None = None,
        progress: bool = False,
    ) -> dict[str, np.ndarray]:
        """Compute all sequence measures (:mod:`cgbench.models.uncertainty`) of one hypothesis per
        line.

        :param hypotheses: target ids with the end token, such as :attr:`Translation.tokens`.
        :param longest: as in :meth:`search`.
        :returns: name -> float64 ``[lines]``.
        """
        check(int, 1, longest=longest, batch_tokens=batch_tokens)
        sources = self._sources(lines, longest)
        check_positions(
            list(map(len, hypotheses)), longest_of(self.members, "target"), "the target of sentence"
        )
        with (
            one_thread(self.device),
            bar(len(lines), "scoring", "sentence", progress) as progress_bar,
        ):
            return score_hypotheses(
                self.members,
                sources,
                hypotheses,
                batch_tokens=batch_tokens or batch_tokens_on(self.device),
                device=self.device,
                done=progress_bar.update,
            )

    def _sources(self, lines: Sequence[str], longest: int | None) -> list[np.ndarray]:
        sources = self.subwords.encode_source(lines)
        if longest is not None:
            sources = [
                ids if len(ids) <= longest else np.append(ids[: longest - 1], np.int32(EOS))
                for ids in sources
            ]
        check_positions(
            list(map(len, sources)), longest_of(self.members, "source"), "the source of sentence"
        )
        return sources
