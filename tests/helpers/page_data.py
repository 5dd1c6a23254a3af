import json
import re


def data_of(html):
    """What a page of a report contains as data."""
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1]
    )
