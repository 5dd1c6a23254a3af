import csv
import gzip
import json
import os
import re
import subprocess
import sys

import pytest
from sacrebleu.metrics import BLEU
from shared_data import SHARED, needs
from small_build import rewrite, write_release
from text_files import write_lines

REFERENCES = ["the dog saw a cat .", "a cat ran away .", "we saw it .", "it is red ."] * 3
KEYS = {
    "metric",
    "system",
    "value",
    "stdev",
    "runs",
    "n",
    "signature",
    "signature_short",
    "ci_low",
    "ci_high",
    "ci_mean",
    "p_value",
    "p_holm",
    "difference",
    "baseline",
    "by",
    "bins",
    "values",
    "lower_is_better",
}


@pytest.fixture
def files(tmp_path):
    """References, two systems (one with two runs), a table and a training text."""
    write_lines(tmp_path / "ref", REFERENCES)
    write_lines(tmp_path / "a1", [line.replace("cat", "dog") for line in REFERENCES])
    write_lines(tmp_path / "a2", [line.replace("saw", "had") for line in REFERENCES])
    write_lines(tmp_path / "b", ["it is red ."] * 12)
    write_lines(tmp_path / "train", REFERENCES[:2] * 3)
    rows = "".join(
        f"{number}\t{'odd' if number % 2 else 'even'}\t{number / 10}\n" for number in range(12)
    )
    (tmp_path / "table.tsv").write_text("id\tkind\trmi\n" + rows)
    return tmp_path


@pytest.fixture
def compounds(tmp_path):
    """Two compounds in two contexts each, a lexicon and atoms of its own."""
    write_lines(
        tmp_path / "source", ["the dog ran", "a red dog .", "see the dog", "saw the dog now"]
    )
    write_lines(tmp_path / "compounds", ["dog", "dog", "the dog", "the dog"])
    (tmp_path / "lexicon").write_text("dog\tD/H\nthe\t/\n")
    (tmp_path / "atoms").write_text("DET\tthe\tthe\nN\tdog\tdog\n")
    write_lines(tmp_path / "hyp", ["D r", "x", "D s", ""])
    words = [
        "--source",
        tmp_path / "source",
        "--compounds",
        tmp_path / "compounds",
        "--lexicon",
        tmp_path / "lexicon",
    ]
    return [
        *words,
        "--set",
        f"atoms={tmp_path / 'atoms'}",
        "--set",
        "group_size=2",
        "--hyp",
        f"sys={tmp_path / 'hyp'}",
    ]


@pytest.mark.parametrize(
    ("options", "sacrebleu"), [([], {}), (["--confidence"], {"n_bootstrap": 1000})]
)
def test_one_system_is_a_line_of_sacrebleu(files, run, options, sacrebleu):
    result = run(
        "score",
        "BLEU",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--set",
        "width=2",
        *options,
    )
    metric = BLEU(force=True)
    score = metric.corpus_score((files / "a1").read_text().splitlines(), [REFERENCES], **sacrebleu)
    (line,) = result.stdout.splitlines()
    assert line == score.format(width=2, signature=metric.get_signature().format())
    assert (
        "one run" not in result.stderr
    )  # the file names no seed, and may be from a system without any


def test_the_interval_of_exact_match_is_not_symmetric(files, run):
    line = run(
        "score", "exact", "--ref", files / "ref", "--hyp", files / "ref", "--confidence"
    ).stdout.splitlines()[0]
    assert line.endswith(
        "= 100.0 (95%: 71.2 to 100.0) (12 of 12)"
    )  # Wilson's, by Student's t: 12 / (12 + 2.201²)


def test_all_pairs_in_every_form(files, run):
    words = ["score", "exact", "--ref", files / "ref", "--all-pairs", "--set", "samples=200"]
    for name in ("a1", "a2", "b"):
        words += ["--hyp", files / name]
    rows = json.loads(run(*words, "--format", "json").stdout)
    assert [[pair["against"] for pair in row.get("pairs", ())] for row in rows] == [
        [],
        ["a1"],
        ["a1", "a2"],
    ]
    assert all(row["test"] == "calibrated" and row["baseline"] is None for row in rows)
    assert "|pairs:all" in rows[0]["signature"]
    last = rows[2]["pairs"][1]
    assert last["difference"] == pytest.approx(rows[2]["value"] - rows[1]["value"])
    named = [["a2", "a1"], ["b", "a1"], ["b", "a2"]]
    assert [
        line.split()[:2] for line in run(*words).stdout.split("\n\n")[1].splitlines()[1:]
    ] == named
    head, *table = [line.split("\t") for line in run(*words, "--format", "tsv").stdout.splitlines()]
    pairs = [found for row in table if (found := dict(zip(head, row, strict=True)))["baseline"]]
    assert [[row["system"], row["baseline"]] for row in pairs] == named
    assert (
        float(pairs[2]["p_holm"]) == last["p_holm"] >= last["p_value"] == float(pairs[2]["p_value"])
    )
    assert "all pairs & against" in run(*words, "--format", "latex").stdout
    assert "leave --baseline out" in run(*words, "--baseline", "b", status=2).stderr


