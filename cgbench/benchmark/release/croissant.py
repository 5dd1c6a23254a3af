"""``croissant.json``: the release as Croissant metadata, core and responsible-AI (RAI) fields.

Written from the manifest alone, without a library, so equal releases give equal bytes. The
vocabulary is Croissant 1.0 and Croissant RAI 1.0 (MLCommons). People add what a build cannot know
(:data:`MANUAL_FIELDS`): that is not part of the benchmark, and ``verify`` checks the file without
it.
"""

from collections.abc import Mapping
from typing import Any

from cgbench.benchmark.release.data_tables import TEXTS
from cgbench.benchmark.release.manifest import ID, is_split, table_file
from cgbench.files import parse_json, to_json
from cgbench.steps import hash_value

MANUAL_FIELDS = (
    *(
        "url",
        "citeAs",
        "creator",
        "publisher",
        "datePublished",
        "dateModified",
        "sameAs",
        "keywords",
    ),
    *(
        "rai:personalSensitiveInformation",
        "rai:dataCollectionTimeframe",
        "rai:dataReleaseMaintenancePlan",
    ),
    *("rai:annotatorDemographics", "rai:annotationsPerItem", "rai:dataImputationProtocol"),
)
"""Fields that a build never writes: the publisher of the release does."""
_CR = (
    *(
        "citeAs",
        "column",
        "equivalentProperty",
        "extract",
        "field",
        "fileProperty",
        "fileObject",
        "fileSet",
        "format",
    ),
    *(
        "includes",
        "isLiveDataset",
        "jsonPath",
        "key",
        "md5",
        "parentField",
        "path",
        "recordSet",
        "references",
        "regex",
    ),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _CR},
}
"""The standard context: validators warn of any other."""


def write_croissant(
    manifest: Mapping[str, Any],
    tables: Mapping[str, Any],
    digests: Mapping[str, str],
    manual: Mapping[str, Any] | None = None,
) -> str:
    """The metadata of a release, as the text of its file.

    :param tables: the written tables, by name.
    :param digests: SHA-256 of the release's files.
    :param manual: manual fields of an existing file.
    """
    # What the set is, its files and their columns.
    counts = manifest["counts"]
    source, target = manifest["languages"]
    pairs = counts.get("selected", counts["candidates"])
    value: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": f"cgbench-{source}-{target}",
        "description": (
            f"{counts['train']:,} training pairs and {pairs:,} test pairs, {source} to {target},"
            f" split from {counts['pool']:,} so that the test pairs combine parts of the training"
            " text in new ways."
            if is_split(manifest)
            else (
                f"{pairs:,} sentence pairs, {source} to {target}, of a pool of {counts['pool']:,}"
                f" that combine words known from {manifest['inputs']['train']['pairs']:,} training"
                " pairs in ways the training pairs do not."
            )
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "version": "1.0.0",
        "inLanguage": [source, target],
        "distribution": [
            _node(
                "FileObject",
                f"{name}.parquet",
                contentUrl=table_file(name),
                encodingFormat="application/x-parquet",
                sha256=digests[table_file(name)],
            )
            for name in tables
        ],
        "recordSet": [
            _node(
                "RecordSet",
                name,
                key={"@id": f"{name}/{ID}"},
                field=[_field(name, field) for field in table.schema],
            )
            for name, table in tables.items()
        ],
        **({} if is_split(manifest) else _responsible(manifest)),
    }
    # What only its owner knows.
    if manifest["licence"]:
        value["license"] = manifest["licence"]
    value |= {key: manual[key] for key in MANUAL_FIELDS if key in manual} if manual else {}
    return to_json(value)


def croissant_digest(data: bytes) -> str:
    """The SHA-256 of the metadata in a manifest: of the values without manual fields, in canonical
    form.
    """
    value = parse_json(data, "croissant.json")
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in MANUAL_FIELDS}
    return hash_value(value)


