"""Forms that the papers gave their data: meanings, logical forms, queries, questions."""

import hashlib
import io
import json
import re
import tarfile
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from shared_data import SHARED, needs
from small_recipes import git_blob, lenient

from cgbench.data_recipes import cfq, colors, pcfg
from cgbench.data_recipes.cfq import INVERSE, merge_triples, tokenize_query, tokenize_question
from cgbench.data_recipes.cogs import nested, with_role, without_variables
from cgbench.data_recipes.demo import corpus
from cgbench.data_recipes.prepared import get
from cgbench.data_recipes.recipe import Source
from cgbench.data_recipes.registry import find_recipe, recipes
from cgbench.data_recipes.smcalflow import read_requests
from cgbench.data_recipes.writer import tab_rows
from cgbench.errors import InputError
from cgbench.text.sparql import rewrite_query
from cgbench.text.streams import read_lines


def test_every_recipe_is_complete():
    for name, recipe in recipes().items():
        assert recipe.name == name
        assert (
            recipe.licence and recipe.citation and recipe.summary and recipe.size and recipe.splits
        )
        names = [source.name for source in recipe.sources]
        assert len(set(names)) == len(names) and len(
            {split.name for split in recipe.splits}
        ) == len(recipe.splits)
        for source in recipe.sources:
            assert bool(source.url or source.by_hand) != bool(source.archive), source
            assert not source.archive or (source.archive in names and source.member)
            assert all(
                re.fullmatch("sha256:[0-9a-f]{64}|git:[0-9a-f]{40}", known)
                for known in source.hashes
            )
        json.dumps(recipe.describe())


# COGS as trees: the examples of CSL's authors


@pytest.mark.parametrize(
    ("form", "tree"),
    [
        ("investigate . agent ( x _ 1 , James )", "investigate ( agent = James )"),
        ("* captain ( x _ 1 ) ; eat . agent ( x _ 2 , x _ 1 )", "eat ( agent = * captain )"),
        (
            "* sailor ( x _ 1 ) ; dust . agent ( x _ 2 , x _ 1 ) AND dust . theme ( x _ 2 , x _ 4 )"
            " AND boy ( x _ 4 )",
            "dust ( agent = * sailor , theme = boy )",
        ),
        (
            "* girl ( x _ 1 ) ; need . agent ( x _ 2 , x _ 1 ) AND need . xcomp ( x _ 2 , x _ 4 )"
            " AND cook . agent ( x _ 4 , x _ 1 )",
            "need ( agent = * girl , xcomp = cook ( agent = * girl ) )",
        ),
        (
            "* dog ( x _ 1 ) ; * bag ( x _ 7 ) ; dog . nmod . in ( x _ 1 , x _ 4 ) AND bakery"
            " ( x _ 4 ) AND bakery . nmod . in ( x _ 4 , x _ 7 ) AND sneeze . agent ( x _ 8 , x _ 1"
            " )",
            "sneeze ( agent = * dog ( nmod . in = bakery ( nmod . in = * bag ) ) )",
        ),
        ("Ava", "Ava"),
        ("LAMBDA a . shark ( a )", "LAMBDA a . shark ( a )"),
    ],
)
def test_cogs_as_trees(form, tree):
    assert nested(form) == tree


@needs("cogs/train.tsv.gz", "cogs/gen.tsv.gz")
def test_every_form_of_cogs_is_a_tree():
    for name in ("train", "gen"):
        for row in read_lines(SHARED / f"cogs/{name}.tsv.gz"):
            form = row.split("\t")[1]
            tree = nested(form)
            assert "x _" not in tree and tree.count("(") == tree.count(")")
            assert tree.count("=") >= form.count(",") or "LAMBDA" in form


# Colors


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        ("dax fep", "RED RED RED"),
        ("wif blicket dax", "GREEN RED GREEN"),
        ("lug kiki wif", "GREEN BLUE"),
        ("zup blicket wif kiki dax fep", "RED RED RED YELLOW GREEN YELLOW"),
        ("zup blicket zup kiki zup fep", "YELLOW YELLOW YELLOW YELLOW YELLOW YELLOW"),
    ],
)
def test_colors(words, meaning):
    assert colors.colours_of(words) == meaning