def test_unseen_words_are_a_bin_and_bins_that_coincide_are_said(run, tmp_path):
    (tmp_path / "ref").write_text("".join(f"{word}\n" for word in [*"aaaabbbb", "new", "new"]))
    (tmp_path / "train").write_text("a\n" * 3 + "b\n" * 5)
    words = [
        "score",
        "exact",
        "--ref",
        tmp_path / "ref",
        "--hyp",
        tmp_path / "ref",
        "--train",
        tmp_path / "train",
    ]
    result = run(*words, "--by", "frequency", "--bins", "quantiles:4", "--format", "json")
    bins = json.loads(result.stdout)["bins"]
    assert [(one["label"], one["n"], one["low"]) for one in bins] == [
        ("unseen", 2, 0),
        ("1-4", 4, 1),
        (">= 5", 4, 5),
    ]
    assert "--bins quantiles:4: quantiles of frequency coincide" in result.stderr
    assert "2 bins are left besides unseen" in result.stderr
    assert "coincide" not in run(*words, "--by", "frequency", "--bins", "quantiles:2").stderr


def test_bins_are_columns_in_latex(run, tmp_path):
    """Short examples: base is right; long ones: ours is, and so often that the difference is
    significant.
    """
    rows = ["a"] * 12 + ["a b c"] * 30
    for name, texts in (
        ("ref", rows),
        ("base", rows[:12] + ["x"] * 30),
        ("my_own", ["a"] * 9 + ["x"] * 3 + rows[12:]),
    ):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    words = [
        "score",
        "exact",
        "--ref",
        tmp_path / "ref",
        "--hyp",
        tmp_path / "base",
        "--hyp",
        tmp_path / "my_own",
    ]
    words += ["--by", "length", "--bins", "2,", "--paired", "mcnemar", "--format", "latex"]
    whole, bins = run(*words).stdout.split("\n\n")
    assert r"base & 42 & 1 & 28.6 & " in whole and r"my\_own & 42 & 1 & \textbf{92.9} & " in whole
    assert r"& $+$64.3\rlap{$^{**}$} &" in whole and "& $<$ 0.0001" in whole
    assert bins.splitlines()[2:4] == [
        r"\caption{exact (\%) by length}",
        r"\label{tab:exact-by-length}",
    ]
    assert bins.splitlines()[7:-4] == [
        r"length & all & $<$ 2 & $\geq$ 2 \\",
        r"\midrule",
        r"$n$ & 42 & 12 & 30 \\",
        r"base & 28.6 & \textbf{100.0} & 0.0 \\",
        r"my\_own & \textbf{92.9}\rlap{$^{**}$} & \textbf{75.0} & \textbf{100.0}\rlap{$^{**}$} \\",
    ]
    note = bins.splitlines()[-2]
    assert "Differs from base: * p $<$ 0.05, ** p $<$ 0.01 (mcnemar, p adj" in note
    two = [
        "--hyp",
        f"both={tmp_path / 'base'},{tmp_path / 'my_own'}",
        "--by",
        "length",
        "--bins",
        "2,",
    ]
    shown = run("score", "exact", "--ref", tmp_path / "ref", *two, "--format", "latex").stdout
    assert (
        r"both & 60.7$_{\pm 45.5}$ & 87.5$_{\pm 17.7}$ & 50.0$_{\pm 70.7}$ \\" in shown
    )  # nothing to be best of


def test_scores_are_drawn_in_bins_and_without(files, run, tmp_path):
    pytest.importorskip("matplotlib")
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"$a={files / 'a1'}",
        "--hyp",
        files / "b",
    ]
    for more in (["--by", "length", "--bins", "2", "--set", "samples=50"], []):
        run(*words, *more, "--output", tmp_path / "x.svg")
        assert all(
            f">{name}<" in (tmp_path / "x.svg").read_text() for name in ("$a", "b", "exact (%)")
        )


