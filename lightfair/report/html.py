"""Render a document as a self-contained HTML page, or as a fragment for notebooks.

The page is for those who approve a model, on a screen, on a phone or on paper. Its style and its
figures are embedded; it runs no script and loads nothing, which a content security policy enforces.
The status of a check is given in words, not only by colour. All text from a document is escaped,
and characters that cannot be printed, such as those that reverse the writing direction, are
shown as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from ..core.data.messages import one_line
from .document import Document, Paragraph, Section, Table
from .figures import Picture
from .format import STATUS

WITHOUT_PLOTS = (
    "This report has no plots, because matplotlib is not installed (pip install 'lightfair[plot]') "
    "or has no folder that it may write in (set MPLCONFIGDIR)."
)

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'"
)

LISTED = 4  # sections from which a page has a table of contents

INTERVAL = re.compile(r"(?<=\[)(\S+), (?=\S+\])")

RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"

RIGHT_TO_LEFT = re.compile(f"[{RTL}]+(?:[ -][{RTL}]+)*")  # words in Hebrew, Arabic and the like

# The contrast between text and background is at least 7:1.
STYLE = """
.lightfair{color:#1b1b1b;background:#fff;font:16px/1.5 system-ui,Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:break-word}
.lightfair h1{font-size:1.7em;line-height:1.2}
.lightfair h2,.lightfair .heading{font-size:1.25em;font-weight:600;border-top:1px solid #bbb}
.lightfair p,.lightfair .findings{max-width:60em}
.lightfair pre{background:#f3f3f3;white-space:pre-wrap;overflow-wrap:anywhere}
.lightfair .verdict,.lightfair .warning{border:1px solid #5c4600;border-left-width:.5em;
padding:.5em .8em;background:#f7f3e6}
.lightfair .verdict strong{color:#5c4600;border:2px solid;padding:0 .5em;margin-right:.4em}
.lightfair .pass{background:#eef6f0;border-color:#0b5a2b}
.lightfair .pass strong{color:#0b5a2b}
.lightfair .fail{background:#fbeeee;border-color:#8a1010}
.lightfair .fail strong{color:#fff;background:#8a1010;border-color:#8a1010}
.lightfair nav ul,.lightfair .figures{padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:1em}
.lightfair figure{margin:0;max-width:100%}
.lightfair figcaption{width:0;min-width:100%}
.lightfair img{max-width:100%}
.lightfair figcaption,.lightfair caption,.lightfair .notes{font-size:.9em;color:#444}
.lightfair caption{text-align:left;font-weight:600}
.lightfair .scroll{overflow-x:auto;margin:1em 0}
.lightfair table{border-collapse:collapse;font-size:.9em;min-width:16em}
.lightfair th,.lightfair td{padding:.25em .6em;text-align:right;vertical-align:top;
font-weight:400;border-bottom:1px solid #ddd}
.lightfair thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid #666}
.lightfair th:first-child{text-align:left;min-width:6em;max-width:20em;overflow-wrap:anywhere;
position:sticky;left:0;background:#fff}
@media print{.lightfair{font-size:10pt}
.lightfair nav{display:none}
.lightfair .scroll{overflow:visible}
.lightfair table{font-size:8pt}
.lightfair tr,.lightfair figure,.lightfair p,.lightfair li{break-inside:avoid}
.lightfair h2,.lightfair caption{break-after:avoid}
.lightfair figure{max-width:48%}}
"""

PAGE = """
body{margin:0}
main.lightfair{max-width:76rem;margin:0 auto;padding:1.5rem 1rem 3rem}
@page{size:A4;margin:15mm}
"""


def render(document: Document, figures: Mapping[str, Sequence[Picture]] | None = None) -> str:
    """Return a document as an HTML 5 page.

    Parameters
    ----------
    document
    figures
        Figures by section key; see `figures`. None if there cannot be any, without matplotlib: the
        page then states this.
    """
    title, sections = _text(document.title), document.sections
    parts = [f"<h1>{title}</h1>"]
    if figures is None:
        parts.append(f"<p>{_text(WITHOUT_PLOTS)}</p>")
    titles = {i: _text(section.title) for i, section in enumerate(sections) if section.title}
    if len(sections) >= LISTED:
        links = [f'<li><a href="#section-{i}">{text}</a></li>' for i, text in titles.items()]
        parts.append(f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>')
    for i, section in enumerate(sections):
        parts += [f'<h2 id="section-{i}">{titles[i]}</h2>'] if i in titles else []
        parts += _section(section, (figures or {}).get(section.key, ()))
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light">\n'
        f"<title>{title}</title>\n<style>{STYLE}{PAGE}</style>\n</head>\n"
        f'<body>\n<main class="lightfair">\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(document: Document) -> str:
    """Return a document for a notebook, without figures, ids and headings."""
    parts = [f"<style>{STYLE}</style>", f"<p><strong>{_text(document.title)}</strong></p>"]
    for section in document.sections:
        head = [f'<p class="heading">{_text(section.title)}</p>'] if section.title else []
        parts += [*head, *_section(section, ())]
    return '<div class="lightfair">\n' + "\n".join(parts) + "\n</div>\n"


def _section(section: Section, pictures: Sequence[Picture]) -> list[str]:
    """Blocks in order, with figures before the first table; consecutive findings are a list."""
    lines: list[str] = []
    figures = [_figure(picture) for picture in pictures if picture.source is not None]
    drawn = ['<div class="figures">', *figures, "</div>"] if figures else []
    drawn += [f"<p>{_text(picture.caption)}</p>" for picture in pictures if picture.source is None]
    for kind, blocks in groupby(section.blocks, lambda block: getattr(block, "role", "table")):
        inner = [_table(b, section) if isinstance(b, Table) else _paragraph(b) for b in blocks]
        if kind == "table":
            lines += drawn
            drawn = []
        lines += ['<ul class="findings">', *inner, "</ul>"] if kind == "finding" else inner
    return lines + drawn


def _paragraph(block: Paragraph) -> str:
    text, mark = _text(block.text), _text(block.mark)
    if block.role == "finding":
        return f"<li>{text}</li>"
    if block.role == "verdict":
        return f'<p class="verdict {mark}"><strong>{STATUS[block.mark]}</strong> {text}</p>'
    if block.role == "warning":
        return f'<p class="warning"><strong>Warning</strong> (<code>{mark}</code>): {text}</p>'
    if block.role == "code":
        return f"<pre><code>{text}</code></pre>"
    return f"<p>{text}</p>"


def _figure(picture: Picture) -> str:
    text = _text(picture.caption)
    image = f'<img src="{picture.source}" alt="{text}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _table(table: Table, section: Section) -> str:
    """A table that scrolls if it is too wide, and below it the reasons for undefined numbers."""
    reasons = table.reasons()
    title = _text(": ".join(filter(None, (section.title, table.head[0]))))
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.head)
    lines = [
        f'<div class="scroll" role="group" tabindex="0" aria-label="{title}">',
        f"<table><caption>{title}</caption><thead><tr>{head}</tr></thead><tbody>",
    ]
    for name, *cells in table.rows:
        row = [f'<th scope="row">{_text(name.text)}</th>']
        for cell in cells:
            text = "–" if cell.text == "-" else INTERVAL.sub(r"\1,&nbsp;", _text(cell.text))
            if cell.why is not None:
                text += f"<sup>{reasons[cell.why]}</sup>"
            row.append(f"<td>{text}</td>")
        lines.append(f"<tr>{''.join(row)}</tr>")
    lines += ["</tbody></table>", "</div>"]
    notes = "; ".join(f"<sup>{mark}</sup> {_text(why)}" for why, mark in reasons.items())
    return "\n".join([*lines, f'<p class="notes">{notes}</p>'] if notes else lines)


def _text(text: str) -> str:
    """Escape a text for an element or a quoted attribute.

    Words written from right to left are isolated, so that what follows them stays behind them.
    """
    return escape(RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", one_line(text)))