@needs("colors/train.tsv", "colors/test.tsv")
def test_generated_and_released_colors_agree(tmp_path):
    record = get(find_recipe("colors"), tmp_path / "colors", mirror=str(SHARED)).record
    assert {split["origin"] for split in record["splits"].values()} == {"released"}
    generated = get(find_recipe("colors"), tmp_path / "own" / "colors", offline=True).record
    assert {split["origin"] for split in generated["splits"].values()} == {"generated"}
    for side in ("src", "tgt"):
        assert generated["files"][f"test.{side}"] == record["files"][f"test.{side}"]


def test_released_pairs_that_are_not_those_of_the_paper_are_named(tmp_path):
    released = tmp_path / "mirror" / "colors" / "train.tsv"
    released.parent.mkdir(parents=True)
    recipe = replace(find_recipe("colors"), sources=(Source("train.tsv"), Source("test.tsv")))
    pairs = [f"{words} \t  {colors.colours_of(words)}\n" for words in colors.INPUTS["train"]]
    for rows, message in (
        (
            [*pairs[:-1], "dax\tBLUE\n"],
            r"train.tsv, row 14 \('dax'\) does not belong in this split",
        ),
        (pairs[1:], "train.tsv lacks 'dax', which belongs in this split"),
    ):
        released.write_text("".join(rows))
        with pytest.raises(InputError, match=message):
            get(recipe, tmp_path / "colors", mirror=str(tmp_path / "mirror"))


# PCFG SET


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("copy A1 B2 C3", "A1 B2 C3"),
        ("reverse A1 B2 C3", "C3 B2 A1"),
        ("shift A1 B2 C3", "B2 C3 A1"),
        ("echo A1 B2 C3", "A1 B2 C3 C3"),
        ("swap_first_last A1 B2 C3", "C3 B2 A1"),
        ("repeat A1 B2", "A1 B2 A1 B2"),
        ("append A1 , B2 C3", "A1 B2 C3"),
        ("prepend_twin A1 , B2 C3", "B2 C3 A1"),
        ("remove_first A1 , B2", "B2"),
        ("remove_second A1 , B2", "A1"),
        ("append reverse A1 B2 , append C3 , shift D4 E5", "B2 A1 C3 E5 D4"),
    ],
)
def test_pcfg_meanings(source, target):
    assert pcfg.meaning_of(source) == target


@pytest.mark.parametrize("source", ["append A1", "copy", "copy A1 , B2", "append A1 ,", ""])
def test_pcfg_sentences_that_are_none(source):
    with pytest.raises(ValueError, match=r"comma|empty|after the end"):
        pcfg.meaning_of(source)


def test_a_wrong_pcfg_target_is_named(tmp_path):
    (tmp_path / "x.src").write_text("copy A1\nreverse A1 B2\n")
    (tmp_path / "x.tgt").write_text("A1\nA1 B2\n")
    with pytest.raises(InputError, match=r"x\.tgt, row 2: 'A1 B2', but the source means 'B2 A1'"):
        list(pcfg.checked(tmp_path / "x.src", tmp_path / "x.tgt"))


@needs("pcfg/random10k.train.src", "pcfg/systematicity.test.src", "pcfg/productivity.test.src.gz")
def test_every_released_pcfg_row_means_what_it_says(tmp_path):
    record = get(find_recipe("pcfg-set"), tmp_path / "pcfg", mirror=str(SHARED)).record
    assert record["splits"]["productivity/test"]["rows"] == 11_333 and len(record["splits"]) == 5


# COGS

GIRL = "* girl ( x _ 1 ) ; girl . nmod . beside ( x _ 1 , x _ 4 ) AND table ( x _ 4 ) AND "