def test_plots_that_cannot_be(files, run, tmp_path):
    words = ["score", "exact", "--ref", files / "ref", "--hyp", files / "a1", "--output"]
    assert (
        "the suffix names the form; end the name in one of .txt, .md"
        in run(*words, tmp_path / "x.gif", "--by", "length", status=2).stderr
    )
    ref = files / "ref.svg"
    ref.write_text((files / "ref").read_text())
    words[3] = ref
    assert (
        run(*words, ref, "--by", "length", status=2).stderr
        and ref.read_text() == (files / "ref").read_text()
    )


def test_systems_runs_and_a_test_in_every_form(files, run):
    words = ["score", "exact", "--ref", files / "ref", "--hyp", f"a={files / 'a1'},{files / 'a2'}"]
    words += [
        "--hyp",
        f"b={files / 'b'}",
        "--paired",
        "calibrated",
        "--baseline",
        "b",
        "--set",
        "samples=200",
    ]
    rows = json.loads(run(*words, "--format", "json").stdout)
    assert [row["system"] for row in rows] == ["a", "b"]
    first = rows[0]
    assert set(first) >= KEYS
    assert (first["n"], first["runs"], first["baseline"]) == (12, 2, "b")
    assert first["values"] == [50.0, 50.0] and first["value"] == 50.0 and first["stdev"] == 0.0
    assert first["difference"] == 25.0 and 0 < first["p_value"] <= first["p_holm"] <= 1
    assert first["ci_low"] <= 50 <= first["ci_high"]
    assert rows[1]["p_value"] is None and rows[1]["stdev"] is None
    parts = "nrefs:1|bs:200|paired:components|runs:2+1|seed:12345|case:mixed|tok:blanks|version:"
    assert first["signature"].startswith(parts)
    text = run(*words).stdout
    for form in ("text", "markdown", "latex", "tsv"):
        shown = run(*words, "--format", form).stdout
        plain = shown.replace(r"\textbar{}\allowbreak{}", "|").replace("\\", "")
        assert first["signature"] in plain
    assert re.search(r"b +12 +1 .* baseline\n", text) and "+25.0" in text
    assert (
        "p (Holm)" not in text
        and "Holm" not in text
        and "Holm" in run(*words, "--hyp", f"c={files / 'b'}").stdout
    )
    table = list(csv.DictReader(run(*words, "--format", "tsv").stdout.splitlines(), delimiter="\t"))
    assert [float(row["value"]) for row in table] == [50.0, 25.0]
    assert float(table[0]["p_value"]) == first["p_value"]


def test_the_same_call_gives_the_same_bytes(files, run):
    words = [
        "score",
        "chrf",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--hyp",
        f"b={files / 'b'}",
    ]
    words += ["--paired", "randomization", "--set", "samples=100", "--format", "json"]
    assert run(*words).stdout == run(*words).stdout
    assert run(*words).stdout != run(*words, "--set", "seed=1").stdout


def test_bins_of_a_column(files, run):
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--table",
        files / "table.tsv",
    ]
    row = json.loads(run(*words, "--by", "column:kind", "--format", "json").stdout)
    assert [(one["label"], one["n"], one["value"]) for one in row["bins"]] == [
        ("even", 6, 50.0),
        ("odd", 6, 50.0),
    ]
    assert row["bins"][0]["ci_low"] is not None and row["by"] == "column:kind"
    assert "|by:column-kind|" in row["signature"]
    row = json.loads(
        run(*words, "--by", "uncertainty", "--bins", "0.2,0.6", "--format", "json").stdout
    )
    assert [(one["label"], one["n"]) for one in row["bins"]] == [
        ("< 0.2", 2),
        ("0.2 to < 0.6", 4),
        (">= 0.6", 6),
    ]
    text = run(*words, "--by", "column:kind").stdout
    assert "kind  n  system" in text and "95% interval" in text


