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

FOLDED = 16  # sections from which those of metrics are closed

INTERVAL = re.compile(r"(?<=\[)(\S+), (?=\S+\])")

RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"

RIGHT_TO_LEFT = re.compile(f"[{RTL}]+(?:[ -][{RTL}]+)*")  # words in Hebrew, Arabic and the like

# The contrast between text and background is at least 7:1.
STYLE = """
.lightfair{color:#1b1b1b;background:#fff;font:16px/1.5 system-ui,Arial,sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:break-word}
.lightfair h1{font-size:1.7em;line-height:1.2}
.lightfair h2,.lightfair .heading{font-size:1.25em;font-weight:600}
.lightfair details,.lightfair .heading{border-top:1px solid #bbb}
.lightfair summary{cursor:pointer;padding:.5em 0}.lightfair h2{display:inline}
.lightfair p,.lightfair li{max-width:85em}
.lightfair pre{background:#f3f3f3;white-space:pre-wrap;overflow-wrap:anywhere}
.lightfair .verdict,.lightfair .warning{--ink:#5c4600;background:#f7f3e6;
border:1px solid var(--ink);border-left-width:.5em;padding:.5em .8em}
.lightfair .pass{--ink:#0b5a2b;background:#eef6f0}
.lightfair .fail{--ink:#8a1010;background:#fbeeee}
.lightfair .verdict strong{color:var(--ink);border:2px solid;padding:0 .5em;margin-right:.4em}
.lightfair .fail strong{color:#fff;background:var(--ink);border-color:var(--ink)}
.lightfair .tables{display:flex;flex-wrap:wrap;align-items:flex-start;gap:1em 2em;margin:1em 0}
.lightfair figure{margin:0;flex:1 1 20rem;max-width:32rem}.lightfair img{width:100%}
.lightfair figcaption,.lightfair caption,.lightfair .notes{font-size:.9em;color:#444}
.lightfair caption{text-align:left;font-weight:600}
.lightfair .scroll{overflow-x:auto;flex:1 1 auto}
.lightfair table{border-collapse:collapse;font-size:.85em;width:100%;min-width:16em}
.lightfair th,.lightfair td{padding:.25em .5em;text-align:right;vertical-align:top;
font-weight:400;border-bottom:1px solid #ddd}
.lightfair thead th{font-weight:600;vertical-align:bottom;border-bottom:2px solid #666}
.lightfair th:first-child{text-align:left;min-width:8.5em;max-width:20em;overflow-wrap:anywhere;
position:sticky;left:0;background:#fff}
@media print{.lightfair{font-size:10pt}
.lightfair .scroll{overflow:visible}
.lightfair table{font-size:8pt}
.lightfair .scroll,.lightfair tr,.lightfair figure,.lightfair p,.lightfair li{break-inside:avoid}
.lightfair summary,.lightfair caption{break-after:avoid}
.lightfair figure{flex:0 1 46%}}
"""

# Contents: above and kept in view; at the side where it is wide. Print unfolds what is closed.
PAGE = """
body{margin:0}main{max-width:118rem;margin:0 auto;padding:0 1rem 3rem}
nav{position:sticky;top:0;z-index:1;background:#fff;border-bottom:1px solid #bbb}
nav ul{display:flex;gap:.1em 1em;overflow:auto;max-height:5.5em;list-style:none;margin:0;
padding:.5em 0;white-space:nowrap}
details>div{scroll-margin-top:9.5em}
@media screen and (min-width:40em){nav ul{flex-wrap:wrap}}
@media screen and (min-width:70em){td{white-space:nowrap}}
@media screen and (min-width:100em){main{display:flex;gap:2rem}
main>div{flex:1;min-width:0}
nav{align-self:flex-start;border:0;padding-top:1em}
nav ul{flex-direction:column;flex-wrap:nowrap;max-height:94vh}}
@media screen and (prefers-color-scheme:dark){html{background:#191919}
body{background:#fff;min-height:100vh;filter:invert(.9) hue-rotate(180deg)}}
@media print{nav{display:none}summary{list-style:none}
details::details-content{content-visibility:visible;height:auto}}
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
    links = []
    for i, section in enumerate(sections):
        inner = _section(section, (figures or {}).get(section.key, ()))
        if section.title:
            name, closed = _text(section.title), section.key == section.title
            links.append(f'<li><a href="#section-{i}">{name}</a></li>')
            state = "" if closed and len(sections) >= FOLDED else " open"
            head = f"<details{state}><summary><h2>{name}</h2></summary>"
            inner = [f'{head}<div id="section-{i}">', *inner, "</div></details>"]
        parts += inner
    nav = f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>\n'
    body = nav * (len(sections) >= LISTED) + "<div>\n" + "\n".join(parts) + "\n</div>"
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
    """Blocks in order, neighbours of one kind together, with figures before the first table."""
    lines: list[str] = []
    drawn = [_figure(picture) for picture in pictures]
    for kind, blocks in groupby(section.blocks, lambda block: getattr(block, "role", "table")):
        inner = [_table(b, section) if isinstance(b, Table) else _paragraph(b) for b in blocks]
        if kind == "table":
            inner, drawn = [*drawn, *inner], []
        tag = "ul" if kind == "finding" else "div"
        lines += [f'<{tag} class="{kind}s">', *inner, f"</{tag}>"]
    return [*lines, '<div class="tables">', *drawn, "</div>"] if drawn else lines


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
    if picture.source is None:
        return f"<p>{text}</p>"
    image = f'<img src="{picture.source}" alt="{text}">'
    return f"<figure>{image}<figcaption>{text}</figcaption></figure>"


def _table(table: Table, section: Section) -> str:
    """A table that scrolls if it is too wide, and below it the reasons for undefined numbers."""
    reasons = table.reasons()
    title = _text(": ".join(filter(None, (section.title, table.head[0]))))
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in table.head)
    widest = f"max-width:min(100%,{20 * len(table.head)}em)"
    lines = [
        f'<div class="scroll" style="{widest}" role="group" tabindex="0" aria-label="{title}">',
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
    notes = "; ".join(f"<sup>{mark}</sup> {_text(why)}" for why, mark in reasons.items())
    lines += ["</tbody></table>", f'<p class="notes">{notes}</p>' * bool(notes), "</div>"]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Escape a text for an element or a quoted attribute.

    Words written from right to left are isolated, so that what follows them stays behind them.
    """
    return escape(RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", one_line(text)))
