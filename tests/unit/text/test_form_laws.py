"""The laws of the form of hypotheses: whatever changes right outputs stops, or changes no score."""

import json
import random

import pytest
from changed_outputs import MARKUP, ORDERS, PIECES, WRAPPERS

from cgbench.benchmark.score.evaluation.evaluate import evaluate
from cgbench.errors import InputError
from cgbench.text.form_sample import FormSample
from cgbench.text.hypothesis_form import Reading, damages, pair_contrasts, partial_damages
from cgbench.text.line_order import displacement
from cgbench.text.pair_contrasts import written_twice

RNG = random.Random(4)
NAMES = ["Müller", "Jäger", "Köhler", "Anna", "Tom", "Kiew", "Oslo", "März", "Straße", "Übung"]
WORDS = [
    "".join(RNG.choice("bdfgklmnprst") + RNG.choice("aeiouäö") for _ in range(RNG.randint(1, 4)))
    for _ in range(400)
]


def sentence():
    words = [RNG.choice(WORDS[: RNG.choice((20, 100, 400))]) for _ in range(RNG.randint(5, 18))]
    words[RNG.randrange(1, len(words))] = RNG.choice(NAMES)
    words[-2] += RNG.choice(("", "", ",", "-mut", " „so“"))
    return f"{' '.join(words).capitalize()}{RNG.choice('..?')}"


def translated(line):
    """A sentence with every fifth word wrong."""
    words = [RNG.choice(WORDS) if RNG.random() < 0.2 else word for word in line.split()[:-1]]
    return " ".join([*words, line.split()[-1]])


SENTENCES = [sentence() for _ in range(60)]
ACTIONS = [
    " ".join(RNG.choice(("I_WALK", "I_RUN", "I_JUMP", "I_TURN_LEFT")) for _ in range(1 + row % 9))
    for row in range(300)
]
OUTPUTS = {
    "sentences": ("bleu", list(map(translated, SENTENCES)), SENTENCES),
    "actions": ("exact", [line if RNG.random() < 0.8 else "I_RUN" for line in ACTIONS], ACTIONS),
}
HARMLESS = 1.0  # points


def wrong_in_silence(metric, hypotheses, references, right):
    """The score, if it is wrong and nothing stops."""
    try:
        score = evaluate(metric, hypotheses, references).score
    except InputError as error:
        assert "Remedy: " in error.message and "accept_text" in error.message
        return None
    return None if abs(score - right) <= HARMLESS else score


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", OUTPUTS)
@pytest.mark.parametrize("changes", [WRAPPERS, PIECES, MARKUP, ORDERS], ids=["wrappers", *"pmo"])
def test_changed_outputs_are_never_wrong_in_silence(kind, changes):
    metric, hypotheses, references = OUTPUTS[kind]
    right = evaluate(metric, hypotheses, references).score  # as they are: no complaint
    wrong = {}
    for name, change in changes.items():
        both = changes is MARKUP
        score = wrong_in_silence(
            metric, change(hypotheses), change(references) if both else references, right
        )
        if score is not None:
            wrong[name] = score
    assert wrong == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PIECES)
def test_pieces_on_both_sides_stop(name):
    metric, hypotheses, references = OUTPUTS["sentences"]
    right = evaluate(metric, hypotheses, references).score
    change = PIECES[name]
    assert wrong_in_silence(metric, change(hypotheses), change(references), right) is None


LONG = [" ".join(SENTENCES[row : row + 3]) for row in range(0, 60, 3)] * 3


@pytest.mark.parametrize("mark", ["\u00b7", "##", "\uffed", "+"])
def test_a_few_pieces_on_both_sides_stop_if_they_are_words_of_the_text(mark):
    within = mark in "\u00b7"

    def change(lines, rng):
        return [
            " ".join(
                f"{word[:2]}{'' if within else ' '}{mark}{word[2:]}"
                if len(word) > 4 and word.isalpha() and at and rng.random() < 0.06
                else word
                for at, word in enumerate(line.split())
            )
            for line in lines
        ]

    rng = random.Random(2)
    (text,) = told(change(LONG, rng), change(LONG, rng))
    assert text.startswith(f"pieces of words ({mark!r} at ") and text.endswith(" of both texts)")