def test_bins_of_perplexity(files, run):
    known = sorted(
        {word for line in (files / "train").read_text().splitlines() for word in line.split()}
    )
    rows = ["-3\t<unk>\t0", "-99\t<s>\t0", "-1\t</s>", *(f"-1\t{word}\t0" for word in known)]
    pairs = ["\\2-grams:", f"-1\t<s> {known[0]}", "", "\\end\\"]
    write_lines(
        files / "x.arpa",
        ["\\data\\", f"ngram 1={len(rows)}", "ngram 2=1", "", "\\1-grams:", *rows, "", *pairs],
    )
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--by",
        "perplexity",
    ]
    words += ["--bins", "quantiles:2"]
    assert "give --set lm" in run(*words, status=2).stderr
    low, high = json.loads(
        run(*words, "--set", f"lm={files / 'x.arpa'}", "--format", "json").stdout
    )["bins"]
    assert (low["n"], high["n"]) == (6, 6)  # the training text holds two of the four sentences


def test_categories_of_a_table_without_a_header(tmp_path, run):
    rows = (
        "John ran .\trun ( John )\tprim_to_subj_proper\nA b .\tb ( a )\tcp_recursion\nC d .\td ( c"
        " )\tpp_recursion\n"
    )
    (tmp_path / "gen.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    write_lines(tmp_path / "hyp", ["run ( John )", "x", "d ( c )"])
    table = tmp_path / "gen.tsv.gz"
    words = [
        "score",
        "exact",
        "--ref",
        f"{table}:2",
        "--hyp",
        f"lstm={tmp_path / 'hyp'}",
        "--table",
        table,
    ]
    words += ["--by", "column:3", "--format", "json"]
    row = json.loads(run(*words).stdout)
    assert {one["label"]: one["value"] for one in row["bins"]} == {
        "cp_recursion": 0.0,
        "pp_recursion": 100.0,
        "prim_to_subj_proper": 100.0,
    }
    at = words.index("--table")
    assert (
        json.loads(run(*words[:at], *words[at + 2 :]).stdout) == row
    )  # the table of the references, if none is named


def test_signatures_name_the_test(files, run):
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--hyp",
        f"b={files / 'b'}",
    ]
    words += ["--format", "json", "--set", "samples=50", "--paired"]
    signatures = [
        json.loads(run(*words, test).stdout)[0]["signature"]
        for test in ("randomization", "mcnemar")
    ]
    assert (
        "|bs:50|paired:two-sided|seed:12345|"
        in json.loads(run(*words, "bootstrap").stdout)[0]["signature"]
    )
    words[1] = "bleu"
    words[5] += f",{files / 'a2'}"
    assert (
        "|paired:components|runs:2+1|"
        in json.loads(run(*words, "calibrated").stdout)[0]["signature"]
    )
    words[5] = f"a={files / 'a1'}"
    assert "paired:" not in json.loads(run(*words, "bootstrap").stdout)[0]["signature"]
    assert (
        "|bs:50|ar:50|seed:12345|" in signatures[0]
        and "|bs:50|mcnemar:exact|seed:12345|" in signatures[1]
    )


def test_case_and_ends_on_request(files, run, values):
    write_lines(files / "upper", [line.upper() for line in REFERENCES])
    for name in ("exact", "bleu", "chrf"):
        words = ["score", name, "--ref", files / "ref", "--hyp", files / "upper"]
        assert "in case alone. Remedy: --lowercase" in run(*words, status=2).stderr
        assert values(*words, "--accept-text")[0] < 50 and values(*words, "--lowercase") == [100]
    assert (
        "--lowercase: TER ignores case"
        in run("score", "ter", *words[2:6], "--lowercase", status=2).stderr
    )
    write_lines(files / "ended", [f"{line} </s> more" for line in REFERENCES])
    words = ["score", "exact", "--ref", files / "ref", "--hyp", files / "ended"]
    assert "marks such as </s>" in run(*words, status=2).stderr
    assert values(*words, "--accept-text") == [0] and values(*words, "--preset", "lexicon") == [100]
    refused = run(*words, "--preset", "sacrebleu", status=2).stderr
    assert "--preset sacrebleu: exact match has only the presets lexicon and cfq" in refused


def test_what_each_test_leaves_out_is_said(files, compounds, run):
    words = ["score", "exact", "--ref", files / "ref", "--hyp", f"a={files / 'a1'},{files / 'a2'}"]
    words += ["--hyp", f"b={files / 'b'},{files / 'a1'}", "--set", "samples=50", "--paired"]
    for test in ("bootstrap", "randomization", "mcnemar"):
        line = (
            f"--paired {test} compares one run with one run (runs: a 2, b 2) and ignores the"
            " variance between seeds"
        )
        assert f"{line}; use --paired calibrated" in run(*words, test, status=2).stderr
    assert run(*words, "calibrated").stderr == ""
    given = [*compounds, "--hyp", f"other={files / 'hyp2'}", "--paired", "mcnemar"]
    write_lines(files / "hyp2", ["D", "D", "x", "x"])
    assert (
        "wrongly assumes that the rows of a compound are independent"
        in run("score", "cter", *given).stderr
    )


