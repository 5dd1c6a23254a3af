"""Files that a checksum lists as they are: what a stranger has made must be refused or read, never
a traceback.

The manifest (or the digest of a line) is made to agree with the damaged file, so that damage passes
the checksums.
"""

import contextlib
import json
import os
import tempfile
import warnings
from functools import partial
from pathlib import Path

import mutators as m
from strangers import CHAT, LINES, _ask, _asked, _reply, reply
from target import Target, collected

TEXTS = ["das rote haus", "ein hund", "der rote hund", "ein haus"]
PIECES = [("das rote", (0, 1)), ("haus", (1,)), ("hund", (2,)), ("ein", ())]
ROWS = [[(0, 0, 2), (1, 2, 3)], [(3, 0, 1), (2, 1, 2)], [(2, 2, 3)], []]
PROBES = [("the red", "das rote"), ("the red house", "das rote haus"), ("a dog", "ein hund")]
TEMPLATES = (
    (
        b"{% for shot in shots %}{{ shot.source | upper }} = {{ shot['target'] }}\n{% endfor %}{{"
        b" domain }}: {{ source }}"
    ),
    (
        b"{% macro f(x) %}{{ x * 3 }}{% endmacro %}{% set n = namespace(a='') %}{{ f(source) }}{{"
        b" n.a ~ 1 + 2 ** 2 }}"
    ),
)


def _how(name):
    return (
        m.json_file
        if name.endswith(".json")
        else m.json_lines
        if name.endswith(".jsonl")
        else m.text
    )


def _relist(folder):
    """Make a manifest agree with the files of its folder and with itself, as far as it is one."""
    from cgbench.benchmark.release.listed_digests import listed_digest
    from cgbench.benchmark.release.manifest import digest
    from cgbench.files import write_json

    path = folder / "manifest.json"
    with contextlib.suppress(Exception):
        manifest = json.loads(path.read_bytes())
        with contextlib.suppress(Exception):
            manifest["files"] = {name: listed_digest(folder, name) for name in manifest["files"]}
        write_json(path, manifest | {"digest": digest(manifest)})


def _score(options, folder):
    from cgbench.benchmark.score.evaluation.evaluate import evaluate

    _relist(folder / "r")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {
            name: folder / value if value in ("r", "t", "p") else value
            for name, value in options.items()
        }
        found = evaluate("exact", TEXTS, **options)
    json.dumps([vars(one.whole.figures["exact"]) for one in found.results], allow_nan=False)


def parts():
    """Folders of ``cgbench parts``, for ``score --parts``."""
    from parts_manifest import MANIFEST

    from cgbench.studies.parts.folder import Piece, Place, write_parts

    pieces = [Piece(text, 3, probes) for text, probes in PIECES]
    places = [[Place(*place) for place in row] for row in ROWS]
    with tempfile.TemporaryDirectory() as place:
        write_parts(
            Path(place) / "r", pieces, PROBES, places, MANIFEST | {"match": "exact", "k": 1}
        )
        files = collected(Path(place))
    options = {"references": TEXTS, "parts": "r", "probe_systems": [target for _, target in PROBES]}
    for name in sorted(files):
        yield Target(
            "score --parts",
            name.removeprefix("r/"),
            files,
            name,
            _how(name),
            partial(_score, options),
        )


def releases():
    """A release made by hand, for ``score --release``."""
    from small_build import list_files

    manifest = {"format": 4, "until": "release", "languages": ["de", "en"], "signature": "react|x"}
    manifest |= {key: {} for key in ("counts", "figures", "inputs")}
    manifest["configuration"] = {"tokenize": "none", "lowercase": False, "uncertainty": "rmi"}
    rows = "".join(
        json.dumps({"line": row, "degree": 0.5 + row, "rmi": row / 7}) + "\n" for row in range(1, 5)
    )
    text = "".join(f"{line}\n" for line in TEXTS)
    with tempfile.TemporaryDirectory() as place:
        release = Path(place) / "r"
        release.mkdir()
        for name, content in (("split.jsonl", rows), ("test.de", text), ("test.en", text)):
            (release / name).write_text(content)
        list_files(release, manifest)
        files = collected(Path(place))
    for name in sorted(files):
        words = partial(_score, {"release": "r", "by": "degree"})
        yield Target(
            "score --release", f"{name.removeprefix('r/')}, listed", files, name, _how(name), words
        )


def _answers(folder):
    from cgbench.models.servers.journal import DIGEST, _digest

    lines = []
    for line in (folder / "kept").read_bytes().split(b"\n")[:-1]:
        with contextlib.suppress(Exception):
            event = json.loads(line)
            line = json.dumps({**event, DIGEST: _digest(event)}, ensure_ascii=False).encode()
        lines.append(line + b"\n")
    (folder / "kept").write_bytes(b"".join(lines))
    _ask("openai:http://127.0.0.1:9/v1?model=m&timeout=1", folder / "kept", 1)


def _replied(folder):
    from raw_web import answering

    (folder / "out" / "kept").unlink(missing_ok=True)
    with answering((folder / "reply").read_bytes()) as (url, _):
        _ask(f"openai:{url}/v1?model=m&timeout=5&parallel=1", folder / "out" / "kept", 1)


def servers():
    """Journals whose digests agree, and replies with a mark and a content of parts."""
    rows = [{"format": 2, "url": "http://127.0.0.1:9/v1"}]
    for request in _asked():
        rows.append({"sent": request.key, "most": [300, 512]})
        rows.append(
            {"key": request.key, "request": {"body": request.body}, "server": "s", "reply": CHAT}
        )
    kept = {"kept": "".join(json.dumps(row) + "\n" for row in rows).encode()}
    yield Target("openai", "journal, digests agree", kept, "kept", m.json_lines, _answers)
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
    content = [{"type": "thinking", "thinking": []}, {"type": "text", "text": LINES[0]}]
    content.append({"type": "refusal", "refusal": ""})
    chat = {
        **CHAT,
        "usage": usage,
        "choices": [{"message": {"role": "assistant", "content": content}}],
    }
    body = b"\xef\xbb\xbf" + json.dumps(chat).encode()
    yield Target("openai", "parts", {"reply": _reply(body)}, "reply", reply, _replied)


def _template(folder):
    from cgbench.models.servers.prompt_templates import parse_prompt

    data = (folder / "template").read_bytes()
    prompt = parse_prompt(data.decode("utf-8", "replace"), needs_source=False)
    if prompt.is_jinja and len(data) % 40 == 0:  # a process takes 0.2 s
        prompt.render(["a b"], [[("c", "C")]], [dict.fromkeys(prompt.uses, "x")])


def templates():
    """Jinja templates."""
    for position, template in enumerate(TEMPLATES, 1):
        yield Target(
            "prompt", f"Jinja {position}", {"template": template}, "template", m.text, _template
        )


def _recorded(folder):
    from cgbench.benchmark.score.evaluation.evaluate import evaluate
    from cgbench.benchmark.score.evaluation.every_eval_ever import write_records

    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"  # the same record every time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_records(evaluate("exact", TEXTS[::-1], TEXTS), folder / "t")


def records():
    """Records of Every Eval Ever that a command finds where it writes."""
    with tempfile.TemporaryDirectory() as place:
        _recorded(Path(place))
        files = collected(Path(place))
    for name in sorted(files):
        form = "record" if name.endswith(".json") else "examples"
        yield Target("--every-eval-ever", form, files, name, _how(name), _recorded)


GROUPS = (parts, releases, servers, templates, records)
