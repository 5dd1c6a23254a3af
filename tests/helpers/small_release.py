"""A finished release in seconds: the members are a few updates old."""

from click.testing import CliRunner
from small_build import SMALL

from cgbench.cli import main


def build_release(corpora, out, *more):
    """Build one at ``out``; returns it, and what was printed."""
    words = ["build-react", *corpora, *SMALL, *more, "--out", out]
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output + result.stderr + repr(result.exception)
    return out, result