def test_per_example_never_replaces_what_is_no_output(files, run):
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--per-example",
    ]
    before = (files / "a1").read_text()
    assert "a1: is also an input" in run(*words, files / "a1", status=2).stderr
    assert (files / "a1").read_text() == before
    assert "ref: is also an input" in run(*words, files / "ref", status=2).stderr
    more = ["--by", "column:kind", "--table", files / "table.tsv"]
    assert "table.tsv: is also an input" in run(*words, files / "table.tsv", *more, status=2).stderr
    assert "a folder" in run(*words, files, status=2).stderr
    assert "there is no folder" in run(*words, files / "x" / "y", status=2).stderr
    (files / "link").symlink_to(files / "target")
    run(*words, files / "link")
    assert (files / "link").is_symlink() and (files / "target").read_text().startswith("row\t")
    os.mkfifo(files / "pipe")
    reader = subprocess.Popen(["cat", files / "pipe"], stdout=subprocess.PIPE, text=True)
    run(*words, files / "pipe")
    assert reader.communicate(timeout=60)[0].startswith("row\t")


def test_several_references(files, run, values):
    write_lines(files / "ref2", ["the dog saw a dog .", *REFERENCES[1:]])
    words = ["score", "exact", "--ref", files / "ref", "--hyp", f"a={files / 'a1'}"]
    assert values(*words) == [50]
    assert values(*words, "--ref", files / "ref2") == [58.3333]


def test_a_release_brings_its_own_files(tmp_path, files, run):
    texts = dict.fromkeys(("test.de", "test.en"), "".join(f"{line}\n" for line in REFERENCES))
    rows = "".join(json.dumps({"rmi": number / 10, "degree": 0.5}) + "\n" for number in range(12))
    folder = write_release(tmp_path / "release", {**texts, "split.jsonl": rows})
    words = ["score", "exact", "--release", folder, "--hyp", files / "a1"]
    words += ["--by", "uncertainty", "--bins", "quantiles:3"]
    assert [one["n"] for one in json.loads(run(*words, "--format", "json").stdout)["bins"]] == [
        4,
        4,
        4,
    ]
    write_lines(folder / "test.de", [*REFERENCES[1:], REFERENCES[0]])
    assert (
        "test.de: was changed: it does not match manifest.json; see cgbench verify"
        in run(*words, status=2).stderr
    )
    rewrite(folder, json.loads((folder / "manifest.json").read_text()) | {"until": "candidates"})
    assert "not a finished release" in run(*words, status=2).stderr


def test_published_results_stand_beside(files, run):
    words = [
        "score",
        "bleu",
        "--ref",
        files / "ref",
        "--hyp",
        files / "a1",
        "--preset",
        "react",
        "--set",
        "published=true",
    ]
    assert "R-Dangle_sep o=1" in run(*words).stdout
    rows = json.loads(run(*words, "--format", "json").stdout)["published"]
    assert {
        "benchmark": "ReaCT",
        "system": "R-Dangle_sep o=1",
        "metric": "BLEU cg-test",
        "value": 12.3,
        "spread": None,
        "runs": 3,
        "source": "r-dangle T5",
        "note": "",
    } in rows
    words = ["score", "exact", "--ref", files / "ref", "--hyp", files / "a1", "--set"]
    assert "which benchmark?" in run(*words, "published=true", status=2).stderr
    assert "lexicon T3" in run(*words, "published=cogs").stdout
    # HPD's row of the NeurIPS paper has no number of runs; both of its rows have a note
    result = json.loads(run(*words, "published=CFQ MCD1", "--format", "json").stdout)
    hpd = {row["system"]: row for row in result["published"] if row["system"].startswith("HPD")}
    assert hpd["HPD"]["runs"] == 3 and hpd["HPD (NeurIPS 2020)"]["runs"] is None
    assert all("repaired with gold labels" in row["note"] for row in hpd.values())
    assert "HPD (NeurIPS 2020): the NeurIPS paper's" in run(*words, "published=CFQ MCD1").stdout


