"""A task of Inspect (inspect-ai): a Python file with the task, and the pairs as JSON lines.

``inspect eval FOLDER/NAME.py --model MODEL`` runs it. The id of a sample is the ``line`` of the
release's table, so ``cgbench score --hyp LOG.eval --release RELEASE`` finds the pair of each
answer. The scorer takes the first line of an answer after any reasoning that is not empty. Its
value is sentence chrF, with a standard error clustered by document.
"""

import json
import re
from pathlib import Path

from cgbench.benchmark.release.export.lm_eval import ANSWER, task_name
from cgbench.benchmark.release.export.pairs import Pairs, write_lines, write_rows
from cgbench.benchmark.release.shots.choose import ShotChooser
from cgbench.text.languages import name_of

DATA = "pairs.jsonl"
TASK = '''"""A test set of cgbench as a task of Inspect: inspect eval {name}.py --model MODEL"""

import re
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate


@scorer(metrics=[mean(), stderr(cluster="document")])
def translation():
    """Sentence chrF of the first line of an answer after any reasoning, from 0 to 100."""

    async def score(state, target):
        import sacrebleu

        match = re.search(r"{answer}", state.output.completion)
        answer = match[1].strip() if match else ""
        return Score(value=sacrebleu.sentence_chrf(answer, [target.text]).score, answer=answer)

    return score


@task
def {name}():
    """Translate each source."""
    pairs = json_dataset(str(Path(__file__).parent / "{data}"))
    return Task(dataset=pairs, solver=generate(), scorer=translation(), version={version})
'''


def write_inspect(pairs: Pairs, folder: Path, *, shots: ShotChooser | None = None) -> None:
    """Write the task."""
    names = [name_of(language) for language in pairs.languages]
    instruction = (
        f"Translate the following text from {names[0]} into {names[1]}. Answer with the translation"
        " alone."
    )
    choices = (
        [None] * len(pairs.rows) if shots is None else shots([row["source"] for row in pairs.rows])
    )
    samples = []
    for row, choice in zip(pairs.rows, choices, strict=True):
        text = row["source"]
        if choice:
            examples = "".join(
                f"{names[0]}: {pair[0]}\n{names[1]}: {pair[1]}\n\n" for pair in choice.pairs
            )
            text = f"{examples}{names[0]}: {text}\n{names[1]}:"
        metadata = {
            "source": row["source"],
            **row["figures"],
            "document": row["document"],
            **({"prompt_degree": choice.prompt_degree, "shots": choice.rows} if choice else {}),
        }
        sample = {
            "id": row["figures"]["line"],
            "input": f"{instruction}\n\n{text}",
            "target": row["target"],
        }
        samples.append({**sample, "metadata": metadata})
    write_rows(folder / DATA, samples)
    name = task_name(pairs.languages).replace("-", "_")
    # The signature is the only text of the release in the program; as JSON it is a literal,
    # whatever it contains.
    values = {
        "name": name,
        "data": DATA,
        "answer": ANSWER,
        "version": json.dumps(pairs.release.signature),
    }
    text = re.sub("{(name|data|answer|version)}", lambda mark: values[mark[1]], TASK)
    write_lines(folder / f"{name}.py", text.splitlines())
