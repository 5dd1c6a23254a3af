"""mkdocs: names and keyboard focus that the theme lacks.

Whatever scrolls can be focused; dialogs have names.
"""

import re
from typing import Any


def on_post_page(output: str, **_: Any) -> str:
    """Add the attributes to a finished page."""
    output = re.sub(
        r"<table(?=>)|(?<=<pre>)<code(?=>)|(?<=<span></span>)<code(?=>)",
        r'\g<0> tabindex="0"',
        output,
    )
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
