"""Speed and memory of ``cgbench lm train``, as ratios against peers measured in the same run.

    python perf/language_model.py TEXT [--order 5] [--sample 20000] [--lmplz PATH] [--repeat 1]
    [--work FOLDER]

Prints a Markdown table. Every figure is of a fresh process, from its start to the finished file,
with the text in the page cache; memory is the peak resident set. Peers: ``wc -w`` on the same text;
the same model in plain Python on the first lines, extrapolated by the number of words; and KenLM's
lmplz, where there is one to name.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from scan import CGBENCH, best, head, in_turn, run

from cgbench.machine import description

PLAIN = Path(__file__).with_name("plain_lm.py")


def measure(
    text: Path, work: Path, order: int, sample: int, lmplz: str | None, repeat: int
) -> list[tuple[str, str]]:
    """All rows of the table."""
    words = int(
        best(["wc", "-w", text], 1).output.split()[0]
    )  # brings the text into the page cache, too
    few = head(text, sample, work / "few")
    train = [*CGBENCH, "lm", "train", "--format", "json", "--order", str(order)]
    run([*train, few, "--out", work / "few.arpa"])  # compiles on the first run

    count, arpa = in_turn(
        repeat,
        lambda: run(["wc", "-w", text]),
        lambda: run([*train, text, "--out", work / "x.arpa"]),
    )
    rows = [("`wc -w`", f"{count.wall:.1f} s ({count.cpu:.1f} s CPU)")]
    figures = json.loads(arpa.output)
    rows.insert(0, ("n-grams by order", ", ".join(f"{number:,}" for number in figures["ngrams"])))
    size = (work / "x.arpa").stat().st_size / 1e9
    rows.append(
        (
            f"`lm train --order {order}`, to an ARPA file of {size:.2f} GB",
            (
                f"{arpa.wall:.1f} s ({arpa.cpu:.1f} s CPU), {arpa.memory:,.0f} MB ="
                f" {arpa.cpu / count.cpu:.1f} x the processor time of `wc -w`"
            ),
        )
    )
    (work / "x.arpa").unlink()
    plain = best([sys.executable, PLAIN, few, str(order), work / "few.plain"], 1)
    part = json.loads(plain.output)["words"]
    rows.append(
        (
            f"plain Python, {part:,} words",
            (
                f"{plain.cpu:.1f} s CPU, {plain.memory:,.0f} MB:"
                f" {plain.cpu * words / part / arpa.cpu:.0f} x the processor time of `lm train`,"
                " extrapolated by the words"
            ),
        )
    )
    if lmplz:
        peer = best(
            [
                lmplz,
                "-o",
                str(order),
                "-S",
                "3500M",
                "-T",
                f"{work}/",
                "--text",
                text,
                "--arpa",
                work / "peer.arpa",
            ],
            repeat,
        )
        rows.append(
            (
                "lmplz with 3.5 GB",
                (
                    f"{peer.wall:.1f} s ({peer.cpu:.1f} s CPU), {peer.memory:,.0f} MB: "
                    f"{peer.wall / arpa.wall:.1f} x as long as `lm train`"
                ),
            )
        )
    return [(f"{words:,} words, {text.stat().st_size / 1e6:,.0f} MB", ""), *rows]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("text", type=Path)
    parser.add_argument("--order", type=int, default=5)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--lmplz")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.work) as folder:
        rows = measure(
            given.text, Path(folder), given.order, given.sample, given.lmplz, given.repeat
        )
    print(f"{description()}\n\n| what | measured |\n|---|---|")
    for what, figures in rows:
        print(f"| {what} | {figures} |")


if __name__ == "__main__":
    main()
