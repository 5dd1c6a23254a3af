"""Prompts: two forms told apart, nothing of the text executed, and every error before anything is
sent.
"""

import pytest

from cgbench.errors import InputError
from cgbench.models.servers import jinja_process
from cgbench.models.servers.prompt_templates import (
    messages,
    parse_prompt,
    read_prompts,
    read_system_message,
)

SHOTS = [("a b", "A B"), ("c", "C")]


def test_the_plain_form_is_as_it_was():
    text = 'Say "{source}" as {"json": {"x": 1}}, {shots}{other}'
    assert parse_prompt(text).render(["{shots} {{ x }}"], [SHOTS]) == [
        'Say "{shots} {{ x }}" as {"json": {"x": 1}}, a b\nA B\n\nc\nC\n\n{other}'
    ]


def test_jinja_with_shots_and_columns():
    text = (
        "{% for shot in shots %}{{ shot.source }} => {{ shot.target }}\n{% endfor %}{{ domain }}:"
        " {{ source }}"
    )
    prompt = parse_prompt(text)
    assert prompt.uses == {"domain", "source", "shots"}
    assert prompt.render(
        ["x <&> {{ y }}", "é"], [SHOTS, []], [{"domain": "law"}, {"domain": "\n"}]
    ) == ["a b => A B\nc => C\nlaw: x <&> {{ y }}", "\n: é"]
    assert parse_prompt("{{ shots }}{{ source }}").render(["x"], [SHOTS]) == [
        "a b\nA B\n\nc\nC\n\nx"
    ]
    assert parse_prompt("{{ source }}").render(["x"], columns=[{"source": "other"}]) == ["x"]
    assert parse_prompt("{{ source }}").render([]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Say", "'Say' is no file, and has no {source} or {{ source }}"),
        ("Say {{ domain }}", "has no {source}"),
        ("{source} {{ domain }}", "has both {source} and Jinja's"),
        ("a\n{{ source", "line 2: not a valid Jinja template"),
        ("{{ source | nothing }}", "not a valid Jinja template"),
        ("{{ source | random }}", "not a valid Jinja template"),
        ("{{ source * " + "9" * 5000 + " }}", "not a valid Jinja template"),
        ("{% for a in source %}" * 30 + "{% endfor %}" * 30, "not a valid Jinja template"),
    ],
)
def test_templates_that_cannot_be(text, said):
    with pytest.raises(InputError) as caught:
        parse_prompt(text)
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "{{ source.__class__.__mro__ }}",
        "{{ ''.__class__ }}{{ source }}",
        "{{ source }}{% include '/etc/passwd' %}",
        "{{ source }}{{ range(10000000) | list }}",
        "{{ source }}{{ 1 / 0 }}",
        "{{ source }}{{ domain }}",
        "{{ source }}{{ lipsum() }}",
    ],
)
def test_the_sandbox_and_names_without_value(text):
    with pytest.raises(InputError, match="the prompt fails on"):
        parse_prompt(text).render(["x"], [SHOTS])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{{ "x" * 10**10 }}', "more than 1 GB of memory"),
        ('{{ "%2000000d" | format(1) }}', "a text of more than 1,048,576 characters"),
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "more than 1 s",
        ),
        ("{{ 10 ** (10 ** 10) }}", "more than 1 s"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion"),
    ],
)
def test_a_template_takes_limited_time_and_memory(monkeypatch, text, said):
    monkeypatch.setattr(jinja_process, "SECONDS", 1)
    with pytest.raises(InputError, match="the prompt fails on '(good|x)'") as caught:
        parse_prompt(f"{{{{ source }}}}{{% if source == 'good' %}}{text}{{% endif %}}").render(
            ["x", "good", "y"]
        )
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_files_names_and_twins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "formal.v2.txt").write_text("Formal: {source}\n")
    (tmp_path / "short.jinja").write_text("{{ source }}!\n\n")
    found = read_prompts(["formal.v2.txt", "Say {source}", str(tmp_path / "short.jinja")])
    assert [(one.name, one.text) for one in found] == [
        ("formal", "Formal: {source}"),
        ("prompt-2", "Say {source}"),
        ("short", "{{ source }}!\n"),
    ]
    assert found[2].render(["a"]) == ["a!"]
    (tmp_path / "formal.txt").write_text("{source}")
    with pytest.raises(InputError, match="two prompts have the name formal"):
        read_prompts(["formal.v2.txt", "formal.txt"])
    with pytest.raises(InputError, match="two prompts have the same text"):
        read_prompts(["{source}", "{source}"])
    (tmp_path / "bytes.txt").write_bytes(b"\xff{source}")
    with pytest.raises(InputError, match=r"bytes\.txt: cannot be read as text"):
        read_prompts(["bytes.txt"])
    with pytest.raises(InputError, match="is no file"):
        read_prompts(["fromal.txt"])
    assert read_prompts(["x" * 5000 + "{source}"])[0].name == "prompt-1"


def test_the_system_message(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    prompt = parse_prompt("{source}")
    system = read_system_message("You translate into {language}.")
    assert messages(prompt, system, ["x"]) == [
        [
            {"role": "system", "content": "You translate into {language}."},
            {"role": "user", "content": "x"},
        ]
    ]
    assert messages(prompt, None, ["x", "y"]) == [
        [{"role": "user", "content": one}] for one in "xy"
    ]
    (tmp_path / "system.txt").write_text("Examples:\n{shots}\n")
    (made,) = messages(prompt, read_system_message("system.txt"), ["x"], [SHOTS[1:]])
    assert made[0]["content"] == "Examples:\nc\nC\n\n"
    with pytest.raises(InputError, match=r"system_message='sytem\.txt': there is no such file"):
        read_system_message("sytem.txt")
