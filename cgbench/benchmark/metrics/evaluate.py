"""Every metric as a function: of texts in files or in memory, several systems and seeds, with intervals, tests, bins.

What ``cgbench score`` does; the command reads its options, calls :func:`evaluate` and prints.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cgbench.arguments import check_choice, check_flag, check_names, check_whole
from cgbench.benchmark.metrics.base import Metric
from cgbench.benchmark.metrics.bins import Feature, coinciding, feature_of_column
from cgbench.benchmark.metrics.bleu import CLASSES, SacreMetric
from cgbench.benchmark.metrics.cter import Cter
from cgbench.benchmark.metrics.cter_grammar import Grammar
from cgbench.benchmark.metrics.cter_lexicon import Atoms, Lexicon
from cgbench.benchmark.metrics.differences import find_differences
from cgbench.benchmark.metrics.drop import ControlSet
from cgbench.benchmark.metrics.evaluation import CALIBRATED, TESTS, Comparison
from cgbench.benchmark.metrics.exact_match import ExactMatch
from cgbench.benchmark.metrics.features import Material, make_feature, release_files
from cgbench.benchmark.metrics.hypotheses import Preparation
from cgbench.benchmark.metrics.inputs import (
    Runs,
    absent,
    check_sources,
    in_release,
    join_texts,
    read_references,
    read_systems,
    with_more,
)
from cgbench.benchmark.metrics.published import Published, published
from cgbench.benchmark.metrics.result import Asked, Evaluation
from cgbench.benchmark.metrics.scoring import Breakdown, disagreements, made_otherwise, score, warnings_of
from cgbench.benchmark.metrics.semantic_match import SemanticMatch
from cgbench.benchmark.metrics.significance import SEED
from cgbench.errors import InputError, InputWarning, argument
from cgbench.settings import did_you_mean
from cgbench.text.columns import Column, split_name
from cgbench.text.formats import form
from cgbench.text.hypothesis_form import Reading
from cgbench.text.inputs import AnyPath, Corpus, Texts, as_column
from cgbench.text.joins import index_of, places

METRICS = (*CLASSES, "exact", "semantic", "cter")
TEXT_FEATURES = ("length", "degree", "frequency", "one-shot", "perplexity")
CTER_OPTIONS = ("compounds", "lexicon", "atoms", "grammar", "match", "lowercase", "group_size", "keep_blanks")
FEATURES_OF: dict[str, tuple[str, ...] | None] = {
    "bins": None,
    "groups": ("column:",),
    "side": TEXT_FEATURES,
    "train": ("degree", "frequency", "one-shot"),
    "min_count": ("degree",),
    "table": ("degree", "uncertainty", "difficulty", "perplexity", "column:"),
    "lm": ("perplexity",),
}
"""Arguments that go with ``by``, and the features that they are for (None: all)."""
BENCHMARKS = {"react": "ReaCT", "cognition": "CoGnition", "lexicon": "Tatoeba en-zh"}
"""The benchmark that a preset of BLEU is of."""


def bleu(hypotheses: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """BLEU by sacrebleu; ``options`` are ``tokenize``, ``preset``, ``lowercase``, and those of :func:`evaluate`."""
    return evaluate("bleu", hypotheses, references, **options)


def chrf(hypotheses: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """chrF by sacrebleu (chrF++: ``word_order=2``); further ``options`` as :func:`evaluate` has them."""
    return evaluate("chrf", hypotheses, references, **options)


def ter(hypotheses: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """TER by sacrebleu; ``options`` as :func:`evaluate` has them."""
    return evaluate("ter", hypotheses, references, **options)


def exact_match(hypotheses: Runs | Mapping[str, Runs], references: Any = None, **options: Any) -> Evaluation:
    """Sequence-level accuracy in percent; ``options`` as :func:`evaluate` has them."""
    return evaluate("exact", hypotheses, references, **options)


def cter(hypotheses: Runs | Mapping[str, Runs], sources: Texts, compounds: Texts, **options: Any) -> Evaluation:
    """Compound translation error rate in percent, of rows (instance) and of groups (aggregate).

    :param compounds: the compound of each source.
    :param options: ``lexicon`` (needed), and what else :func:`evaluate` has.
    """
    return evaluate("cter", hypotheses, sources=sources, compounds=compounds, **options)


def evaluate(
    metric: str | Metric,
    systems: Runs | Mapping[str, Runs],
    references: Any = None,
    *,
    sources: Texts | None = None,
    more_references: Sequence[Corpus] = (),
    release: AnyPath | None = None,
    by: str | Iterable[Any] | None = None,
    bins: str | int | Sequence[float] | None = None,
    groups: str | None = None,
    side: str | None = None,
    train: Texts | None = None,
    min_count: int | None = None,
    table: AnyPath | None = None,
    ids: str | None = None,
    lm: AnyPath | None = None,
    paired: str | bool | None = None,
    baseline: str | None = None,
    all_pairs: bool = False,
    shared_seeds: bool = False,
    samples: int | None = None,
    seed: int | None = None,
    confidence: bool = False,
    human: Texts | None = None,
    control_systems: Runs | Mapping[str, Runs] | None = None,
    control_references: Any = None,
    control_sources: Texts | None = None,
    control_compounds: Texts | None = None,
    published: str | bool | None = None,
    differences: bool = False,
    texts: Mapping[str, tuple[Sequence[str], ...]] | None = None,
    normalise: str | None = None,
    accept_text: bool = False,
    **options: Any,
) -> Evaluation:
    """Score systems by any metric, with what an honest comparison needs.

    A text is a file (``str`` or path: plain, .gz, .zst, ``TABLE:COLUMN``) or a list of strings, one an example.

    :param metric: ``bleu``, ``chrf``, ``ter``, ``exact``, ``semantic``, ``cter``, or a :class:`Metric` that was made
        before.
    :param systems: hypotheses: of one system, or ``{name: hypotheses}``. Several runs (seeds) of a system are a list of
        texts; files among these are :class:`pathlib.Path`, since a list of ``str`` is a text.
    :param references: a text; a list of paths, where an example has a reference in each of these files; or a list of
        the references of each example. CTER has none.
    :param sources: for ``side="source"`` and ``more_references``, and for CTER.
    :param more_references: corpora whose targets of equal sources count too.
    :param release: the folder of a release, whose test set gives references, sources and table.
    :param by: break down by ``length``, ``degree``, ``frequency``, ``one-shot``, ``perplexity``, ``uncertainty``,
        ``difficulty``,
        ``column:NAME``; CTER: also ``compound-length``, ``context-length``, ``modifier``, ``type``. Or a value (number
        or label) an example.
    :param bins: a number of bins, ``quantiles:N``, or rising edges (default: quartiles); ``groups="table6"`` puts COGS'
        categories together.
    :param side: what ``by`` looks at, ``source`` or ``target``; ``train`` is the training text of that side,
        ``min_count`` (default 3) says what in it is a known n-gram, ``lm`` is a language model, ``table`` a file with a
        row an example.
    :param ids: the column of tables (systems, references, sources, compounds, judgements, ``table``) that says which
        example a row is of: rows are joined by it. Without it rows are in order, and tables that have the same ids in
        another order are refused; pandas Series are joined by their index.
    :param paired: test differences from ``baseline`` (default: the first system) by ``bootstrap``, ``randomization`` or
        ``mcnemar``, or by the test that holds its level, ``calibrated`` (or True): approximate randomisation of single
        runs, Student's t with variance components of examples and seeds where a system has several. ``all_pairs``: of
        all systems from all (``calibrated`` if nothing else is said).
    :param shared_seeds: run i of every system has the same seed or checkpoint: systems are compared run by run.
    :param samples: resamples (default 1000; randomization 10000), drawn with ``seed`` (default 12345, as sacrebleu).
    :param confidence: 95 % bootstrap intervals.
    :param human: for CTER, a judgement (1 right, 0 wrong) a hypothesis.
    :param control_systems: what the same systems said to a control set, run by run: how much they lose from it to the
        test set, with 95 % intervals (``paired``: also whether they lose as much as the baseline). Its references are
        those of the release, or ``control_references``; CTER needs ``control_sources`` and ``control_compounds``.
    :param published: put published results beside: the name of a benchmark, or True for that of the preset.
    :param differences: where systems differ from the baseline: n-grams, words by their count in ``train``, kinds of
        examples, with a false discovery rate; single examples.
    :param texts: what systems said, run by run, where ``systems`` are scores from elsewhere.
    :param normalise: normalise hypotheses as the references are: ``release``, as the build of ``release`` did, or
        ``[LANGUAGE=]NAME`` of a tokeniser (``en=moses``, ``jieba``), or of ``detokenize``.
    :param accept_text: score hypotheses whose form (case, tokenisation, blanks, language) is not the references'.
    :param options: of the metric: ``preset``, ``tokenize``, ``lowercase``, ``jobs`` and those of sacrebleu's classes
        (also in a mapping ``settings``);
        ``compounds``, ``lexicon``, ``atoms``, ``grammar``, ``match``, ``group_size``, ``keep_blanks`` for CTER.
    :raises InputError: lengths differ, arguments do not fit together, or the form of hypotheses would make their score
        meaningless.
    """
    check_whole(1, samples=samples, min_count=min_count)
    check_whole(0, seed=seed)
    check_choice(("source", "target"), side=side)
    check_choice(("table6",), groups=groups)
    check_choice(TESTS, paired=None if isinstance(paired, bool) else paired)
    check_flag(all_pairs=all_pairs, confidence=confidence, differences=differences, accept_text=accept_text)
    preparation = Preparation(normalise, accept_text, release)
    if isinstance(bins, Real):
        check_whole(1, bins=bins)
    given = {"bins": bins, "groups": groups, "side": side, "train": train, "min_count": min_count, "lm": lm}
    given["table"] = None if release is not None else table
    if release is not None:
        files = release_files(Path(release))
        references = files["reference"] if absent(references) else references
        sources = files["source"] if sources is None else sources
        table = files.get("table") if table is None else table
        if ids is not None:
            own = files.get("table")
            references = in_release(ids, references, own) if references is files["reference"] else references
            sources = in_release(ids, sources, own) if sources is files["source"] else sources
    texts_given = {"references": references, "sources": sources, "human": human, "compounds": options.get("compounds")}
    leads = isinstance(metric, Metric)
    joined, runs, first = join_texts(ids, texts_given, systems, leads=leads, table=table if by is not None else None)
    references, sources, human = joined["references"], joined["sources"], joined["human"]
    if joined["compounds"] is not None:
        options["compounds"] = joined["compounds"]
    examples: list[list[str]] = []
    source_column = None if sources is None else as_column(sources, "sources", "source")
    if isinstance(metric, str) and metric == "cter":
        check_names(CTER_OPTIONS, options, "CTER")
        if source_column is None:
            raise InputError(f"CTER is of compounds in sources: {argument('sources')} are needed")
        made: Metric = make_cter(source_column, **options)
        targets: Column | None = source_column
        against, names = source_column.name, [source_column.name]
    elif isinstance(metric, Metric):
        if options:
            raise InputError(f"{argument(next(iter(options)))}: the metric was made before, with its own options")
        made = metric
        examples, names = read_references(references) if references is not None else ([], [])
        targets = Column(names[0], [example[0] for example in examples]) if examples else source_column
        against = names[0] if names else "the metric"
    else:
        examples, names = read_references(references)
        check_sources(source_column, len(examples), names[0])
        if more_references:
            examples = with_more(examples, more_references, source_column)
        made = make_metric(metric, examples, **options)
        targets, against = Column(names[0], [example[0] for example in examples]), names[0]
    if isinstance(made, Cter) and side == "target":
        raise InputError(
            f"{argument('side', side)}: CTER has no references; what {argument('by')} looks at is the source"
        )
    judgements = None if human is None else as_column(human, "human", "human_correct", "human", "correct")
    _check_together(by, given, differences)
    easy, easy_lines = None, list[str]()
    if control_systems is not None:
        given_control = (control_references, control_sources, control_compounds)
        easy, easy_lines = _control(
            metric, control_systems, systems, given_control, preparation, more_references, options, ids
        )
    elif not absent(control_references) or control_sources is not None or control_compounds is not None:
        raise InputError(f"a control set is given without its hypotheses; give {argument('control_systems')}")
    if not (paired or all_pairs or confidence or easy or differences or by is not None):
        for name, value in (("samples", samples), ("seed", seed)):
            if value is not None:
                raise InputError(
                    f"{argument(name)} belongs to {argument('confidence')}, {argument('paired')} or {argument('by')}"
                )
    comparison = Comparison(
        CALIBRATED if paired is True or (all_pairs and not paired) else paired or None,
        baseline,
        samples,
        SEED if seed is None else seed,
        confidence=confidence,
        all_pairs=all_pairs,
        shared_seeds=shared_seeds,
    )
    rows = _published(made, published, options)
    read, prepared = preparation.prepare(made, read_systems(runs, made.n, against), examples)
    told = tuple(replace(system, texts=tuple((texts or {}).get(system.name, ()))) for system in read)
    if texts and examples:  # beside scores from elsewhere, words alone are compared by differences
        said = [system for system in told if system.texts]
        prepared += replace(preparation, accept=accept_text or not differences).check(Reading(), said, examples)
    breakdown = None
    text = source_column if side == "source" else targets
    chosen = table or _table_of([source_column.name] if source_column else [], names)
    cter_metric = made if isinstance(made, Cter) else None
    material = Material(text, train, chosen, None if lm is None else Path(lm), cter_metric, min_count or 3, ids, first)
    if train is not None and text is not None:
        prepared += preparation.check_training(text, train)
    if by is not None:
        breakdown = _breakdown(made.n, by, material, bins, groups)
    scored = score(made, read, comparison, breakdown, judgements, rows, easy)
    lines = prepared + [line for line in easy_lines if line not in prepared]
    lines += warnings_of(made, read, comparison, breakdown is not None or easy is not None)
    lines += made_otherwise(read, easy)
    if breakdown and not groups and (line := coinciding(breakdown.feature, breakdown.how)):
        lines.append(line)
    warned = tuple(map(InputWarning, [*lines, *disagreements(scored)]))
    for warning in warned:
        warnings.warn(warning, stacklevel=2)
    asked = Asked(comparison, material, source_column.values if source_column else None, examples or None, warned)
    found = find_differences(made, told, scored.results, asked.references, material, comparison) if differences else ()
    return Evaluation(scored, told, asked, found)


def _control(
    metric: str | Metric,
    given: Runs | Mapping[str, Runs],
    systems: Runs | Mapping[str, Runs],
    texts: tuple[Any, Texts | None, Texts | None],
    preparation: Preparation,
    more: Sequence[Corpus],
    options: Mapping[str, Any],
    ids: str | None,
) -> tuple[ControlSet, list[str]]:
    """The control set: its metric, and what the systems said to it, in the order of those of the test set; and lines
    about what is odd about their form.

    :param texts: references, sources and compounds of it.
    :raises InputError: something is missing, or the systems are others.
    """
    references, sources, compounds = texts
    release = preparation.release
    examples: list[list[str]] = []
    made: Metric
    if release is not None and isinstance(metric, str) and metric != "cter":
        files = release_files(Path(release), control=absent(references))
        if absent(references):
            references = files["reference"]
            sources = files["source"] if sources is None else sources
    if isinstance(given, Mapping) != isinstance(systems, Mapping):
        raise InputError(
            f"{argument('control_systems')} and {argument('systems')}: name the systems in both, or in none"
        )
    if isinstance(given, Mapping) and isinstance(systems, Mapping):
        strange = [name for name in given if name not in systems]
        lacking = [name for name in systems if name not in given]
        if strange or lacking:
            what = f"{strange[0]} is none of the systems" if strange else f"{lacking[0]} is missing"
            raise InputError(
                f"{argument('control_systems')}: {what}; the same systems answer the test set ({', '.join(systems)}) "
                "and the control set"
            )
        given = {name: given[name] for name in systems}
    texts_given = {"references": references, "sources": sources, "compounds": compounds}
    joined, runs, _ = join_texts(ids, texts_given, given, leads=isinstance(metric, Metric))
    references, sources, compounds = joined["references"], joined["sources"], joined["compounds"]
    column = None if sources is None else as_column(sources, "control_sources", "source")
    if isinstance(metric, Metric):
        if metric.control is None:
            raise InputError(f"{argument('control_systems')}: of a metric that was made before, there is no second one")
        made, against = metric.control, "its control set"
    elif metric == "cter":
        if column is None or compounds is None:
            missing = " and ".join(map(argument, ("control_sources", "control_compounds")))
            raise InputError(f"CTER of a control set is of its compounds: give {missing}")
        made = make_cter(column, **{**options, "compounds": compounds})
        against = column.name
    else:
        if absent(references):
            raise InputError(
                f"references of the control set are needed: {argument('control_references')} (or {argument('release')} "
                f"of one that was built with {argument('control')})"
            )
        examples, names = read_references(references)
        check_sources(column, len(examples), names[0])
        if more:
            examples = with_more(examples, more, column)
        made, against = make_metric(metric, examples, **options), names[0]
    read, lines = preparation.prepare(made, read_systems(runs, made.n, against), examples)
    return ControlSet(made, tuple(read)), [f"control set: {line}" for line in lines]


def make_metric(name: str, references: Sequence[Sequence[str]], **options: Any) -> Metric:
    """The metric ``name`` for references, those of each example.

    :raises InputError: there is no such metric, or an option does not fit.
    """
    check_flag(lowercase=options.get("lowercase"))
    if name in tuple(CLASSES):
        return _sacre(name, references, **options)
    if name == "exact":
        check_names(("preset", "lowercase"), options, "exact match")
        return _exact(references, **options)
    if name == "semantic":
        check_names(("lowercase",), options, "semantic match")
        return SemanticMatch(references, **options)
    raise InputError(f"{argument('metric', name)}{did_you_mean(name, METRICS)}")


def _sacre(
    kind: str,
    references: Sequence[Sequence[str]],
    *,
    preset: str = "sacrebleu",
    lowercase: bool = False,
    jobs: int = 1,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Metric:
    check_whole(1, jobs=jobs)
    if options.get("tokenize", "") is None:
        del options["tokenize"]
    if lowercase:
        if kind == "ter":
            raise InputError(
                f"{argument('lowercase')}: TER ignores case unless {argument('case_sensitive', True)}",
            )
        options["lowercase"] = True
    return SacreMetric(kind, references, preset, {**(settings or {}), **options}, jobs)


def _exact(references: Sequence[Sequence[str]], *, preset: str | None = None, lowercase: bool = False) -> Metric:
    if preset not in (None, "lexicon"):
        raise InputError(f"{argument('preset', preset)} is no way to count exact matches; there is lexicon")
    return ExactMatch(references, lowercase=lowercase, cut_end=preset == "lexicon")


def make_cter(
    sources: Texts,
    compounds: Texts | None = None,
    lexicon: AnyPath | Lexicon | None = None,
    *,
    atoms: AnyPath | Atoms = "cognition",
    grammar: AnyPath | Grammar = "cognition",
    match: str = "substring",
    lowercase: bool = False,
    group_size: int = 5,
    keep_blanks: bool = False,
) -> Cter:
    """CTER for sources and their compounds; ``cognition`` names what belongs to that benchmark.

    :raises InputError: something is missing or malformed, or compounds, lexicon and sources do not belong together.
    """
    check_whole(1, group_size=group_size)
    check_flag(lowercase=lowercase, keep_blanks=keep_blanks)
    if compounds is None or lexicon is None:
        missing = "compounds" if compounds is None else "lexicon"
        raise InputError(f"CTER needs compounds and the translations of their atoms: give {argument(missing)}")
    if match == "word" and keep_blanks:
        raise InputError(
            f"{argument('match', match)} looks at words, whose blanks are kept; leave {argument('keep_blanks')} out"
        )
    rules = grammar if isinstance(grammar, Grammar) else Grammar.read(os.fspath(grammar))
    return Cter(
        as_column(sources, "sources", "source"),
        as_column(compounds, "compounds", "compound"),
        lexicon if isinstance(lexicon, Lexicon) else Lexicon.read(os.fspath(lexicon), match, lowercase),
        atoms if isinstance(atoms, Atoms) else Atoms.read(os.fspath(atoms), rules),
        group_size=group_size,
        keep_blanks=keep_blanks,
    )


def _check_together(by: Any, given: dict[str, Any], differences: bool) -> None:
    """Refuse an argument that would do nothing beside the others."""
    for name, features in FEATURES_OF.items():
        if given[name] is None or (name == "train" and differences):
            continue
        if by is None:
            raise InputError(f"{argument(name)} belongs to {argument('by')}")
        if features and not (isinstance(by, str) and by.startswith(features)):
            shown = argument("by", by) if isinstance(by, str) else "given values"
            raise InputError(f"{argument(name)} does nothing for {shown}; leave it out")
    if given["groups"] and given["bins"] is not None:
        raise InputError(f"{argument('groups')} and {argument('bins')} both say what the bins are; give one")


def _published(metric: Metric, wanted: str | bool | None, options: dict[str, Any]) -> list[Published]:
    if wanted is None or wanted is False:
        return []
    benchmark = BENCHMARKS.get(options.get("preset", "")) if isinstance(metric, SacreMetric) else None
    if isinstance(metric, Cter) and metric.atoms.name == "cognition" == metric.grammar.name:
        benchmark = "CoGnition"
    name = benchmark if wanted is True else str(wanted)
    if name is None:
        example = argument("published", "COGS gen", "'COGS gen'")
        raise InputError(f"{argument('published')}: of which benchmark? Name it, such as {example}")
    shown = {"exact": "exact match"}.get(metric.name, metric.name)
    return published(name, "BLEU" if getattr(metric, "kind", "") == "bleu" else shown)


def _table_of(*names: Sequence[str]) -> str | None:
    """The first of the files given that is a table: its other columns are about the same examples."""
    paths = (split_name(name)[0] for group in names for name in group)
    return next((str(path) for path in paths if form(path) != "plain"), None)


def _breakdown(
    n: int, by: str | Iterable[Any], material: Material, bins: str | int | Sequence[float] | None, groups: str | None
) -> Breakdown:
    feature = make_feature(by, n, material) if isinstance(by, str) else _feature_of(by, material.first)
    if groups and feature.labels is None:
        raise InputError(f"{argument('groups', groups)} puts labels together; {feature.name} has numbers")
    if bins is not None and not isinstance(bins, (str, int)):
        bins = ",".join(map(str, bins)) + ("," if len(bins) == 1 else "")
    return Breakdown(feature, None if bins is None else str(bins), bool(groups))


def _feature_of(values: Iterable[Any], first: Column | None) -> Feature:
    """Given values, one an example: numbers, or labels; a pandas Series by the ids of ``first``."""
    name = getattr(values, "name", None)
    index = index_of(values)
    found = list(values)
    if index is not None and first is not None:
        found = [found[row] for row in places(argument("by"), index, first, more=True)]
    if all(isinstance(value, str) for value in found):
        return Feature(str(name or "values"), labels=tuple(found))
    try:
        numbers = np.array([float(value) for value in found])
    except (TypeError, ValueError):
        raise InputError(f"{argument('by')}: numbers or strings are needed, one an example") from None
    column = Column(str(name or "values"), [repr(number) for number in numbers.tolist()])
    return feature_of_column(column.name, column)