@pytest.mark.parametrize(
    ("form", "kind", "changes"),
    [
        (GIRL + "roll . agent ( x _ 5 , x _ 1 )", "obj_pp_to_subj_pp", True),
        (
            GIRL + "say . agent ( x _ 5 , x _ 1 ) AND roll . agent ( x _ 9 , x _ 1 )",
            "obj_pp_to_subj_pp",
            True,
        ),
        (GIRL + "roll . agent ( x _ 5 , x _ 1 )", "in_distribution", False),
        (GIRL + "sleep . agent ( x _ 5 , x _ 1 )", "obj_pp_to_subj_pp", False),
        (
            GIRL + "roll . theme ( x _ 5 , Emma ) AND roll . agent ( x _ 5 , x _ 1 )",
            "obj_pp_to_subj_pp",
            False,
        ),
    ],
)
def test_the_correction_of_2022(form, kind, changes):
    corrected = with_role(form, kind, "theme")
    assert (corrected != form) is changes
    assert with_role(corrected, kind, "agent") == form
    if changes:
        assert (
            corrected == form[: form.rindex("agent")] + "theme" + form[form.rindex("agent") + 5 :]
        )


def test_a_ball_that_rolls_is_a_theme_in_both_editions():
    form = (
        "* ball ( x _ 1 ) ; ball . nmod . on ( x _ 1 , x _ 4 ) AND table ( x _ 4 ) AND roll . theme"
        " ( x _ 5 , x _ 1 )"
    )
    assert with_role(form, "obj_pp_to_subj_pp", "agent") == form


@needs("cogs/gen.tsv.gz")
def test_either_edition_of_gen_gives_both_as_they_were_released():
    source = next(source for source in find_recipe("cogs").sources if source.name == "gen.tsv")
    rows = tab_rows(SHARED / "cogs" / "gen.tsv.gz", "sentence", "logical form", "type")
    for _ in range(2):
        for role, known in zip(("theme", "agent"), source.hashes, strict=True):
            text = "".join(
                f"{words}\t{with_role(form, kind, role)}\t{kind}\n" for words, form, kind in rows
            ).encode()
            assert f"sha256:{hashlib.sha256(text).hexdigest()}" == known
        rows = [(words, with_role(form, kind, "theme"), kind) for words, form, kind in rows]


