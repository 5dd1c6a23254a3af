"""Text that a page must show as text: markup, scripts, other directions, control characters, a very
long line.
"""

HOSTILE = (
    '</script><img src=x onerror="window.broken=1">',
    "<!-- <script> ]]> --> <svg onload=window.broken=1>",
    "{{ 7 * 7 }} {% raw %} ${window.broken=1} `x`",
    "\u05e9\u05dc\u05d5\u05dd \u202eevil\u202c \u0645\u0631\u062d\u0628\u0627",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 caf\u00e9 e\u0301 \u2028 \ufeff",
    "\x1b[31mred\x1b[0m \x07 bell \x9b2J",
    "&lt;b&gt; &amp; \" ' < > \\u003c </style>",
    "long " * 2_000,
)
"""One of them an escape code, one a line of 10 kB."""
