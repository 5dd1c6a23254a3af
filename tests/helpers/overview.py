"""The rows of the overview of systems in docs/lab/reproduction.md, whose measured numbers stand in
docs/lab/systems.yaml.
"""

from pathlib import Path

from cgbench.yaml_text import load_yaml

SYSTEMS = Path(__file__).parents[2] / "docs/lab/systems.yaml"


def row_of(title):
    """A row by its title."""
    (row,) = [row for row in load_yaml(SYSTEMS) if row["title"] == title]
    return row


def count_of(title, what):
    """How many numbers of a kind (``logits``) the row says were compared with the authors' code."""
    (item,) = [item for item in row_of(title)["agreement"] if item["of"] == what]
    return item["numbers"]
