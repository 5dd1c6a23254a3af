"""mkdocs: formulas become MathML, which needs no script and no font. Written as GitHub reads them:
```math, $`x`$.

A formula that LaTeX would refuse stops the build.
"""

import html
import re
from typing import Any

from latex2mathml.converter import convert

IN_LINE = re.compile(r"\$<code>(.+?)</code>\$", re.DOTALL)
BLOCK = re.compile(r'<div class="formula">(.*?)</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    """Typeset the formulas of a page."""
    content = BLOCK.sub(
        lambda match: f'<div class="formula" tabindex="0">{_typeset(match[1], "block")}</div>',
        content,
    )
    return IN_LINE.sub(lambda match: _typeset(match[1], "inline"), content)


def _typeset(code: str, display: str) -> str:
    return convert(html.unescape(code).strip(), display=display)
