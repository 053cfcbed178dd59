"""SVG elements, as text, for pictures that are readable on light and dark pages.

All text from outside is escaped here. Colours are custom properties with one value for light and one for dark pages.
"""

from __future__ import annotations

from kubesim.golang.text import printable

FONT = 12  # pixels
_WIDTH_OF_A_CHARACTER = 0.56  # average, relative to the size of a proportional font
TONES = ("paper", "waiting", "running", "good", "bad", "done", "off", "ending")

STYLE = """
  svg { --paper: #ffffff; --ink: #1f2933; --soft: #52606d; --line: #d9dee4; --stripe: #f5f7f9;
        --waiting: #f4d58d; --running: #a9cdf0; --good: #9fd8b4; --bad: #f2a7a0; --done: #c9c5e8; --off: #e4e7eb;
        --ending: #f3bd93; --warning: #b42318; --normal: #486581; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #15191f; --ink: #e6eaef; --soft: #a3afbc; --line: #36404b; --stripe: #1b2129;
          --waiting: #6b5416; --running: #1f4f7d; --good: #1f5f3c; --bad: #7d2c27; --done: #46417a; --off: #2c343d;
          --ending: #71401b; --warning: #ff9b8f; --normal: #9fb3c8; }
  }
  text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink); }
  .title { font-size: 16px; font-weight: 600; }
  .name { font-weight: 600; }
  .soft, .tick { fill: var(--soft); }
  .band { stroke: var(--paper); stroke-width: 1; }
  .grid { stroke: var(--line); stroke-width: 1; }
  .box { fill: var(--stripe); stroke: var(--line); stroke-width: 1; }
  .cable { stroke: var(--soft); stroke-width: 1.5; fill: none; }
  .Warning { stroke: var(--warning); stroke-width: 2; }
  .Normal { stroke: var(--normal); stroke-width: 1.5; }
""" + "".join(f"  .fill-{tone} {{ fill: var(--{tone}); }}\n" for tone in TONES)


def escaped(text: str) -> str:
    """Text escaped for XML. Control characters are escaped as in the other views, because XML allows few of them."""
    plain = "\n".join(map(printable, text.split("\n")))
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        plain = plain.replace(char, entity)
    return plain


def text(x: float, y: float, content: str, style: str = "", *, anchor: str = "start") -> str:
    name = f' class="{style}"' if style else ""
    side = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{name}{side}>{escaped(content)}</text>'


def rectangle(
    x: float, y: float, width: float, height: float, *, fill: str = "", style: str = "", title: str = ""
) -> str:
    """A rectangle. `fill` is the name of a colour of the style; `title` is the tooltip."""
    shape = f'x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}"'
    names = " ".join(filter(None, (style, fill and f"fill-{fill}")))
    if not title:
        return f'<rect {shape} class="{names}"/>'
    return f'<rect {shape} class="{names}"><title>{escaped(title)}</title></rect>'


def line(x1: float, y1: float, x2: float, y2: float, style: str, title: str = "") -> str:
    ends = f'x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}" class="{style}"'
    return f"<line {ends}><title>{escaped(title)}</title></line>" if title else f"<line {ends}/>"


def document(width: float, height: float, title: str, elements: list[str]) -> str:
    """The complete SVG document with its own background, and a title for screen readers."""
    size = f'width="{_number(width)}" height="{_number(height)}" viewBox="0 0 {_number(width)} {_number(height)}"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="title">'
    paper = rectangle(0, 0, width, height, fill="paper")
    head = [begin, f'<title id="title">{escaped(title)}</title>', f"<style>{STYLE}</style>", paper]
    return "\n".join([*head, *elements, "</svg>", ""])


def fitted(content: str, width: float) -> str:
    """As much of the text as fits, or an empty text if too little would remain."""
    most = int(width / (FONT * _WIDTH_OF_A_CHARACTER))
    if len(content) <= most:
        return content
    return content[: most - 1] + "…" if most >= 5 else ""


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
