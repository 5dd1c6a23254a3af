"""mkdocs: pages from outside docs/ (changelog, notebooks ...), a first page for each section, and
folders of the navigation as lists of pages.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
PAGES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "licence.md": "LICENSE",
    "citation.md": "CITATION.cff",
}
NOTEBOOKS = "examples"
FOLDERS = {
    "Tutorials": "tutorial",
    "How to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Lab": "lab",
}
"""The sections of the front page that are folders."""


def on_config(config: Any) -> Any:
    """Replace ``FOLDER/*`` in the navigation by the pages of the folder, and begin each section
    with its first page.
    """
    config.nav = _expanded(config.nav, Path(config.docs_dir))
    for entry in config.nav:
        for title, pages in entry.items():
            if title in FOLDERS:
                pages.insert(0, f"{FOLDERS[title]}/index.md")
    return config


def _expanded(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(pages, docs) for title, pages in entry.items()}
    if isinstance(entry, list):
        return [
            page for pages in entry for page in _matching(pages, docs) or [_expanded(pages, docs)]
        ]
    return entry


def _matching(entry: Any, docs: Path) -> list[str]:
    if not isinstance(entry, str) or "*" not in entry:
        return []
    return sorted(path.relative_to(docs).as_posix() for path in docs.glob(entry))


def on_files(files: Any, config: Any) -> Any:
    """Add the pages."""
    pages = {name: _page(ROOT / source) for name, source in PAGES.items()}
    front = (Path(config.docs_dir) / "index.md").read_text(encoding="utf-8")
    pages |= {f"{folder}/index.md": _section(front, title) for title, folder in FOLDERS.items()}
    for path in sorted((ROOT / NOTEBOOKS).glob("*.ipynb")):
        pages[f"notebooks/{path.stem}.md"] = notebook(path)
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def _section(front: str, title: str) -> str:
    """A section of the front page as a page in its folder."""
    text = re.split(rf"(?m)^## {title}$", front)[1].partition("\n## ")[0]
    within = text.replace(f"]({FOLDERS[title]}/", "](")
    elsewhere = re.compile(rf"\]\((?=(?:{'|'.join(FOLDERS.values())})/)")
    head = "---\nsearch:\n  exclude: true\n---\n\n"  # the search has what it links to
    return f"{head}# {title}\n{elsewhere.sub('](../', within)}"


def on_post_build(config: Any) -> None:
    """Leave out the source maps of the theme: a third of the site, for its developers."""
    for path in Path(config.site_dir).rglob("*.map"):
        path.unlink()


def _page(path: Path) -> str:
    """A file of the repository as a page, with links into docs/ as they are there."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".md":
        title = {"LICENSE": "Licence", "CITATION.cff": "Citation"}[path.name]
        return f"# {title}\n\n```text\n{text}\n```\n"
    text = text.replace("](docs/", "](").replace('"docs/', '"')  # links and pictures
    known = {source: name for name, source in PAGES.items()} | {"README.md": "index.md"}
    return re.sub(
        r"\]\((\w+\.(?:md|cff)|LICENSE)", lambda match: f"]({known.get(match[1], match[1])}", text
    )


def notebook(path: Path) -> str:
    """A notebook with the output that is stored in it, as Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            text = output.get("text") or output.get("data", {}).get("text/plain") or ""
            if text:
                parts.append(f"```text\n{''.join(text).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Begin the front page as README.md does: what cgbench is for, an example, a picture."""
    if page.file.src_uri != "index.md":
        return markdown
    sections = re.split(r"(?m)^(?=#)", _page(ROOT / "README.md"))
    first = sections[1].partition("\n")[2]
    beginnings = ("## What it does", "## The demo", "## Installation")
    more = [section for section in sections if section.startswith(beginnings)]
    return markdown.replace("<!-- README -->\n", first + "\n".join(more), 1)
