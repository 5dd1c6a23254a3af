"""``cgbench augment csl``: from pairs to a grammar, its weights, and new pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cgbench.argument_types import as_path
from cgbench.data_recipes.augmentation import AugmentTexts, read_texts, write_new
from cgbench.data_recipes.csl import programs
from cgbench.data_recipes.csl.induction import InductionSettings, induce
from cgbench.data_recipes.csl.rules import Rule, Words, make_rule, read_rules
from cgbench.data_recipes.csl.sampling import Sampler, SamplingSettings, sample_pairs
from cgbench.data_recipes.csl.target_grammar import TargetGrammar, TypedRule
from cgbench.data_recipes.csl.typed_model import ModelSettings, train_model
from cgbench.data_recipes.geca import SharedRows
from cgbench.errors import InputError, argument
from cgbench.files import check_output, write_atomic
from cgbench.request import KW_ONLY, accepts, changed, given_values, option
from cgbench.text.formats import CorpusSpec, Pair
from cgbench.text.streams import read_lines

# google-research/language, compgen/csl/tasks/*/{induction,model,augment}_config.json. Ours: COGS is
# sampled without the model of its configuration (64 types, 3,000 updates), to whose scores its bias
# would be added: rules with two slots would be 400 times as likely. Its seeds are a file there.
# SMCalFlow's softmax is over the rules of a batch there, and over all here.
PRESETS: dict[str, dict[str, Any]] = {
    "scan": {},
    "cogs": {
        "slots": 4,
        "word_size": 8.0,
        "source_weight": 1.0,
        "target_weight": 5.0,
        "rounds": 8,
        "partition": 0,
        "copy_words": True,
        "updates": 0,
        "deepest": 20,
        "slot_bias": 6.0,
        "bias_arity": 2,
    },
    "smcalflow": {
        "slots": 4,
        "word_size": 8.0,
        "source_weight": 4.0,
        "target_weight": 16.0,
        "rounds": 20,
        "partition": 0,
        "programs": True,
        "words_in_targets": True,
        "types": 64,
        "updates": 6000,
        "deepest": 10,
        "samples": 100_000,
        "repeats": True,
    },
}


class CSLRequest(InductionSettings, ModelSettings, SamplingSettings, AugmentTexts):
    """What :func:`augment_by_csl` is asked for."""

    _: KW_ONLY
    preset: Literal["scan", "cogs", "smcalflow"] | None = option(
        "--preset",
        default=None,
        help="Settings of the authors for a data set [default: scan]",
        group="Grammar",
    )
    seed_rules: Path | None = option(
        "--seed-rules",
        default=None,
        help="Rules to start from, such as a lexicon: one 'SOURCE ### TARGET' per line",
        metavar="FILE",
        group="Input",
    )
    copy_words: bool = option(
        "--set copy_words",
        default=False,
        help="Start from a rule that copies each word which some pair has on both sides",
        group="Grammar",
    )
    programs: bool = option(
        "--set programs",
        default=False,
        help="Targets are programs of SMCalFlow: split punctuation off, leave out requests without"
        " the names and years of their programs, start from literals, and infer the grammar of the"
        " programs",
        group="Grammar",
    )
    target_grammar: Path | None = option(
        "--set target_grammar",
        default=None,
        help="Grammar of the targets: one 'NAME => WORDS AND NAMES' per line, the whole first",
        metavar="FILE",
        group="Input",
    )
    rules_out: Path | None = option(
        "--rules-out",
        default=None,
        help="Write the induced rules",
        metavar="FILE",
        group="Output",
    )


@dataclass(frozen=True)
class CSLResult:
    """The result of :func:`augment_by_csl`.

    :param derived: number of distinct training pairs that the grammar derives, of ``distinct``.
    :param likelihood: mean log-likelihood of these, in nats per pair.
    :param written: number of pairs in the output; ``out``: its files; ``tests``: the test texts,
        and what the new pairs share with them.
    """

    rules: list[str]
    training_pairs: int
    distinct: int
    derived: int
    likelihood: float
    pairs: list[Pair]
    written: int
    out: tuple[Path, ...]
    tests: list[tuple[CorpusSpec, SharedRows]]


@dataclass(frozen=True)
class Sampled:
    """A grammar, its model, and new pairs from it."""

    rules: list[Rule]
    derived: int
    likelihood: float
    pairs: list[Pair]


@accepts(CSLRequest)
def augment_by_csl(request: CSLRequest) -> CSLResult:
    """Induce a grammar from a training text, and write pairs sampled from it, or a mixture with the
    training text.

    :raises InputError: a file cannot be read or written, or no new pair can be made.
    """
    if request.preset:
        chosen = given_values(request)
        defaults = PRESETS[request.preset].items()
        request = changed(request, **{name: v for name, v in defaults if name not in chosen})
    texts = read_texts(request)
    if request.rules_out:
        check_output(as_path(request.rules_out), list(texts.spec.files))
    words = Words()
    result = sample_csl(texts.training, request, words)
    if request.rules_out:
        write_atomic(
            as_path(request.rules_out), "".join(f"{words.show(rule)}\n" for rule in result.rules)
        )
    if not result.pairs:
        raise InputError(
            f"{texts.spec}: the grammar makes no pair that training does not contain; raise"
            f" {argument('deepest')} or {argument('partition')}"
        )
    written, tests = write_new(texts, result.pairs, request.mix)
    return CSLResult(
        [words.show(rule) for rule in result.rules],
        len(texts.training),
        len(set(texts.training)),
        result.derived,
        result.likelihood,
        result.pairs,
        written,
        texts.out,
        tests,
    )


def sample_csl(training: Sequence[Pair], request: CSLRequest, words: Words) -> Sampled:
    """Induce, weigh and sample a grammar.

    :param words: the words of the training text, which this adds.
    """
    if request.programs:
        training = programs.prepared_pairs(training)
    pairs = [encode_pair(pair, words) for pair in training]
    # Rules to start from, and a grammar of the targets: the user's, and those of the data.
    seeds = set(_read_seeds(request, words))
    if request.copy_words:
        seeds |= copying_rules(pairs)
    if request.programs:
        seeds |= set(read_rules(programs.seed_rules(training), words, "seed rules"))
    grammar = None
    if request.target_grammar:
        path = as_path(request.target_grammar)
        grammar = TargetGrammar(read_lines(path, sentences=False), words, str(path))
    elif request.programs:
        lines = programs.grammar_lines(program for _, program in training)
        grammar = TargetGrammar(lines, words, "the grammar of the programs")
    # The grammar, its model, new pairs.
    allowed = grammar.can_derive if grammar else None
    rules = induce(pairs, request, sorted(seeds), allowed)
    model, derived, likelihood = train_model(rules, sorted(set(pairs)), request)
    typed: list[TypedRule] = grammar.type_rules(rules) if grammar else []
    sampler = Sampler(model, request, request.seed, typed)
    new = sample_pairs(sampler, pairs, request)
    decoded = [(words.decode(pair.source), words.decode(pair.target)) for pair in new]
    return Sampled(rules, derived, likelihood, decoded)


def encode_pair(pair: Pair, words: Words) -> Rule:
    """A pair as a rule.

    :raises InputError: a side is empty, or contains a word such as ``NT_1``.
    """
    source, target = map(words.encode, pair)
    rule = make_rule(source, target)
    if rule is None or not target or rule.arity:
        shown = f"{pair[0][:100]} | {pair[1][:100]}"
        raise InputError(f"both sides need words, none of them NT_1, NT_2, ...: {shown}")
    return rule


def copying_rules(pairs: Sequence[Rule]) -> set[Rule]:
    """A rule for each word that some pair has on both sides."""
    return {
        Rule(word, word) for pair in pairs for word in set(pair.source).intersection(pair.target)
    }


def _read_seeds(request: CSLRequest, words: Words) -> list[Rule]:
    if not request.seed_rules:
        return []
    path = as_path(request.seed_rules)
    return read_rules(read_lines(path, sentences=False), words, str(path))


def csl_pairs(training: Sequence[Pair], settings: Mapping[str, Any], seed: int) -> list[Pair]:
    """New pairs for a system of a published table.

    :param settings: fields of :class:`CSLRequest`.
    """
    placeholder: Any = ("", "")
    preset = PRESETS[str(settings.get("preset", "scan"))]
    request = CSLRequest(placeholder, placeholder, seed=seed, **{**preset, **settings})
    return sample_csl(training, request, Words()).pairs
