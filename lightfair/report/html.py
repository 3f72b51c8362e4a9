"""HTML: a report as one page that needs nothing else, and as a fragment for notebooks.

The page is for those who sign off a model: read on a screen, on a phone or on paper. It has its
style and its pictures inside, runs no script, loads nothing, and forbids the browser to (a content
security policy). Status is said in words, not by colour alone. Everything that comes from a
document is escaped, in text and in attributes, and characters that are no print, such as those
that reverse the direction of writing, are written as escapes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ..core.data.messages import one_line
from .document import Cell, Document, Paragraph, Section, Table
from .format import STATUS, escaped

if TYPE_CHECKING:
    from .svg import Picture

Pictures = Mapping[str, Sequence["Picture"]]

WITHOUT_PLOTS = (
    "This report has no plots, because matplotlib is not installed where it was written. "
    "With the extra plot, as in pip install 'lightfair[plot]', it has."
)

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

ACROSS = 9  # columns that fit on a page; a table of more is cut into several

SAID = (
    6  # findings that are shown; of more, which pictures and tables show better, all but one wait
)

LISTED = 4  # sections from which on a page has a list of them

INTERVAL = re.compile(r"^(\S+) (\[[^\[\]]*\]|\([^()]*\))$")

# Contrast of text to its ground is at least 7:1. Every rule is about .lightfair, so that none
# leaks out of a fragment.
STYLE = """
.lightfair{color:#1b1b1b;background:#fff;font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;text-align:left;
overflow-wrap:break-word}
.lightfair *{box-sizing:border-box}
.lightfair h1{font-size:1.7em;line-height:1.2;margin:0 0 .5em}
.lightfair h2,.lightfair .heading{font-size:1.25em;line-height:1.3;font-weight:600;
margin:2em 0 .5em;padding-top:.4em;border-top:1px solid #bbb}
.lightfair p{margin:.5em 0;max-width:48em}
.lightfair a{color:#0b4a8f}
.lightfair code{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;
font-size:.9em;overflow-wrap:anywhere}
.lightfair pre{background:#f3f3f3;border:1px solid #ccc;padding:.6em .8em;margin:.5em 0;
white-space:pre-wrap;overflow-wrap:anywhere}
.lightfair summary{cursor:pointer;color:#0b4a8f}
.lightfair .findings{margin:.5em 0;padding:0 0 0 1.2em;max-width:60em}
.lightfair .findings li{margin:.2em 0}
.lightfair .verdict,.lightfair .warning{border:1px solid #767676;border-left-width:.5em;
padding:.5em .8em;max-width:none}
.lightfair .verdict strong{display:inline-block;padding:0 .5em;margin-right:.4em;
border:2px solid}
.lightfair .pass{background:#eef6f0;border-color:#0b5a2b}
.lightfair .pass strong{color:#0b5a2b}
.lightfair .fail{background:#fbeeee;border-color:#8a1010;border-left-style:double;
border-left-width:.6em}
.lightfair .fail strong{color:#fff;background:#8a1010;border-color:#8a1010}
.lightfair .insufficient{background:#f7f3e6;border-color:#5c4600;border-left-style:dashed}
.lightfair .insufficient strong{color:#5c4600;border-style:dashed}
.lightfair .warning{background:#f7f3e6;border-color:#5c4600}
.lightfair nav{margin:1em 0;font-size:.95em}
.lightfair nav ul{margin:0;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.2em}
.lightfair .figures{display:flex;flex-wrap:wrap;gap:1em;margin:1em 0}
.lightfair figure{margin:0;flex:0 1 auto;max-width:100%}
.lightfair figure .scroll{margin:0}
.lightfair figcaption{width:0;min-width:100%}
.lightfair svg{display:block;min-width:var(--least);max-width:100%;height:auto}
.lightfair figcaption,.lightfair caption,.lightfair .notes{font-size:.9em;color:#444}
.lightfair caption{text-align:left;padding:.2em 0;font-weight:600;caption-side:top}
.lightfair .scroll{overflow-x:auto;margin:.8em 0;background:
linear-gradient(to left,#fff 40%,#fff0) right/4em 100% no-repeat local,
linear-gradient(to left,#0006,#0000) right/1.2em 100% no-repeat scroll,#fff}
.lightfair .scroll:focus-visible{outline:2px solid #0b4a8f}
.lightfair table{border-collapse:collapse;font-size:.9em;margin:0;border:0;min-width:16em}
.lightfair th,.lightfair td{padding:.25em .6em;text-align:right;vertical-align:top;
border:0;border-bottom:1px solid #ddd;background:none}
.lightfair .scroll table,.lightfair .scroll thead tr,.lightfair .scroll tbody tr{background:none}
.lightfair th{font-weight:600}
.lightfair thead th{vertical-align:bottom;border-bottom:2px solid #666}
.lightfair th:first-child{text-align:left;min-width:6em;max-width:22em;overflow-wrap:anywhere;
position:sticky;left:0;padding-left:0;background:#fff}
.lightfair tbody th{font-weight:400}
.lightfair .part{white-space:nowrap}
.lightfair .notes{margin:.2em 0}
.lightfair sup{line-height:0;padding-left:.1em}
@media (max-width:40em){
.lightfair{font-size:15px}
.lightfair th:first-child{max-width:9em}
.lightfair th,.lightfair td{padding:.25em .4em}
}
@media print{
.lightfair{font-size:10pt}
.lightfair nav{display:none}
.lightfair .scroll{overflow:visible;background:none}
.lightfair svg{min-width:0}
.lightfair table{font-size:8pt}
.lightfair th,.lightfair td{padding:.2em .4em}
.lightfair th:first-child{position:static}
.lightfair thead{display:table-header-group}
.lightfair tr,.lightfair figure,.lightfair .verdict,.lightfair .warning,.lightfair .scroll,
.lightfair li{break-inside:avoid}
.lightfair h1,.lightfair h2,.lightfair h2+p,.lightfair caption,.lightfair thead{break-after:avoid}
.lightfair .figures{gap:.5em 4%}
.lightfair figure{max-width:48%}
.lightfair p{orphans:3;widows:3}
.lightfair .fail strong{color:#8a1010;background:none}
}
"""

PAGE = """
body{margin:0;background:#fff}
main.lightfair{max-width:76rem;margin:0 auto;padding:1.5rem 1rem 3rem}
main.lightfair #verdict+p{font-size:1.15em;font-weight:600}
@media (max-width:40em){main.lightfair{padding:1rem .75rem 2rem}}
@page{size:A4;margin:15mm}
@media print{main.lightfair{max-width:none;padding:0}}
"""


def render(document: Document, figures: Pictures | None = None) -> str:
    """Return a document as a page of its own, HTML 5 in one file.

    Parameters
    ----------
    document
    figures
        Pictures of sections, by the keys of these; see `figures`. None where there can be none, for
        lack of matplotlib: the page says so.
    """
    title = _text(document.title)
    parts = [f"<h1>{title}</h1>"]
    if figures is None:
        parts.append(f"<p>{_text(WITHOUT_PLOTS)}</p>")
    named = [*zip(_anchors(document.sections), document.sections, strict=True)]
    if len(named) >= LISTED:
        links = "".join(
            f'<li><a href="#{name}">{_text(section.title)}</a></li>'
            for name, section in named
            if section.title
        )
        parts.append(f'<nav aria-label="Contents"><ul>{links}</ul></nav>')
    left = dict(figures or {})
    for name, section in named:
        blocks = _blocks(section, left.pop(section.key, ()))
        if section.title:
            head = f'<h2 id="{name}">{_text(section.title)}</h2>'
            blocks = [f'<section aria-labelledby="{name}">', head, *blocks, "</section>"]
        parts += blocks
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
    """Return a document for a notebook: verdicts, sentences and tables, with a style of its own.

    It has no ids and no headings, so that it does not meddle with the page that it is in.
    """
    parts = [f"<style>{STYLE}</style>", f"<p><strong>{_text(document.title)}</strong></p>"]
    for section in document.sections:
        head = [f'<p class="heading">{_text(section.title)}</p>'] if section.title else []
        parts += [*head, *_blocks(section, ())]
    return '<div class="lightfair">\n' + "\n".join(parts) + "\n</div>\n"


def _blocks(section: Section, pictures: Sequence[Picture]) -> list[str]:
    """What a section says: what leads up to its tables, findings, pictures, and then the tables."""
    blocks = section.blocks
    tables = [i for i, block in enumerate(blocks) if isinstance(block, Table)]
    lead = tables[0] if tables else len(blocks)
    found = [b for b in blocks[lead:] if isinstance(b, Paragraph) and b.role == "finding"]
    lines = _in_turn(blocks[:lead], section)
    said = _in_turn(found if len(found) <= SAID else found[-1:], section)
    if len(found) > SAID:  # the last sums up
        summary = f"<summary>{len(found) - 1} sentences on single comparisons</summary>"
        said += ["<details>", summary, *_in_turn(found[:-1], section), "</details>"]
    drawn = [_figure(picture) for picture in pictures if picture.svg is not None]
    if drawn:
        drawn = ['<div class="figures">', *drawn, "</div>"]
    drawn += [f"<p>{_text(picture.caption)}</p>" for picture in pictures if picture.svg is None]
    lines += [*said, *drawn]
    return lines + _in_turn([b for b in blocks[lead:] if b not in found], section)


def _in_turn(blocks: Sequence[Paragraph | Table], section: Section) -> list[str]:
    """Blocks one after the other; findings that follow on each other are a list."""
    lines: list[str] = []
    for is_finding, several in groupby(blocks, _is_finding):
        inside: list[str] = []
        for block in several:
            if isinstance(block, Table):
                inside += _tables(block, section)
            else:
                inside.append(f"<li>{_text(block.text)}</li>" if is_finding else _paragraph(block))
        lines += ['<ul class="findings">', *inside, "</ul>"] if is_finding else inside
    return lines


def _is_finding(block: Paragraph | Table) -> bool:
    return isinstance(block, Paragraph) and block.role == "finding"


def _paragraph(block: Paragraph) -> str:
    text = _text(block.text)
    if block.role == "verdict":
        word = STATUS.get(block.mark, block.mark)
        return f'<p class="verdict {_word(block.mark)}"><strong>{_text(word)}</strong> {text}</p>'
    if block.role == "warning":
        code = f"<code>{_text(block.mark)}</code>"
        return f'<p class="warning"><strong>Warning</strong> ({code}): {text}</p>'
    if block.role == "code":
        lines = "\n".join(map(_text, block.text.split("\n")))
        return f"<pre><code>{lines}</code></pre>"
    return f"<p>{text}</p>"


def _figure(picture: Picture) -> str:
    caption = f"<figcaption>{_text(picture.caption)}</figcaption>"
    return f'<figure><div class="scroll">{picture.svg}</div>{caption}</figure>'


def _tables(table: Table, section: Section) -> list[str]:
    """A table, or where it is too wide for a page several, each with the names of the rows."""
    size = len(table.head)
    title = ": ".join(filter(None, (section.title, table.head[0])))
    if size <= ACROSS:
        return _table(table, title, range(1, size))
    lines = []
    for first in range(1, size, ACROSS - 1):
        columns = range(first, min(first + ACROSS - 1, size))
        caption = f"{title}, columns {columns[0]} to {columns[-1]} of {size - 1}"
        lines += _table(table, caption, columns)
    return lines


def _table(table: Table, title: str, columns: Sequence[int]) -> list[str]:
    """Some columns of a table; why there is a dash is said below it, once for each reason."""
    reasons: dict[str, str] = {}
    head = "".join(f'<th scope="col">{_text(table.head[i])}</th>' for i in (0, *columns))
    lines = [
        f'<div class="scroll" role="group" tabindex="0" aria-label="{_text(title)}">',
        f"<table><caption>{_text(title)}</caption>",
        f"<thead><tr>{head}</tr></thead>",
        "<tbody>",
    ]
    for row in table.rows:
        cells = "".join(f"<td>{_cell(row[i], reasons)}</td>" for i in columns)
        lines.append(f'<tr><th scope="row">{_cell(row[0], reasons)}</th>{cells}</tr>')
    lines += ["</tbody></table>", "</div>"]
    notes = [f"<sup>{mark}</sup> {_text(why)}" for why, mark in reasons.items()]
    return [*lines, *([f'<p class="notes">{"; ".join(notes)}</p>'] if notes else [])]


def _cell(cell: Cell, reasons: dict[str, str]) -> str:
    """The text of a cell, which may break between a number and its interval."""
    match = INTERVAL.match(cell.text)
    parts = match.groups() if match else (cell.text,)
    text = " ".join(f'<span class="part">{_text(part)}</span>' for part in parts)
    if not match:
        text = "–" if cell.text == "-" else _text(cell.text)
    if cell.why is None:
        return text
    mark = reasons.setdefault(cell.why, _letters(len(reasons)))
    return f"{text}<sup>{mark}</sup>"


def _letters(count: int) -> str:
    """a, b, ..., z, aa, ab, ...: beside a dash a digit would look like a negative number."""
    first, last = divmod(count, 26)
    return (_letters(first - 1) if first else "") + chr(ord("a") + last)


def _anchors(sections: Sequence[Section]) -> list[str]:
    """A name for each section, of letters, digits and hyphens, that no other has."""
    names: list[str] = []
    for i, section in enumerate(sections, 1):
        name = _word(section.key) or "section"
        while name in names:
            name = f"{name}-{i}"
        names.append(name)
    return names


def _word(text: str) -> str:
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")


def _text(text: str) -> str:
    return escaped(one_line(text))
