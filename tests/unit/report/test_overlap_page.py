"""The page of an overlap: what it shows, the same bytes, and text of others as text."""

from hostile_text import HOSTILE

from cgbench.benchmark.overlap.overlap import overlap
from cgbench.engines import Local
from cgbench.report.overlap_page import overlap_page


def test_what_it_shows(tmp_path):
    (tmp_path / "corpus.txt").write_text("the cat slept\na dog ate the cake\n")
    made = [
        overlap((["so the cat slept", "a dog ate a mouse"], ["x", "the cake"]), tmp_path / "corpus.txt",
                orders=(1, 2, 3), min_count=1, engine=Local(1))
        for _ in range(2)
    ]  # fmt: skip
    page = overlap_page(made[0], command="cgbench overlap ...")
    assert page == overlap_page(made[1], command="cgbench overlap ...")
    assert 'so <span class="piece">the cat slept</span>' in page
    assert "Paraphrases, translations and other spellings are not found" in page
    # by share of the longest span: 3 of 4 words before 3 of 5
    assert page.index("the cat slept</span>") < page.index("a dog ate</span>")
    assert page.count('class="chart"') == 2  # containment of the source, which has 3-grams; longest spans
    assert "cgbench overlap ..." in page


def test_text_of_others(tmp_path):
    texts = [text.replace("\n", " ").replace("\r", " ") for text in HOSTILE]
    (tmp_path / "corpus.txt").write_bytes("".join(text + "\n" for text in texts).encode(errors="replace"))
    page = overlap_page(overlap([*texts, "a b"], tmp_path / "corpus.txt", engine=Local(1)))
    assert "<img" not in page and "<svg onload" not in page
    assert "\x1b" not in page
