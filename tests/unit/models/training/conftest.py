import pytest
from training_runs import make_corpus, train


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """The small corpus of ``training_runs``, to be read alone."""
    return make_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="session")
def undisturbed(corpus, tmp_path_factory):
    """A finished run of 14 updates with ``PRESET``, to be read alone."""
    out = tmp_path_factory.mktemp("undisturbed") / "model"
    train(corpus, out)
    return out
