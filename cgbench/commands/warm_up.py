"""``cgbench warm-up``: precompile and cache code."""

import contextlib
import io
import tempfile
from pathlib import Path

import click

from cgbench.commands.command import Command, note
from cgbench.errors import missing_package

SOURCE = "a b c d e\na b c d e\na b c d e f\nb c d e a\ng a h b\n"
TARGET = "r s t u v\nr s t u v\nr s t u v w\ns t u v r\nx r y s\n"


@click.command("warm-up", cls=Command, example="cgbench warm-up")
@click.pass_context
def warm_up_command(context: click.Context) -> None:
    """Precompile and cache the code of all commands, so that their first run is as fast as later
    ones.

    Without PyTorch, the code of models is left out.
    """
    program = context.find_root().command
    # Every command whose code is compiled, on a small text.
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        folder = Path(name)
        source, target = folder / "text.l1", folder / "text.l2"
        source.write_text(SOURCE * 5)
        target.write_text(TARGET * 5)
        pool = folder / "pool.l1", folder / "pool.l2"
        pool[0].write_text("a b c d e f g\nd e a b\nb a b a\n")
        pool[1].write_text("r s t u v w x\nu v r s\ns r s r\n")
        for words in (
            ("degree", pool[0], "--train", source),
            ("stats", "--train", source, "--test", pool[0]),
            ("overlap", pool[0], "--corpus", source, "--jobs", 1),
            (
                "split",
                "--corpus",
                source,
                target,
                "--out",
                folder / "split",
                "--set",
                "exchanges=1",
            ),
            ("lm", "train", source, "--order", 3, "--out", folder / "lm.arpa", "--jobs", 1),
            ("lm", "train", source, "--order", 3, "--out", folder / "lm.arpa", "--jobs", 1),
            (
                "lexicon",
                "learn",
                source,
                target,
                "--out",
                folder / "lexicon.json",
                "--method",
                "ibm2",
            ),
            (
                *(
                    "build-react",
                    "--train",
                    source,
                    target,
                    "--pool",
                    *pool,
                    "--out",
                    folder / "build",
                ),
                *(
                    "--until",
                    "candidates",
                    "--jobs",
                    1,
                    "--set",
                    "min_length=1",
                    "--set",
                    "candidates=2",
                ),
                *("--set", "drop=0", "--set", "window=2", "--set", "select=1"),
            ),
        ):
            # What these say is about a text of a few words; errors are raised.
            with contextlib.redirect_stderr(io.StringIO()):
                program.main([str(word) for word in words], standalone_mode=False)
    # What no command compiles without a model.
    try:
        _search_and_measure()
        _train_recurrences()
    except ModuleNotFoundError as error:
        if missing_package(error) is None:
            raise
        note("the code of models is left out: torch is not installed")


def _search_and_measure() -> None:
    """Compile what ensembles search and are measured with."""
    import torch

    from cgbench.models.config.architectures import build_model
    from cgbench.models.config.presets import load_preset
    from cgbench.models.parts.ragged import Ragged
    from cgbench.models.search import beam_search
    from cgbench.models.special_ids import EOS
    from cgbench.models.teacher_forcing import measure_members

    beam_search([build_model(load_preset("laptop").model, 4, 4).eval()], Ragged.pack([[EOS]]))
    measure_members(
        [lambda batch, _: torch.zeros(1, 2)], torch.zeros(1, dtype=torch.int64), [1], 2, 1
    )


def _train_recurrences() -> None:
    """Compile the recurrences of LSTMs and their gradients."""
    from cgbench.models.config.architectures import build_model
    from cgbench.models.config.presets import load_preset
    from cgbench.models.parts.ragged import Ragged
    from cgbench.models.special_ids import EOS

    sentence = Ragged.pack([[EOS]])
    model = build_model(load_preset("cgps_scan").model, 4, 4)
    model(sentence, sentence).sum().backward()