# --- CTER -----------------------------------------------------------------------------------------


def test_cter(compounds, run, tmp_path):
    write_lines(tmp_path / "human", ["1", "0", "1", "1"])
    words = [*compounds, "--set", f"human={tmp_path / 'human'}"]
    result = run("score", "CTER", *words, "--set", "reasons=true", "--per-example", tmp_path / "x")
    assert "instance 50.0 aggregate 100.0 (2 of 4 rows, 2 of 2 groups)" in result.stdout
    assert "precision" in result.stdout and "no translation of dog" in result.stdout
    assert "sys: 1 hypothesis is empty and counts as wrong" in result.stderr
    rows = list(csv.DictReader((tmp_path / "x").open(), delimiter="\t"))
    assert [(row["row"], row["flag"], row["correct"]) for row in rows] == [
        ("1", "P1/P1-P1-P1", "1"),
        ("2", "P0/P0", "0"),
        ("3", "P1-P1/P1-P1-P1", "1"),
        ("4", "P0-P0/P0", "0"),
    ]
    row = json.loads(run("score", "cter", *compounds, "--format", "json").stdout)
    assert KEYS | {
        "instance",
        "aggregate",
        "by_type",
        "errors",
        "human",
        "figures",
        "groups",
    } <= set(row)
    assert (row["value"], row["instance"], row["aggregate"]) == (50.0, 0.5, 1.0)
    assert row["by_type"] == {"NP": {"n": 4, "groups": 2, "instance": 0.5, "aggregate": 1.0}}
    assert row["errors"] == {"missing": {"dog": 2, "the": 1}, "order": {}}
    lines = run("score", "cter", *words, "--format", "tsv").stdout.splitlines()
    table = list(csv.DictReader(lines, delimiter="\t"))
    assert {(row["by"], row["bin"], row["figure"], row["value"]) for row in table} == {
        ("", "", "instance", "50.0"),
        ("", "", "aggregate", "100.0"),
        ("type", "NP", "instance", "50.0"),
        ("type", "NP", "aggregate", "100.0"),
        ("errors", "dog", "missing", "2"),
        ("errors", "the", "missing", "1"),
        ("human", "", "precision", "50.0"),
        ("human", "", "recall", "100.0"),
        ("human", "", "instance", "25.0"),
        ("human", "", "aggregate", "50.0"),
    }


def test_cter_of_words_by_a_grammar(compounds, run, tmp_path):
    (tmp_path / "grammar").write_text("type\tDET\ntype\tN\nphrase\tthing\nmodifier\tDET\n")
    words = [
        *compounds,
        "--set",
        f"grammar={tmp_path / 'grammar'}",
        "--set",
        "match=word",
        "--lowercase",
    ]
    write_lines(tmp_path / "hyp", ["d r", "Dr", "s D .", "DD"])
    row = json.loads(run("score", "cter", *words, "--by", "modifier", "--format", "json").stdout)
    assert [(one["label"], one["value"]) for one in row["bins"]] == [
        ("with", 50.0),
        ("without", 50.0),
    ]
    assert row["by_type"] == {"thing": {"n": 4, "groups": 2, "instance": 0.5, "aggregate": 1.0}}
    assert re.search(r"\|grammar:grammar@\w{8}\|group:2\|match:word\|case:lc\|", row["signature"])
    (tmp_path / "grammar").write_text("type\tDET\ntype\tN\n")
    words = [*words, "--by", "modifier"]
    assert (
        "the grammar grammar has no row modifier" in run("score", "cter", *words, status=2).stderr
    )


def test_special_characters_are_said_not_to_be_a_regular_expression(compounds, run, tmp_path):
    assert "regular expression" not in run("score", "cter", *compounds).stderr
    (tmp_path / "lexicon").write_text("the\t/\ndog\tD./H\n")
    result = run("score", "cter", *compounds)
    assert (
        "lexicon, line 2: 'D./H' is searched literally" in result.stderr
        and "(4 of 4 rows" in result.stdout
    )


def test_types_are_means_of_the_runs_and_reasons_their_sum(compounds, run, tmp_path):
    write_lines(tmp_path / "hyp2", ["D", "D", "D", "D"])
    words = [*compounds[:-1], f"sys={tmp_path / 'hyp'},{tmp_path / 'hyp2'}"]
    row = json.loads(run("score", "cter", *words, "--format", "json").stdout)
    assert row["by_type"]["NP"] == {"n": 4, "groups": 2, "instance": 0.25, "aggregate": 0.5}
    assert row["errors"]["missing"] == {"dog": 2, "the": 1}
    assert "rows of 2 runs" in run("score", "cter", *words, "--set", "reasons=true").stdout