def manual_fields(data: bytes) -> dict[str, Any]:
    """The manual fields of a metadata file."""
    value = parse_json(data, "croissant.json")
    return (
        {key: value[key] for key in MANUAL_FIELDS if key in value}
        if isinstance(value, dict)
        else {}
    )


def _node(kind: str, name: str, **values: Any) -> dict[str, Any]:
    return {"@type": f"cr:{kind}", "@id": name, "name": name, **values}


def _field(table: str, field: Any) -> dict[str, Any]:
    """A column as a field; the text as one field per language."""
    import pyarrow

    name = f"{table}/{field.name}"
    origin = {"fileObject": {"@id": f"{table}.parquet"}, "extract": {"column": field.name}}
    if field.name in TEXTS:
        origins = {
            side.name: {**origin, "transform": {"jsonPath": side.name}} for side in field.type
        }
        sides = [
            _node("Field", f"{name}/{side}", dataType="sc:Text", source=source)
            for side, source in origins.items()
        ]
        return _node("Field", name, subField=sides)
    if pyarrow.types.is_list(field.type) or pyarrow.types.is_large_list(field.type):
        return _node(
            "Field", name, dataType=_data_type(field.type.value_type), source=origin, repeated=True
        )
    return _node("Field", name, dataType=_data_type(field.type), source=origin)


def _data_type(kind: Any) -> str:
    from pyarrow import types

    if types.is_boolean(kind):
        return "sc:Boolean"
    if types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if types.is_floating(kind) else "sc:Text"


def _responsible(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The RAI fields that a build can fill in."""
    config, counts, finished = (
        manifest["configuration"],
        manifest["counts"],
        manifest["until"] == "release",
    )
    trained = manifest["until"] != "candidates"
    # How pairs were selected.
    steps = [
        (
            f"Text normalised to select pairs: tokenize {config['tokenize']}, lowercase "
            f"{str(config['lowercase']).lower()}. The published text is the original."
        ),
        (
            f"Pairs with a word that occurs fewer than {config['word_min_count']} times in training"
            f" dropped (sides: {config['filter_sides']})."
        ),
        (
            f"The {counts['candidates']:,} pairs of the highest compositional degree kept"
            f" ({config['degree_side']} side), without repeats or seen text."
        ),
    ]
    if finished:
        unit = " in whole documents" if config.get("draw_by") == "document" else ""
        steps.append(
            f"The {counts['dropped']:,} most uncertain dropped, {counts['selected']:,} drawn at"
            f" random from the next {counts['window']:,}{unit} (measure {config['uncertainty']},"
            f" seed {config['seed']})."
        )
    # What holds of every build.
    fields: dict[str, Any] = {
        "rai:dataCollection": (
            "Selected from existing parallel text by the method of ReaCT (Zheng and Lapata 2023,"
            " section 4); no text was written for it. README.md names the files, and their origin"
            " where it is known."
        ),
        "rai:dataPreprocessingProtocol": steps,
        "rai:dataLimitations": (
            "Known means frequent enough as a string of words: a known word in a new sense counts"
            " as known. Noise in the pool (misaligned or free translations) is only removed if an"
            " ensemble finds it unlikely. Differences between training runs are large on such test"
            " sets."
        ),
        "rai:dataBiases": (
            (
                "The rare-word filter favours short, frequent words and domains near the training"
                " text. "
                + (
                    "Systems of the kind of the selecting ensemble are at a disadvantage."
                    if finished
                    else ""
                )
            ).strip()
        ),
        "rai:dataUseCases": (
            "To test how systems trained on the named training text generalise to new combinations"
            " of known words; not for training, and not as a sample of the language."
        ),
        "rai:dataSocialImpact": (
            "Scores on this set measure how well known words are handled in new combinations. They"
            " do not measure fairness or safety. The effects of the text itself are for its owners"
            " to assess."
        ),
        "rai:hasSyntheticData": trained,
    }
    if trained:
        fields["rai:machineAnnotationTools"] = [
            f"cgbench {manifest['version']}: an ensemble of {config['members']} members translates"
            " the sources (column hypothesis) and measures its uncertainty"
        ]
    return fields
