"""Files of translators: what their tools write is read; entities, deep and damaged files are
refused.
"""

import gzip

import pytest

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.errors import InputError
from cgbench.text.columns import read_column
from cgbench.text.rows import Table

# The lines are as in files of newstest2019, of wmttest2022, and of the tools' documentation.
SGML = """<srcset setid="newstest2019" srclang="any">
<doc sysid="ref" docid="bbc.381790" genre="news" origlang="en">
<p>
<seg id="1">Welsh AMs worried about &apos;looking like muppets&apos;</seg>
<seg id="2"> R & D,
 5 < 6 </seg>
</p>
</doc>
<doc docid="bbc.2" sysid="ref"><seg id=1>Again</seg></doc>
</srcset>
"""
SYSTEMS = """<tstset setid="t" srclang="de" trglang="en">
<DOC sysid="one" docid="d"><seg id="1">a</seg><seg id="2">b</seg></DOC>
<DOC sysid="two" docid="d"><seg id="1">c</seg><seg id="2">d</seg></DOC>
</tstset>
"""
WMT = """<?xml version='1.0' encoding='utf-8'?>
<dataset id="wmttest2022">
  <collection id="general">
    <doc origlang="en" id="doc1">
      <src lang="en"><p><seg id="1">One &amp; two.</seg><seg id="2">Three.</seg></p></src>
      <ref lang="de" translator="A"><p>
        <seg id="1">Eins &amp; zwei.</seg><seg id="2">Drei.</seg></p></ref>
      <hyp system="ONLINE-A" language="de"><p>
        <seg id="2">Drei.</seg><seg id="1">Eins und zwei.</seg></p></hyp>
    </doc>
  </collection>
</dataset>
"""
TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en">
<seg>Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept>.</seg></tuv>
<tuv xml:lang="de"><seg>Drücken Sie <hi>OK</hi>.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Ja</seg></tuv><tuv xml:lang="en"><seg>Yes</seg></tuv></tu>
</body></tmx>
"""
XLIFF = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>
<trans-unit id="a"><source>Hello <g id="1">World</g><x id="2"/></source><target>Hallo Welt</target>
<alt-trans><target>Hallo Erde</target></alt-trans></trans-unit>
<trans-unit id="b"><source>Bye</source><target>Tschüs</target></trans-unit>
</body></file></xliff>
"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="de"><file id="f"><unit id="u">
<segment><source>Hello <ph id="1"/>you.</source><target>Hallo du.</target></segment>
<segment><source>Bye.</source><target>Tschüs.</target></segment></unit></file></xliff>
"""
PO = r"""# A comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

#: main.c:1
#, fuzzy
msgctxt "menu"
msgid "Open \"%s\"\n"
msgstr ""
"„%s“ "
"öffnen\n"

msgid "One file"
msgid_plural "%d files"
msgstr[0] "Eine Datei"
msgstr[1] "%d Dateien"

#~ msgid "Gone"
#~ msgstr "Weg"
"""
FILES = {
    "a.sgm": (SGML, ["id", "text"], [
        ("bbc.381790:1", "Welsh AMs worried about 'looking like muppets'"),
        ("bbc.381790:2", "R & D, 5 < 6"), ("bbc.2:1", "Again"),
    ]),
    "a.sgml": (SYSTEMS, ["id", "one", "two"], [("d:1", "a", "c"), ("d:2", "b", "d")]),
    "a.xml": (WMT, ["id", "source", "reference", "ONLINE-A"], [
        ("doc1:1", "One & two.", "Eins & zwei.", "Eins und zwei."),
        ("doc1:2", "Three.", "Drei.", "Drei."),
    ]),
    "a.tmx": (TMX, ["en", "de"], [("Press OK.", "Drücken Sie OK."), ("Yes", "Ja")]),
    "a.xlf": (XLIFF, ["id", "source", "target"], [
        ("a", "Hello World", "Hallo Welt"), ("b", "Bye", "Tschüs"),
    ]),
    "a.xliff": (XLIFF_2, ["id", "source", "target"], [
        ("u", "Hello you.", "Hallo du."), ("u", "Bye.", "Tschüs."),
    ]),
    "a.po": (PO, ["source", "target"], [
        ('Open "%s"', "„%s“ öffnen"), ("One file", "Eine Datei"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_format_is_a_table(tmp_path, name):
    text, names, rows = FILES[name]
    for path, data in (
        (tmp_path / name, text.encode()),
        (tmp_path / f"{name}.gz", gzip.compress(text.encode())),
    ):
        path.write_bytes(data)
        table = Table(path, named=True)
        assert table.names == names
        assert list(table.read(names)) == list(enumerate(rows, 1))


def test_scores_of_files_are_those_of_their_text(tmp_path):
    for name in ("a.xml", "a.xlf", "a.po"):
        (tmp_path / name).write_text(FILES[name][0], encoding="utf-8")
    path = tmp_path / "a.xml"
    found = evaluate("exact", {"A": f"{path}:ONLINE-A"}, path)
    assert found.score == 50.0  # the system's segments are in another order
    with pytest.raises(InputError, match="which column.*it has id, source, reference, ONLINE-A"):
        evaluate("exact", {"A": path}, path)
    for name in ("a.xlf", "a.po"):
        assert evaluate("exact", {"A": tmp_path / name}, tmp_path / name).score == 100.0


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    '<dataset><doc id="1"><src><seg id="1">&b;</seg></src></doc></dataset>'
)
REFUSED = {
    "bomb.xml": (BOMB, "declares a document type or entities"),
    "file.xml": (BOMB.replace('"aaaaaaaaaa"', 'SYSTEM "file:///etc"'), "declares a document"),
    "dtd.tmx": (TMX.replace("Yes", "&yes;"), "the entity &yes; is not defined"),
    "deep.xml": ("<dataset>" + "<p>" * 200 + "</p>" * 200 + "</dataset>", "more than 100 elements"),
    "cut.tmx": (TMX[:300], "line 7: not XML"),
    "other.xml": ("<html><body>text</body></html>", "root <html>"),
    "empty.sgm": ("text\n", "no segments"),
    "twice.xml": (WMT.replace('id="2">Three', 'id="1">Three'), "doc1:1 of source is there twice"),
    "code.xml": ('<?xml version="1.0" encoding="utf-7"?><dataset/>', "not (readable )?XML"),
    "text.po": ("msgid Hello\n", 'line 1: not PO'),
    "latin.sgm": ("<seg>caf\udce9</seg>", "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(tmp_path, name):
    text, message = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message):
        read_column(path, "source")


def test_a_large_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.xml"
    path.write_text(WMT)
    monkeypatch.setattr("cgbench.text.translation_formats.LARGEST", 100)
    with pytest.raises(InputError, match="MiB; write its text as a table"):
        read_column(path, "source")