def test_mcnemar_in_bins_counts_the_rows_of_the_bin(compounds, run, tmp_path):
    write_lines(tmp_path / "hyp2", ["D", "D", "x", "x"])
    for name in ("source", "compounds", "hyp", "hyp2"):  # eight rows in a bin
        write_lines(tmp_path / name, 4 * (tmp_path / name).read_text().splitlines())
    words = [
        "group_size=1" if word == "group_size=2" else word for word in compounds
    ]  # the size of a group: each row is one
    words += ["--hyp", f"b={tmp_path / 'hyp2'}", "--by", "compound-length", "--paired", "mcnemar"]
    bins = json.loads(run("score", "cter", *words, "--format", "json").stdout)[1]["bins"]
    assert [(one["n"], one["difference"], one["p_value"]) for one in bins] == [
        (8, -50.0, 0.125),
        (8, 50.0, 0.125),
    ]
    assert [one["figures"]["aggregate"]["p_value"] for one in bins] == [0.125, 0.125]


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("compound-length", ["1", "2"]),
        ("context-length", ["1", "2", "3"]),
        ("modifier", ["without"]),
        ("type", ["NP"]),
    ],
)
def test_cter_in_bins(compounds, run, by, labels):
    row = json.loads(run("score", "cter", *compounds, "--by", by, "--format", "json").stdout)
    assert [one["label"] for one in row["bins"]] == labels
    divided = by == "context-length"
    assert all((one["aggregate"] is None) == divided for one in row["bins"])
    assert ("CTER aggregate" in run("score", "cter", *compounds, "--by", by).stdout) == (
        not divided
    )


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--hyp", "a={}/short"],
            "short has 1 lines and {}/ref has 12: a hypothesis is needed for each",
        ),
        (
            ["--hyp", "a={}/a1", "--hyp", "a={}/b"],
            "the system a is given twice; join its runs (a=FILE1,FILE2)",
        ),
        (["--hyp", "a={}/a1,{}/a1"], "a file is given twice"),
        (["--hyp", "a={}/a1,"], "a file name is empty"),
        (["--hyp", "{}/missing"], "missing: no such file"),
        (
            ["--hyp", "{}/a1", "--ref", "{}/short"],
            "short has 1: each needs one reference per example",
        ),
        (["--hyp", "{}/a1", "--source", "{}/short"], "short has 1 lines and {}/ref has 12"),
        (["--hyp", "{}/a1", "--train", "{}/train"], "--train needs --by"),
        (
            ["--hyp", "{}/a1", "--by", "length", "--train", "{}/train"],
            "--train has no effect on --by length",
        ),
        (
            ["--hyp", "{}/a1", "--set", "samples=100"],
            "--set samples needs --confidence, --paired or --by",
        ),
        (["--hyp", "{}/a1", "--by", "length", "--side", "source"], "give --source"),
    ],
)
def test_bad_input_is_one_line(files, run, words, message):
    write_lines(files / "short", ["x"])
    words = [word.replace("{}", str(files)) for word in words]
    result = run("score", "exact", "--ref", files / "ref", *words, status=2)
    assert message.replace("{}", str(files)) in result.stderr
    assert (
        result.stderr.startswith("error: ")
        and result.stderr.count("\n") == 1
        and result.stdout == ""
    )


def test_empty_hypotheses_count_as_wrong_everywhere(files, run, values):
    write_lines(files / "none", [""] * 12)
    for name, value in (("bleu", 0), ("chrf", 0), ("ter", 100), ("exact", 0)):
        words = ["score", name, "--ref", files / "ref", "--hyp", f"x={files / 'none'}"]
        assert values(*words) == [value] and "x: 12 hypotheses are empty" in run(*words).stderr


def test_suspicious_text_is_mentioned(files, run):
    write_lines(files / "ref", REFERENCES * 10)
    write_lines(files / "many", [*["a@@ b ."] * 120])
    words = ("score", "bleu", "--ref", files / "ref", "--hyp", f"x={files / 'many'}")
    assert "pieces of words ('@@'" in run(*words, status=2).stderr
    result = run(*words, "--accept-text")
    assert "120 lines end in ' .'" in result.stderr and "120 lines contain '@@ '" in result.stderr
    assert "lines end in" not in run(*words, "--accept-text", "--preset", "react").stderr


