"""``cgbench verify``: check a release."""

import sys

import click

from cgbench.benchmark.release.verify import VerifyRequest, verify
from cgbench.commands.command import Command, format_option, show
from cgbench.commands.options import takes
from cgbench.errors import printable


@click.command("verify", cls=Command, example="cgbench verify release")
@takes(VerifyRequest)
@click.argument("release", metavar="RELEASE", type=click.Path())
@format_option
def verify_command(request: VerifyRequest, form: str) -> None:
    """Recompute the checksums, counts and split of a release; exit status 1 if any of them
    differs.
    """
    checks = verify(request)
    rows = [{"check": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
    show(form, {"ok": checks.ok, "checks": rows}, "\n".join(printable(check) for check in checks))
    sys.exit(0 if checks.ok else 1)