@pytest.mark.parametrize("mark", ["=", "|", "^", "~", "<w>", "\u0120"])
def test_words_that_are_parted_by_any_mark_are_pieces(mark):
    """With a blank or without; the other side has the words whole."""
    rng = random.Random(5)
    for blank in ("", " "):
        outputs = [
            " ".join(
                f"{word[:2]}{blank}{mark}{word[2:]}"
                if len(word) > 4 and word.isalpha() and at and rng.random() < 0.15
                else word
                for at, word in enumerate(line.split())
            )
            for line in LONG
        ]
        if mark.isalpha() and not blank:
            continue  # a letter within a word
        assert f"pieces of words ({mark!r} at " in "".join(told(outputs, LONG, words="marks"))
    hyphens = [line.replace(" ", "-", 1) for line in LONG]
    assert told(hyphens, LONG, words="marks") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda row, line: [f'{row},"{line}",0.5'],
        lambda row, line: [f"{row + 1}. **{line}**"],
        lambda row, line: [json.dumps({"id": row, "text": line})],
        lambda row, line: [str(row), f"00:00:0{row % 10},000 --> 00:00:1{row % 10},000", line, ""],
        lambda row, line: [*([f'<doc id="{row}">'] * (row % 9 == 0)), line],
    ],
    ids=["CSV", "Markdown", "JSON", "subtitles", "documents"],
)
def test_records_on_both_sides_stop(change):
    hypotheses, references = (
        [line for row, text in enumerate(texts) for line in change(row, text)]
        for texts in (list(map(translated, SENTENCES)), SENTENCES)
    )
    (text,) = told(hypotheses, references, words="marks")
    assert "not text" in text


@pytest.mark.parametrize(
    "change",
    [
        lambda row, line: f'- text: "{line}"',
        lambda row, line: f"\\item {line} \\\\",
        lambda row, line: f"seg:{row * 7 % 60}=>{line}",
        lambda row, line: f"Quelle {row * 13 % 89} ||| {line}",
        lambda row, line: f"Quelle {row * 13 % 89}\t{line}",
        lambda row, line: f"{line} ({row * 7 % 60})",
    ],
    ids=["YAML", "LaTeX", "keys", "pairs", "table", "numbers"],
)
def test_markup_that_both_sides_share_stops(change):
    """A score would count it as right; whole lines are equal with it too."""
    hypotheses, references = (
        [change(row, line) for row, line in enumerate(texts)]
        for texts in (list(map(translated, SENTENCES)), SENTENCES)
    )
    (text,) = told(hypotheses, references, words="marks")
    assert "of both texts is markup and not text" in text
    assert told(hypotheses, references, whole=True) == []


FORMS = [
    f"SELECT count ( * ) WHERE {{ ?x0 a ns:{kind}.{role} . ?x0 ns:p|ns:q M{row % 5} }}"
    for row, (kind, role) in enumerate([("film", "actor"), ("book", "editor")] * 30)
]


def test_formal_languages_are_written_in_marks():
    for words in ("marks", "blanks"):
        assert told(FORMS, FORMS, words=words) == []
        assert told(ACTIONS, ACTIONS, words=words) == []
    for closed in ([f"{line} }}" for line in FORMS], [f"\u2013 {line}" for line in FORMS]):
        assert told(closed, FORMS, whole=True) != []


def test_forms_of_gender_are_no_pieces():
    """Czech *byl/a* and German *Leser:innen*: *byla* and *Leserinnen* are words elsewhere."""
    whole = [line.replace(" ", " byla ", 1) for line in SENTENCES]
    for mark in "/:*":
        parted = [line.replace("byla", f"byl{mark}a") for line in whole]
        outputs = [whole[row] if row % 5 else line for row, line in enumerate(parted)]
        assert told(outputs, whole, words="marks") == []


def test_blanks_case_and_a_text_twice_are_told_by_pairs():
    outputs = list(map(translated, SENTENCES))
    for change, expected in (
        (lambda line: line.replace(" ", ""), "no blanks between words, unlike the references"),
        (str.title, "words differ from those of the references in case alone"),
        (lambda line: f"{line} {line}", "the text is written twice in 60 of 60 hypotheses"),
    ):
        (difference,) = pair_contrasts(list(map(change, outputs)), SENTENCES, Reading())
        assert difference.stops and expected in difference.text
    assert pair_contrasts(outputs, SENTENCES, Reading()) == []


