"""The YAML at the top of a card, which data set hubs read (language, licence, size, files).

The keys and values follow Hugging Face's hub-docs, ``datasetcard.md``.
"""

import re
from collections.abc import Mapping
from typing import Any

from cgbench.benchmark.release.manifest import is_split, table_file, table_names

LICENCES = frozenset(
    {
        "afl-3.0",
        "agpl-3.0",
        "apache-2.0",
        "artistic-2.0",
        "bsd",
        "bsd-2-clause",
        "bsd-3-clause",
        "cc",
        "cc0-1.0",
        "cc-by-2.0",
        "cc-by-2.5",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc-by-nc-2.0",
        "cc-by-nc-3.0",
        "cc-by-nc-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-3.0",
        "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0",
        "cc-by-nc-sa-4.0",
        "cdla-permissive-1.0",
        "cdla-permissive-2.0",
        "cdla-sharing-1.0",
        "gfdl",
        "gpl",
        "gpl-2.0",
        "gpl-3.0",
        "lgpl",
        "lgpl-2.1",
        "lgpl-3.0",
        "mit",
        "mpl-2.0",
        "odbl",
        "odc-by",
        "pddl",
        "unlicense",
    }
)
"""Licences that hubs know by name; any other is ``other``, with its own name."""
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def front_matter(manifest: Mapping[str, Any]) -> str:
    """The YAML of a release's card, without the lines around it."""
    import yaml

    # What the release holds.
    counts = manifest["counts"]
    pairs = counts.get("selected", counts["candidates"])
    forms = manifest["configuration"].get("anonymise", "none") != "none"
    source, target = manifest["languages"]
    files = [
        {"split": name, "path": table_file(name).replace("-00000-of-00001", "-*")}
        for name in table_names(manifest)
    ]
    if is_split(manifest):  # both sets in one configuration, as training and test sets usually are
        configs = [{"config_name": "default", "data_files": files}]
    else:
        configs = [
            {"config_name": file["split"] if position else "default", "data_files": [file]}
            for position, file in enumerate(files)
        ]
    kind = (
        "Test set of compositional generalisation"
        if manifest["until"] == "release"
        else "Candidates"
    )
    kind = "Split for compositional generalisation" if is_split(manifest) else kind
    # The keys of the hub.
    codes = [code for code in manifest["languages"] if re.fullmatch("[a-z]{2,3}", code)]
    values: dict[str, Any] = {"language": codes} if codes else {}
    values |= licence_keys(manifest["licence"])
    values |= {} if forms else {"multilinguality": ["translation"]}
    values |= {
        "task_categories": ["text-generation" if forms else "translation"],
        "size_categories": [next((name for limit, name in SIZES if pairs < limit), "1M<n<10M")],
        "pretty_name": f"{kind}, {source} to {target}",
        "tags": [
            "compositional-generalization",
            "cgbench",
            "split" if is_split(manifest) else "react",
        ],
        "configs": configs,
    }
    return yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1_000)


def licence_keys(stated: str | None) -> dict[str, str]:
    """The licence keys of a hub for a stated licence."""
    if not stated:
        return {"license": "unknown"}
    name = re.sub("[^a-z0-9.]+", "-", stated.lower()).strip("-.")
    return (
        {"license": name}
        if name in LICENCES
        else {"license": "other", "license_name": name or "other"}
    )
