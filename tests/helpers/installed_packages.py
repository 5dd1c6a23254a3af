"""Entry points of packages that are not installed: what ``importlib.metadata`` would find."""

from importlib import metadata


def install(monkeypatch, groups):
    """Add entry points to those of installed packages.

    :param groups: the value (``MODULE:OBJECT``) of each name, by group.
    """
    real = metadata.entry_points
    added = {
        group: [metadata.EntryPoint(name, value, group) for name, value in values.items()]
        for group, values in groups.items()
    }

    def entry_points(*, group):
        return metadata.EntryPoints([*real(group=group), *added.get(group, [])])

    monkeypatch.setattr(metadata, "entry_points", entry_points)