def test_too_few_samples_give_no_interval(files, run):
    words = [
        "score",
        "exact",
        "--ref",
        files / "ref",
        "--hyp",
        f"a={files / 'a1'}",
        "--confidence",
        "--format",
        "json",
    ]
    result = run(*words, "--set", "samples=39")
    assert "39 samples are too few" in result.stderr and json.loads(result.stdout)["ci_low"] is None
    assert json.loads(run(*words, "--set", "samples=40").stdout)["ci_low"] is not None


def test_one_example_is_said(files, run):
    write_lines(files / "one", ["a b"])
    words = [
        "score",
        "exact",
        "--ref",
        files / "one",
        "--hyp",
        f"a={files / 'one'}",
        "--confidence",
    ]
    result = run(*words)
    assert (
        "one example: there is nothing to resample" in result.stderr
        and "= 100.0 (1 of 1)" in result.stdout
    )


def test_bad_compounds(compounds, run, tmp_path):
    write_lines(
        tmp_path / "source", ["the dog ran", "a red cat .", "see the dog", "saw the dog now"]
    )
    assert (
        "compounds, row 2: 'dog' is not in its source"
        in run("score", "cter", *compounds, status=2).stderr
    )
    words = [*compounds, "--set", "match=word", "--set", "keep_blanks=true"]
    assert "leave --set keep_blanks out" in run("score", "cter", *words, status=2).stderr
    (tmp_path / "grammar").write_text("type\tDET\nafter\tDET\tN\n")
    words = [*compounds, "--set", f"grammar={tmp_path / 'grammar'}"]
    assert (
        "grammar, line 2: 'after' is not a kind of row"
        in run("score", "cter", *words, status=2).stderr
    )


def test_help_stays_light():
    """No heavy package is imported before a command needs it."""
    heavy = ("torch", "numba", "spacy", "pandas", "sacrebleu", "numpy")
    code = f"import sys, cgbench.cli; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert found.stdout == "[]\n"


@needs("cognition/lexicon", "cognition/paper_results_NP.tsv.gz")
def test_the_hypotheses_of_the_paper(run, monkeypatch):
    monkeypatch.setenv("CGBENCH_DATA", str(SHARED))
    table = SHARED / "cognition/paper_results_NP.tsv.gz"
    words = ["score", "CTER", "--source", table, "--compounds", table, "--lexicon", "cognition"]
    words += ["--hyp", f"paper={table}"]
    scores = json.loads(run(*words, "--format", "json").stdout)
    assert (round(scores["instance"], 6), round(scores["aggregate"], 6)) == (0.193056, 0.490278)


def test_words_are_not_looked_for_in_text_without_blanks(compounds, run, tmp_path):
    words = ["score", "cter", *compounds, "--set", "match=word"]
    assert "without blanks" not in run(*words).stderr
    write_lines(tmp_path / "hyp", ["他的女儿昨天没有来上学。"] * 4)
    assert (
        "sys: hypotheses without blanks between words, in which --set match=word finds"
        in run(*words).stderr
    )
    assert "without blanks" not in run("score", "cter", *compounds).stderr


def test_a_plot_of_differences_with_other_names(run, tmp_path):
    pytest.importorskip("matplotlib")
    for name, texts in (("ref", "ab"), ("base", "ax"), ("mine", "ab")):
        (tmp_path / name).write_text("".join(f"{texts[row % 3 == 0]}\n" for row in range(30)))
    words = ["score", "exact", "--ref", tmp_path / "ref", "--hyp", tmp_path / "base"]
    words += ["--hyp", tmp_path / "mine", "--output", tmp_path / "plot.svg"]
    chosen = ["--set", "plot_of=differences", "--set", "plot_systems=mine=Ours, base"]
    run(*words, "--paired", *chosen, "--set", "plot_size=9")
    text = (tmp_path / "plot.svg").read_text("utf-8")
    assert "<title>exact (%): difference from base</title>" in text and "<desc>Ours: +33.33" in text
    assert "systems were not compared; give --paired" in run(*words, *chosen, status=2).stderr
    one = ["--set", "plot_systems=other"]
    assert "no such system; they are base, mine" in run(*words, *one, status=2).stderr
