"""A request as YAML that ``read_values`` reads."""

import yaml

from cgbench.requests import _plain, given_values


def to_yaml(request):
    return yaml.safe_dump(_plain(given_values(request)), allow_unicode=True, sort_keys=False)
