"""Time, memory and size of CSL's induction on many requests of SMCalFlow-CS's form.

    python lab/csl_scale.py 2000 num128.valid.jsonl num128.test.jsonl

The requests are those of the files, in which names, days, subjects and places are replaced by
others on both sides. Prints processor seconds, the peak of memory, the number of rules, and a hash
of the rules, to compare two versions of the code.
"""

import calendar
import hashlib
import json
import random
import re
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from cgbench.data_recipes.csl import programs
from cgbench.data_recipes.csl.augment_csl import PRESETS, CSLRequest, encode_pair
from cgbench.data_recipes.csl.induction import induce
from cgbench.data_recipes.csl.rules import Words, read_rules
from cgbench.data_recipes.csl.target_grammar import TargetGrammar
from cgbench.text.formats import Pair
from cgbench.text.streams import read_lines

VALUES = {
    "PersonName": [f"Anna{number}" for number in range(180)],
    "String": [f"review {number}" for number in range(80)],
    "LocationKeyphrase": [f"Newtown{number}" for number in range(180)],
    "DayOfWeek": [day.upper() for day in calendar.day_name],
}
LITERAL = re.compile(rf'\( ({"|".join(VALUES)}) " (.*?) " \)')


def made_requests(count: int, files: Iterable[str]) -> list[Pair]:
    """``count`` different requests with their programs."""
    records = [json.loads(line) for file in files for line in read_lines(Path(file))]
    draw = random.Random(0)
    pairs: dict[Pair, None] = {}
    while len(pairs) < count:
        record = draw.choice(records)
        utterance, program = record["utterance"], record["plan"]
        for kind, value in sorted(set(LITERAL.findall(program))):
            other = draw.choice(VALUES[kind])
            spoken = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE)
            if spoken.search(utterance):
                word = other.capitalize() if kind == "DayOfWeek" else other
                utterance = spoken.sub(word, utterance)
                program = program.replace(f'( {kind} " {value} " )', f'( {kind} " {other} " )')
        pairs[utterance, program] = None
    return list(pairs)


def main(arguments: Sequence[str]) -> None:
    """Make requests, induce and print."""
    count, *files = arguments
    words, placeholder = Words(), ("", "")
    training = programs.prepared_pairs(made_requests(int(count), files))
    pairs = [encode_pair(pair, words) for pair in training]
    seeds = read_rules(programs.seed_rules(training), words, "seed rules")
    lines = programs.grammar_lines(program for _, program in training)
    grammar = TargetGrammar(lines, words, "the grammar of the programs")
    request = CSLRequest(placeholder, placeholder, **PRESETS["smcalflow"])
    began = time.process_time()
    rules = induce(pairs, request, sorted(set(seeds)), grammar.can_derive)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    digest = hashlib.sha256("\n".join(map(words.show, rules)).encode()).hexdigest()[:16]
    print(f"{count} requests: {len(rules)} rules, {seconds:.0f} s, {memory} MB, {digest}")


if __name__ == "__main__":
    main(sys.argv[1:])
