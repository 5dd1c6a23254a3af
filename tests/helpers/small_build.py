"""A build that takes seconds, and what of its output must be the same every time."""

# more candidates than a shard of the uncertainty step has, so that workers share them and a kill falls between them
SMALL = (
    *("--preset", "demo", "--members", "2", "--model", "tiny"),
    *("--set", "candidates=700", "--set", "training.max_updates=12", "--set", "training.checkpoint_every=3"),
    *("--set", "text.merges=300", "--set", "beam=2"),
)


def release_bytes(folder):
    """Every file of a release but the timings, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "timings.json"}