@needs("cogs/gen.tsv.gz", "cogs/lexicons/intersect.align.o.json")
def test_cogs_has_both_editions_of_gen_and_the_lexicons(tmp_path):
    record = get(find_recipe("cogs"), tmp_path / "cogs", mirror=str(SHARED)).record
    for split, blob in (
        ("gen", "a54a3c9b5f46464daf9b10fc6df7133796f1f293"),
        ("gen-2020", "dd70680b94252c4ae52ba54de85245a9c6cc1bc9"),
    ):
        columns = [
            (tmp_path / "cogs" / f"{split}.{side}").read_text().splitlines()
            for side in ("src", "tgt", "type")
        ]
        assert (
            git_blob("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode())
            == blob
        )
    for name in ("lexicons/intersect.align.o.json", "lexicons/goodman.json"):
        assert (tmp_path / "cogs" / name).read_bytes() == (SHARED / "cogs" / name).read_bytes()
        assert record["files"][name] == record["sources"][name]["sha256"]


@pytest.mark.parametrize(
    ("form", "rewritten"),
    [
        (
            (
                "* donkey ( x _ 1 ) ; * cookie ( x _ 4 ) ; lend . agent ( x _ 2 , x _ 1 ) AND lend"
                " . theme ( x _ 2 , x _ 4 ) AND lend . recipient ( x _ 2 , x _ 7 ) AND mother ( x"
                " _ 7 )"
            ),
            (
                "agent ( lend , * donkey ) AND theme ( lend , * cookie ) AND recipient ( lend ,"
                " mother )"
            ),
        ),
        (
            (
                "hope . agent ( x _ 1 , Liam ) AND hope . ccomp ( x _ 1 , x _ 5 ) AND box ( x _ 4 )"
                " AND burn . theme ( x _ 5 , x _ 4 ) AND box . nmod . in ( x _ 4 , x _ 9 ) AND"
                " house ( x _ 9 )"
            ),
            (
                "agent ( hope , Liam ) AND ccomp ( hope , burn ) AND theme ( burn , box ) AND in ("
                " box , house )"
            ),
        ),
        ("LAMBDA a . LAMBDA e . paint . agent ( e , a )",) * 2,
        ("Emma",) * 2,
    ],
)
def test_forms_without_variables(form, rewritten):
    assert without_variables(form) == rewritten


def test_a_row_without_its_type_is_named(tmp_path):
    (tmp_path / "x.tsv").write_text("a\tb\tc\na\tb\n")
    with pytest.raises(InputError, match="row 2 has 2 columns"):
        tab_rows(tmp_path / "x.tsv", "sentence", "logical form", "type")


@needs("cogs/train.tsv.gz", "cogs/gen.tsv.gz")
def test_cogs_from_a_mirror(tmp_path):
    record = get(find_recipe("cogs"), tmp_path / "cogs", mirror=str(SHARED)).record
    assert record["missing"] == ["train-100"]
    lines = (tmp_path / "cogs" / "dangle" / "gen.tgt").read_text().splitlines()
    dev = (tmp_path / "cogs" / "dangle" / "gen-dev.tgt").read_text().splitlines()
    assert len(dev) == 2_100 and not Counter(dev) - Counter(lines)
    assert not any("x _" in line for line in lines)


# CFQ


def test_cfq_tokens():
    assert tokenize_question("Did M0's film star M1?") == "Did M0 ' s film star M1 ?"
    query = (
        "SELECT count(*) WHERE {\n?x0 ns:film.actor.film/ns:film.performance.film M1 .\n?x0 a"
        " ns:m.0x\n}"
    )
    assert (
        tokenize_query(query)
        == "SELECT count ( * ) WHERE { ?x0 film.actor.film/ns:film.performance.film M1 . ?x0 a"
        " m_0x }"
    )


def test_merged_triples():
    query = (
        "SELECT DISTINCT ?x0 WHERE { ?x0 film.writer.film M2 . ?x0 film.writer.film M1 . M5 edited"
        " M2 . M5 edited M1 . M4 edited M2 . M4 edited M1 . ?x0 a people.person . FILTER ( ?x0 !="
        " M7 ) }"
    )
    assert (
        merge_triples(query, inverse=False)
        == "SELECT DISTINCT ?x0 WHERE { ?x0 a people.person . ?x0 film.writer.film M1 M2 . FILTER ("
        " ?x0 != M7 ) . M4 M5 edited M1 M2 }"
    )
    query = (  # the same arguments: one clause
        "SELECT count ( * ) WHERE { M1 wrote M2 . M1 edited M2 }"
    )
    assert merge_triples(query, inverse=False) == "SELECT count ( * ) WHERE { M1 edited wrote M2 }"


def test_inverse_predicates_are_turned_round():
    query = "SELECT count ( * ) WHERE { M1 film.film.directed_by M2 . M2 film.director.film M3 }"
    assert (
        merge_triples(query, inverse=True)
        == "SELECT count ( * ) WHERE { M2 film.director.film M1 M3 }"
    )
    assert not set(INVERSE) & set(INVERSE.values())


def cfq_archive(path, records, splits):
    with tarfile.open(path, "w:gz") as archive:
        files = {"dataset.json": json.dumps(records, indent=1)}
        files |= {f"splits/{name}.json": json.dumps(rows) for name, rows in splits.items()}
        for name, text in files.items():
            item = tarfile.TarInfo(f"cfq/{name}")
            item.size = len(text.encode())
            archive.addfile(item, io.BytesIO(text.encode()))


@pytest.fixture
def small_cfq(tmp_path, monkeypatch):
    records = [
        {
            "complexityMeasures": {"questionTemplate": 'a "quoted" word'},
            "question": "not this",
            "questionPatternModEntities": f'Did M{number} say "yes"?',
            "ruleTree": {"x": ["y"] * 500},  # several chunks in all
            "sparqlPatternModEntities": (
                f"SELECT count(*) WHERE {{\nM{number} ns:people.person.wrote M9\n}}"
            ),
        }
        for number in range(400)
    ]
    rows = {"trainIdxs": [0, 2], "devIdxs": [1], "testIdxs": [399]}
    monkeypatch.setattr(cfq, "PAIRS", 400)
    monkeypatch.setattr(cfq, "LONGEST_FIELD", 200)
    folder = tmp_path / "downloads" / "cfq"
    folder.mkdir(parents=True)
    return folder / cfq.ARCHIVE, records, {file: rows for file, *_ in cfq.SPLITS.values()}


def test_cfq_from_its_archive(small_cfq, tmp_path):
    cfq_archive(*small_cfq)
    get(lenient("cfq"), tmp_path / "cfq", offline=True)
    folder = tmp_path / "cfq"
    assert (
        folder / "mcd1" / "train.src"
    ).read_text() == 'Did M0 say " yes " ?\nDid M2 say " yes " ?\n'
    assert (
        folder / "length" / "test.tgt"
    ).read_text() == "SELECT count ( * ) WHERE { M399 people.person.wrote M9 }\n"
    assert (
        folder / "dangle-mcd3" / "valid.tgt"
    ).read_text() == "SELECT count ( * ) WHERE { M1 people.person.wrote M9 }\n"
    assert not (folder / "dangle-random").exists()


class Trickle(io.BytesIO):
    """A member of an archive that comes a few bytes at a time."""

    archive, name = "x.tgz", "dataset.json"

    def read(self, size=-1):
        return super().read(37)


def test_cfq_in_another_form(small_cfq, tmp_path):
    """Only the targets of the plain splits change, and a folder keeps its form."""
    cfq_archive(*small_cfq)
    for form in ("", "f2"):
        get(lenient("cfq"), tmp_path / f"cfq{form}", offline=True, form=form)
    plain, grouped = tmp_path / "cfq", tmp_path / "cfqf2"
    for name in ("mcd1/train.src", "dangle-mcd1/train.tgt"):
        assert (plain / name).read_bytes() == (grouped / name).read_bytes()
    queries = [(folder / "mcd1/train.tgt").read_text().splitlines() for folder in (plain, grouped)]
    assert queries[1] == [rewrite_query(query, "f2") for query in queries[0]] != queries[0]
    assert json.loads((grouped / "recipe.json").read_text())["form"] == "f2"
    with pytest.raises(InputError, match="contains cfq in the form f2"):
        get(lenient("cfq"), grouped, offline=True)
    with pytest.raises(InputError, match="no such form; there is f1, f2, f3, t5, f3-t5"):
        get(lenient("cfq"), tmp_path / "other", offline=True, form="f4")


def test_a_cfq_field_may_come_in_pieces(small_cfq):
    _, records, _ = small_cfq
    pairs = [
        (record["questionPatternModEntities"], record["sparqlPatternModEntities"])
        for record in records[:5]
    ]
    assert list(cfq.read_dataset(Trickle(json.dumps(records[:5]).encode()))) == pairs


@pytest.mark.parametrize("field", ["questionPatternModEntities", "sparqlPatternModEntities"])
@pytest.mark.parametrize("number", [7, 399])
def test_a_cfq_record_without_a_field_is_named(small_cfq, tmp_path, field, number):
    path, records, splits = small_cfq
    del records[number][field]
    cfq_archive(path, records, splits)
    with pytest.raises(InputError, match=rf"record {number + 1} of"):
        get(lenient("cfq"), tmp_path / "cfq", offline=True)


# SMCalFlow-CS


@needs("smcalflow-cs/num128.test.jsonl")
def test_smcalflow_from_a_mirror(tmp_path):
    get(find_recipe("smcalflow-cs"), tmp_path / "s", mirror=str(SHARED))
    kinds = Counter((tmp_path / "s" / "num128" / "test.kind").read_text().split())
    assert kinds == {"compositional": 663, "single": 662}


def test_a_request_without_a_plan_is_named(tmp_path):
    (tmp_path / "x.jsonl").write_text(
        '{"utterance": "a", "plan": "b", "tags": []}\n{"utterance": "a", "tags": []}\n'
    )
    with pytest.raises(InputError, match="row 2: not a record"):
        list(read_requests(tmp_path / "x.jsonl"))


# The demo corpus


def test_demo(tmp_path, monkeypatch):
    small = partial(corpus.write_demo, train_pairs=1_000, pool_pairs=600, valid_pairs=20)
    monkeypatch.setattr(corpus, "write_demo", small)
    record = get(lenient("demo"), tmp_path / "demo", offline=True).record
    assert set((tmp_path / "demo" / "pool.kinds").read_text().split()) == set(corpus.KINDS)
    rows = {name: split["rows"] for name, split in record["splits"].items()}
    assert rows == {"train": 1_000, "valid": 20, "pool": 600}