@pytest.mark.parametrize(
    "order",
    [
        lambda n: [*range(n // 2), *range(n // 2, n)[::-1]],
        lambda n: [*range(n // 4), *range(n // 4, 3 * n // 4)[::-1], *range(3 * n // 4, n)],
        lambda n: [
            row for block in (3, 0, 5, 1, 4, 2) for row in range(10 * block, 10 * block + 10)
        ],
        lambda n: [min(row + 9, n - 1) for row in range(n)],
    ],
    ids=["half backwards", "the middle backwards", "documents", "shifted by nine"],
)
def test_lines_of_which_some_are_in_another_order_stop(order):
    outputs = list(map(translated, SENTENCES))
    assert displacement([outputs[row] for row in order(60)], SENTENCES) is not None
    assert displacement(outputs, SENTENCES) is None


def test_a_text_that_repeats_its_lines_is_in_order():
    """Found by fuzzing: each line equals other references as much as its own."""
    lines = ["the house is small", "the dog sees the house", "a dog is small", "an old dog"] * 3
    assert displacement(lines, lines) is None
    assert displacement(["the house", *lines[1:6], "a dog", *lines[7:]], lines) is None


def test_numbers_as_the_task_and_in_texts_are_no_records():
    numbers = [str(row * 7 % 50) for row in range(60)]
    assert told(numbers, numbers) == []
    dated = [f"{2000 + row % 7} {line}" for row, line in enumerate(SENTENCES)]
    assert told(dated, dated) == []


def test_a_bracket_that_closes_nothing_is_no_punctuation():
    (text,) = told([f"{line} ]" for line in SENTENCES], SENTENCES)
    assert text.startswith("' ]' after the text of 60 of 60 hypotheses")
    noted = [f"{line} ({row})" for row, line in enumerate(NAMES * 6)]
    assert not any("')' after" in text for text in told(noted, NAMES * 6))


def test_a_run_of_symbols_is_named_as_a_whole():
    """Both are in as many lines; the order of a set decided which was named."""
    lines = [
        "a dog saw the old man near the house today",
        "the house is small but the garden is large",
        "we walked home after the meeting ended",
        "she reads many books about history",
        "they will visit friends in the mountains",
    ]
    (text,) = told([f"{line[:3]}##{line[3:]}" for line in lines], lines)
    assert text.startswith("'##' in 5 of 5 hypotheses")


def test_an_ellipsis_at_the_end_of_every_line_is_told():
    dotted = [f"{line.rstrip('.?')}..." for line in SENTENCES]
    assert told(dotted, SENTENCES) and told(dotted, dotted) == []


def test_characters_without_width_are_told_on_both_sides():
    blanks = [line.replace(" ", " \u200b") for line in SENTENCES]
    (difference,) = damages(blanks, blanks, Reading(words="marks"))
    assert difference.stops and difference.text.startswith("characters without width (U+200B at ")
    rng = random.Random(3)
    few = [
        " ".join(f"{word[:2]}\u00ad{word[2:]}" if rng.random() < 0.05 else word for word in words)
        for words in map(str.split, LONG)
    ]
    (difference,) = damages(few, few, Reading(words="marks"))  # as in some real texts
    assert not difference.stops and "U+00AD" in difference.text
    persian = ["می\u200cخواهم کتاب\u200cها را ببینم."] * 30  # noqa: RUF001
    assert told(persian, persian) == []


def test_punctuation_of_the_script_is_text():
    """Marks between Tibetan syllables, and Arabic commas without a blank after them."""
    tibetan = [f"བོད་སྐད་{syllable}་ཡིག་{syllable}་རེད།" for syllable in "ཀཁགངཅཆཇཉཏཐདནཔཕབམཙཚཛཝ"]
    assert told(tibetan, tibetan, whole=True) == []
    words = ["بيت", "ولد", "كلب", "قلم", "باب", "شمس"]
    arabic = [f"كان {word} ،ثم ذهب {word} ،وعاد {word}." for word in words]
    assert told(arabic * 5, [line.replace(" ،", "، ") for line in arabic * 5]) == []


def test_the_middle_of_a_long_line_is_not_its_end():
    """Ends of sentences are looked for where a line ends, not where it is cut."""
    rng = random.Random(1)
    lines = [" ".join(sentence() for _ in range(rng.randint(80, 90))) for _ in range(30)]
    dashed = [line.replace(".", "").replace("?", "")[:-1] + "." for line in lines]
    assert told(lines, dashed) == []


@pytest.mark.parametrize("first", [40, 75])
def test_some_lines_that_are_shifted_stop(first):
    lines = [sentence() for _ in range(100)]
    outputs = [translated(line) for line in lines]
    (text,) = told(outputs[:first] + outputs[first + 1 :] + outputs[-1:], lines)
    assert text.startswith("shifted by 1 line, from line ")
    moved = [*outputs[:first], "Wer?", *outputs[first:-1]]
    assert told(moved, lines)[0].startswith("shifted by 1 line, from line ")
    assert told(outputs, lines) == []


def told(hypotheses, references, **reading):
    return [difference.text for difference in damages(hypotheses, references, Reading(**reading))]


def test_the_message_names_the_string_and_how_many_lines_have_it():
    lines = [f"PRED {row}: {line}" for row, line in enumerate(SENTENCES)]
    (text,) = told(lines, SENTENCES)
    assert text == "'PRED 0: ' before the text of 60 of 60 hypotheses, and of hardly any reference"
    (text,) = told(SENTENCES, lines)
    assert text.endswith("of 60 of 60 references, and of hardly any hypothesis")


def test_strings_of_a_minority_and_of_both_sides_are_text():
    few = [line if row % 3 else f"Note: {line}" for row, line in enumerate(SENTENCES)]
    assert told(few, SENTENCES) == []
    noted = [f"Note: {line}" for line in SENTENCES]
    assert told(noted, noted) == []
    assert told([f"note : {line}" for line in SENTENCES], noted) == []  # the same, tokenised
    quoted = [f"“{line}”" for line in SENTENCES]  # other quotes than the references have
    assert told(quoted, [f'"{line}"' for line in SENTENCES]) == []


def warned(hypotheses, references=SENTENCES, **reading):
    problems = partial_damages(hypotheses, references, Reading(**reading))
    assert not any(problem.stops for problem in problems)
    return [problem.text for problem in problems]


OUTPUT_LINES = list(map(translated, SENTENCES))


@pytest.mark.parametrize("introduction", ["Output: ", "```", "**Übersetzung:** ", "1. "])
@pytest.mark.parametrize("step", [3, 10])
def test_an_introduction_of_some_hypotheses_is_told(introduction, step):
    lines = [line if row % step else introduction + line for row, line in enumerate(OUTPUT_LINES)]
    (text,) = warned(lines)
    count = len(range(0, len(lines), step))
    assert text == (
        f"{introduction!r} before the text of {count} of 60 hypotheses, and of hardly any reference"
    )


def test_what_some_sentences_begin_with_is_text():
    assert warned(OUTPUT_LINES) == []
    few = [f"Output: {line}" if row < 4 else line for row, line in enumerate(OUTPUT_LINES)]
    assert warned(few) == []
    for opening in ("- ", '"', "Anna: ", "Und "):
        lines = [line if row % 4 else opening + line for row, line in enumerate(OUTPUT_LINES)]
        references = [line if row % 4 else opening + line for row, line in enumerate(SENTENCES)]
        assert warned(lines, references) == []
        # Another sentence follows: it is no introduction of the text that the reference has.
        others = [line if row % 4 else opening + sentence() for row, line in enumerate(SENTENCES)]
        assert warned(others) == []
    quoted = [line if row % 4 else f'"{line}"' for row, line in enumerate(OUTPUT_LINES)]
    assert warned(quoted) == []


@pytest.mark.parametrize(
    ("expected", "character"), [("a", "\u0430"), (".", "\u3002"), ("e", "\uff45")]
)
def test_a_character_in_place_of_another_is_told(expected, character):
    lines = [line.replace(expected, character) for line in OUTPUT_LINES]
    count = sum(character in line for line in lines)
    message = (
        f"{character!r} (U+{ord(character):04X}) where the references have {expected!r}, in {count}"
        " of 60 hypotheses"
    )
    for words in ("blanks", "marks"):
        assert warned(lines, words=words) == [message]
    of_references = [line.replace(expected, character) for line in SENTENCES]
    assert warned(OUTPUT_LINES, of_references)[0].startswith(f"{expected!r} where the references")
    # A full stop is one of the many characters that chrF compares.
    assert warned(lines, words="characters") == ([] if expected == "." else [message])


def test_a_character_that_no_other_is_missing_for_is_text():
    lines = [line.replace("a", "ю", 1) for line in OUTPUT_LINES]
    assert warned(lines) == []
    assert warned(SENTENCES, OUTPUT_LINES) == []


def test_a_system_that_repeats_itself_is_weak_and_not_wrapped():
    assert told(["- it is"] * 60, SENTENCES) == []
    assert told([f"The {line.split()[1]}" for line in SENTENCES], SENTENCES) == []


def test_a_system_that_has_learned_nothing_is_in_order():
    others = [sentence() for _ in range(60)]
    assert told(others, SENTENCES) == []
    draw = random.Random(3)
    other_actions = [" ".join(draw.sample(line.split(), len(line.split()))) for line in ACTIONS]
    draw.shuffle(other_actions)
    assert told([line.replace("I_RUN", "I_LOOK") for line in other_actions], ACTIONS) == []


def test_json_may_be_the_task_and_markup_may_be_in_text():
    lines = [f'{{"text": "{line}"}}' for line in SENTENCES]
    assert told(lines, lines, whole=True) == []
    tagged = [line.replace(" ", " <b>", 1).replace(",", "</b>,") for line in SENTENCES]
    assert told(tagged, tagged) == []


def test_a_text_twice_is_no_loop_of_a_word():
    """A bad system repeats one or two words; that is its output and no form."""
    references = FormSample([f"the dog number {row} ran home" for row in range(6)])
    texts = FormSample([f"{line} {line}" for line in references.lines])
    assert written_twice(texts, references) == 6 and written_twice(references, references) == 0
    for loop in ("dog dog", "the dog the dog", "dog dog dog dog"):
        assert written_twice(FormSample([loop] * 6), references) == 0
