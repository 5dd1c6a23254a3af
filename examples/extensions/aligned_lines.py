"""A format of corpora: lines ``source ||| target``, as fast_align and eflomal read them, in files
named ``.aligned``: ``--train corpus.aligned``.
"""

from cgbench.errors import InputError
from cgbench.text.streams import read_lines
from cgbench.text.table_formats import TableFormat


def rows(path):
    """The two sides of each line."""
    for number, line in enumerate(read_lines(path), 1):
        source, bars, target = line.partition(" ||| ")
        if not bars:
            raise InputError(f"{path}, line {number}: write SOURCE ||| TARGET")
        yield {"source": source, "target": target}


ALIGNED_LINES = TableFormat("aligned", rows)
