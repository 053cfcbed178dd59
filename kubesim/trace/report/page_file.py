"""The HTML file: the template with its style, scripts and data embedded.

The file loads nothing from elsewhere; a page that follows a run only sends requests to its own server. The data is JSON
in an element that no browser executes, with `<`, `>`, `&` and line separators escaped, so that no text of a run can end
the element. The Content-Security-Policy allows only this script and this style.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

STYLES = ("style.css", "print.css")
SCRIPTS = (
    "namespace.js", "time.js", "link.js", "dom.js", "run.js", "tables.js", "search.js", "rows.js", "canvas.js",
    "lanes.js", "list.js", "details.js", "cluster.js", "network.js", "view.js", "theme.js", "heading.js", "app.js",
)  # fmt: skip
LIVE_SCRIPTS = (*SCRIPTS[:-1], "growth.js", "live.js", SCRIPTS[-1])  # for a page that follows a run
_ESCAPES = (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"))


def page(title: str, data: dict[str, Any], drawing: str = "", *, live: bool = False) -> str:
    """The complete HTML file; `drawing` is SVG of the network, already escaped. A `live` page polls its server for
    more.
    """
    style = "\n".join(asset(name) for name in STYLES)
    script = "\n".join(asset(name) for name in (LIVE_SCRIPTS if live else SCRIPTS))
    parts = {
        "{{policy}}": _policy(script, style, live=live),
        "{{title}}": html_text(title),
        "{{style}}": style,
        "{{drawing}}": drawing,
        "{{data}}": embedded_json(data),
        "{{script}}": script,
    }
    text = asset("template.html")
    for mark, content in parts.items():
        before, _, after = text.partition(mark)
        text = before + content + after
    return text


def asset(name: str) -> str:
    return files("kubesim.trace.report").joinpath("page", name).read_text(encoding="utf-8")


def embedded_json(data: dict[str, Any]) -> str:
    """JSON text that is safe in HTML; it is ASCII, so it contains no line separators."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)
    for char, escape in _ESCAPES:
        text = text.replace(char, escape)
    return text


def html_text(text: str) -> str:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text.encode("utf-8", "backslashreplace").decode()


def _policy(script: str, style: str, *, live: bool) -> str:
    allowed = f"script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    allowed += "; connect-src 'self'" if live else ""
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
