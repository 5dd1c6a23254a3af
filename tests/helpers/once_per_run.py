"""Folders that one pytest worker makes and all of them read."""

import shutil

from cgbench.locks import locked


def once_per_run(tmp_path_factory, name, make):
    """The folder ``name`` of this run of pytest, which ``make(folder)`` has filled in one of its
    workers.
    """
    temporary = tmp_path_factory.getbasetemp()
    # pytest-xdist gives each worker a folder in that of the run
    folder = (
        (temporary.parent if temporary.name.startswith("popen-gw") else temporary) / "once" / name
    )
    finished = folder.with_name(f"{name}.finished")
    folder.parent.mkdir(exist_ok=True)
    with locked(folder.with_name(f"{name}.lock"), wait=True):
        if not finished.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed
            folder.mkdir()
            make(folder)
            finished.touch()
    return folder
