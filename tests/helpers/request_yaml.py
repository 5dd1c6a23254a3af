"""A request as YAML that ``read_values`` reads."""

import json
import os

import yaml

from cgbench.request import given_values


def to_yaml(request):
    values = json.loads(json.dumps(given_values(request), default=os.fspath))
    return yaml.safe_dump(values, allow_unicode=True, sort_keys=False)
