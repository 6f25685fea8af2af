"""Makes made.zip: documents by the usual libraries, and in wants.json what a reader must find.

pip install python-docx openpyxl python-pptx ebooklib xlwt; python make.py

A want is a string of the text, with white space as one space, or "!" and one that must not be there.
"""
import datetime, io, json, zipfile

import docx, ebooklib.epub as epub, openpyxl, openpyxl.chart, openpyxl.comments, openpyxl.styles, pptx, xlwt
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

made, wants = {}, {}


def add(name, data, *want):
    made[name], wants[name] = data, list(want)


def saved(x):
    b = io.BytesIO()
    x.save(b)
    return b.getvalue()


def slim(data, *drop):
    """Drops members that hold no text."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as a, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as b:
        for i in a.infolist():
            if not any(d in i.filename for d in drop):
                b.writestr(zipfile.ZipInfo(i.filename, (2024, 1, 1, 0, 0, 0)), a.read(i), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def word(name, build, *want):
    d = docx.Document()
    build(d)
    add(name + ".docx", slim(saved(d), "thumbnail", "theme", "stylesWithEffects", "fontTable", "webSettings", "printerSettings", "customXml"), *want)


def chain(*steps):
    return lambda d: [s(d) for s in steps]


def merged(d):
    t = d.add_table(2, 3)
    t.cell(0, 0).merge(t.cell(0, 1)).text = "Both halves"
    t.cell(0, 2).text, t.cell(1, 0).text, t.cell(1, 2).text = "third", "left", "right"


def nested(d):
    c = d.add_table(1, 2).cell(0, 0)
    c.text = "outer"
    c.add_table(1, 1).cell(0, 0).text = "inner words"


def header(d):
    s = d.sections[0]
    s.different_first_page_header_footer = True
    s.first_page_header.paragraphs[0].text, s.header.paragraphs[0].text, s.footer.paragraphs[0].text = "Only the first", "On each page", "Acme Limited"
    d.add_paragraph("body")


def runs(d):
    p = d.add_paragraph("un")
    p.add_run("believ").bold = True
    p.add_run("able")
    p.add_run(" x")
    p.add_run("2").font.superscript = True


def box(d):
    r = d.add_paragraph("around").add_run()
    pict = OxmlElement("w:pict")
    content = OxmlElement("w:txbxContent")
    p = OxmlElement("w:p"); ru = OxmlElement("w:r"); t = OxmlElement("w:t"); t.text = "words in a box"
    ru.append(t); p.append(ru); content.append(p); pict.append(content); r._r.append(pict)


def link(d):
    p = d.add_paragraph("See ")
    h = OxmlElement("w:hyperlink"); r = OxmlElement("w:r"); t = OxmlElement("w:t"); t.text = "the manual"
    r.append(t); h.append(r); p._p.append(h)
    p.add_run(" today")


def field(d):
    p = d.add_paragraph("Page ")
    for kind, text in (("begin", None), (None, "PAGEREF secret"), ("separate", None), ("text", "seven"), ("end", None)):
        r = p.add_run()
        if kind == "text":
            r.text = text
        elif kind:
            c = OxmlElement("w:fldChar"); c.set(qn("w:fldCharType"), kind); r._r.append(c)
        else:
            i = OxmlElement("w:instrText"); i.text = text; r._r.append(i)


word("headings", chain(lambda d: d.add_heading("Tyres", 0), lambda d: d.add_heading("Winter", 1), lambda d: d.add_paragraph("Soft rubber."), lambda d: d.add_heading("Studs", 2), lambda d: d.add_paragraph("Steel pins.")), "Winter Soft rubber. Studs Steel pins.")
word("bullets", chain(lambda d: d.add_paragraph("ropes", style="List Bullet"), lambda d: d.add_paragraph("knives", style="List Bullet 2")), "- ropes", "- knives")
word("numbers", chain(lambda d: d.add_paragraph("first step", style="List Number"), lambda d: d.add_paragraph("second step", style="List Number")), "first step", "second step")
word("merged", merged, "Both halves | third", "left | | right", "!Both halves | Both halves")
word("nested", nested, "outer", "inner words")
word("margins", header, "body", "Only the first", "On each page", "Acme Limited")
word("runs", runs, "unbelievable x2")
word("box", box, "around", "words in a box")
word("link", link, "See the manual today")
word("field", field, "Page seven", "!PAGEREF")
word("breaks", chain(lambda d: d.add_paragraph("one\ttab\nnext line"), lambda d: d.add_page_break(), lambda d: d.add_paragraph("after the break")), "one tab next line", "after the break")
word("scripts", chain(lambda d: d.add_paragraph("Größe — 寸法 размер المقاس 👍")), "Größe — 寸法 размер المقاس 👍")
word("comment", lambda d: d.add_comment(d.add_paragraph("Checked text").runs, text="Is this so?", author="Cat"), "Checked text", "Comment (Cat): Is this so?")


def book(name, build, *want):
    w = openpyxl.Workbook()
    build(w, w.active)
    add(name + ".xlsx", slim(saved(w), "theme"), *want)


def rows(*all):
    return lambda w, s: [s.append(r) for r in all]


def formatted(w, s):
    for n, (v, f) in enumerate(((0.125, "0.0%"), (1234, "00000"), (datetime.timedelta(hours=25, minutes=30), "[h]:mm"), (1234567.5, "#,##0.00"), (datetime.date(2024, 3, 15), "yyyy-mm-dd"), (-5, "0;[Red](0)"), (0.5, "# ?/?"), (12, '0 "kg"'))):
        c = s.cell(1, n + 1, v)
        c.number_format = f


def charted(w, s):
    for r in (("Year", "Ducks"), (2019, 120), (2020, 135)):
        s.append(r)
    c = openpyxl.chart.BarChart(); c.title = "Wild ducks"
    c.add_data(openpyxl.chart.Reference(s, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    s.add_chart(c, "D1")


def noted(w, s):
    s["A1"] = "price"; s["A1"].comment = openpyxl.comments.Comment("Ask the shop", "Ann")


def hidden(w, s):
    s["A1"] = "seen"
    other = w.create_sheet("Archive"); other["A1"] = "kept words"; other.sheet_state = "hidden"


def mergedCells(w, s):
    s["A1"] = "Both columns"; s.merge_cells("A1:B1"); s["A2"], s["B2"] = "left", "right"


book("rows", rows(("part", "price"), ("chain", 19.5), ("tyre", 40)), "part | price", "chain | 19.5", "tyre | 40")
book("sheets", lambda w, s: (s.append(("first sheet",)), w.create_sheet("Second").append(("other sheet",))), "first sheet", "Second other sheet")
book("formats", formatted, "12.5% | 01234 | 25:30 | 1,234,567.50 | 2024-03-15 | (5)", "1/2", "12 kg")
book("dates", rows((datetime.datetime(2024, 3, 15, 14, 30), datetime.time(8, 5))), "2024-03-15 14:30", "8:05:00")
book("chart", charted, "Year | Ducks", "2019 | 120", "Wild ducks")
book("notes", noted, "price", "Ask the shop")
book("hidden", hidden, "seen", "kept words")
book("joined", mergedCells, "Both columns", "left | right")
book("booleans", rows(("on", True), ("off", False)), "on | TRUE", "off | FALSE")
book("lines", rows(("one\ntwo", "Größe 寸法 👍")), "one two | Größe 寸法 👍")
book("sparse", lambda w, s: s.__setitem__("ZZ900", "far away"), "far away")
book("ids", rows(("0049123", "1e5", "=1+1 is text", 123456789012345)), "0049123 | 1e5", "123456789012345")
book("titles", lambda w, s: (setattr(w.properties, "title", "Prices of 2024"), s.append(("a", "b"))), "a | b")


def slides(name, build, *want):
    p = pptx.Presentation()
    build(p)
    add(name + ".pptx", slim(saved(p), "thumbnail", "printerSettings", "slideLayouts", "theme"), *want)


def slide(p, layout, title=None, body=None):
    s = p.slides.add_slide(p.slide_layouts[layout])
    if title:
        s.shapes.title.text = title
    if body:
        s.placeholders[1].text = body
    return s


def table(p):
    t = slide(p, 5, "Prices").shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
    for r, c, v in ((0, 0, "part"), (0, 1, "price"), (1, 0, "chain"), (1, 1, "19.50")):
        t.cell(r, c).text = v


def chart(p):
    d = CategoryChartData(); d.categories = ["North", "South"]; d.add_series("Pears", (12.5, 8))
    slide(p, 5, "Sales").shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, Inches(4), Inches(3), d)


def group(p):
    g = slide(p, 6).shapes.add_group_shape()
    g.shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.text = "inside a group"


def described(p):
    s = slide(p, 6).shapes.add_textbox(0, 0, Inches(2), Inches(1))
    s.text_frame.text = "a shape"
    s._element.nvSpPr.cNvPr.set("descr", "A red barn")


def levels(p):
    f = slide(p, 1, "Plan", "top").placeholders[1].text_frame
    q = f.add_paragraph(); q.text = "below"; q.level = 1


def hyper(p):
    q = slide(p, 6).shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame.paragraphs[0]
    q.add_run().text = "See "
    r = q.add_run(); r.text = "the manual"; r.hyperlink.address = "https://example.org/"


slides("title", lambda p: slide(p, 0, "Tidal power", "A survey"), "A survey")
slides("body", lambda p: slide(p, 1, "Costs", "One\nTwo"), "One Two")
slides("order", lambda p: (slide(p, 1, "First", "alpha"), slide(p, 1, "Second", "beta"), slide(p, 1, "Third", "gamma")), "alpha Second beta Third gamma")
slides("table", table, "part | price", "chain | 19.50")
slides("chart", chart, "Pears", "North | 12.5", "South | 8")
slides("group", group, "inside a group")
slides("described", described, "a shape", "A red barn")
slides("levels", levels, "top", "below")
slides("link", hyper, "See the manual")
slides("notes", lambda p: setattr(slide(p, 1, "T", "shown").notes_slide.notes_text_frame, "text", "said only"), "shown", "said only")
slides("boxes", lambda p: [setattr(slide(p, 6).shapes.add_textbox(0, 0, Inches(2), Inches(1)).text_frame, "text", t) for t in ("box one", "box two")], "box one", "box two")
slides("scripts", lambda p: slide(p, 1, "Größe", "寸法 размер 👍\vsoft break"), "寸法 размер 👍 soft break")


def tale(name, build, *want):
    b = epub.EpubBook()
    b.set_identifier("x"); b.set_title("Tales"); b.set_language("en"); b.add_author("A. Keeper")
    chapters = build(b) or []
    for c in chapters:
        b.add_item(c)
    b.toc, b.spine = chapters, ["nav"] + chapters
    b.add_item(epub.EpubNcx()); b.add_item(epub.EpubNav())
    out = io.BytesIO(); epub.write_epub(out, b)
    add(name + ".epub", slim(out.getvalue()), *want)


def chapter(name, html, title="C"):
    c = epub.EpubHtml(title=title, file_name=name, lang="en"); c.content = html
    return c


for name, html, want in (
    ("chapter", "<h1>One</h1><p>Storm.</p>", ["Storm."]), ("lists", "<ul><li>ropes</li><li>knives</li></ul>", ["- ropes", "- knives"]), ("grid", "<table><tr><th>part</th><th>price</th></tr><tr><td>chain</td><td>19</td></tr></table>", ["part | price", "chain | 19"]),
    ("footnote", '<p>Word<a epub:type="noteref" href="#n">1</a> goes on.</p><aside id="n">The note.</aside>', ["goes on.", "The note."]), ("picture", '<p>Before</p><img src="x.png" alt="A red barn"/>', ["Before", "A red barn"]),
    ("entities", "<p>caf&#233; &amp; &#x201c;so&#x201d;</p>", ["café & “so”"]), ("emphasis", "<p>un<b>believ</b>able</p>", ["unbelievable"]), ("poem", "<p>One line<br/>and another</p>", ["One line and another"]),
    ("scripts", "<p>寸法 размер المقاس</p>", ["寸法 размер المقاس"]), ("quote", "<blockquote><p>Said she.</p></blockquote>", ["Said she."]), ("hidden", "<style>p{color:red}</style><script>x()</script><p>Seen.</p>", ["Seen.", "!color:red", "!x()"]),
):
    tale(name, lambda b, html=html: [chapter("a.xhtml", html)], *want)
tale("order", lambda b: [chapter("z.xhtml", "<p>first words</p>"), chapter("a.xhtml", "<p>last words</p>")], "first words last words")
tale("described", lambda b: (b.add_metadata("DC", "description", "A tale of tides"), [chapter("a.xhtml", "<p>Rain.</p>")])[1], "Rain.")


def old(name, build, *want):
    w = xlwt.Workbook(encoding="utf-8")
    build(w, w.add_sheet("Costs"))
    add(name + ".xls", saved(w), *want)


def puts(*cells):
    return lambda w, s: [s.write(r, c, v, *(() if f is None else (xlwt.easyxf(num_format_str=f),))) for r, c, v, f in cells]


old("text", puts((0, 0, "part", None), (0, 1, "price", None), (1, 0, "chain", None), (1, 1, 19.5, None)), "part | price", "chain | 19.5")
old("percent", puts((0, 0, .125, "0.0%")), "12.5%")
old("zeros", puts((0, 0, 1234, "00000")), "01234")
old("hours", puts((0, 0, 25.5 / 24, "[h]:mm")), "25:30")
old("date", puts((0, 0, datetime.date(2024, 3, 15), "yyyy-mm-dd")), "2024-03-15")
old("money", puts((0, 0, 1234567.5, "#,##0.00")), "1,234,567.50")
old("unicode", puts((0, 0, "Größe 寸法 размер", None)), "Größe 寸法 размер")
old("bools", puts((0, 0, True, None), (0, 1, False, None)), "TRUE | FALSE")
old("tall", puts((60000, 3, "far down", None)), "far down")
old("two", lambda w, s: (s.write(0, 0, "first"), w.add_sheet("Other").write(0, 0, "second")), "first", "Other second")
old("merge", lambda w, s: (s.write_merge(0, 0, 0, 2, "Both columns"), s.write(1, 0, "left")), "Both columns", "left")
old("long", puts((0, 0, "word " * 3000 + "end", None)), "word word end")
old("many", lambda w, s: [s.write(r, 0, "row %d" % r) for r in range(2000)], "row 0 row 1 row 2", "row 1999")

with zipfile.ZipFile("made.zip", "w", zipfile.ZIP_DEFLATED) as z:
    for name, data in sorted(made.items()) + [("wants.json", json.dumps(wants, ensure_ascii=False, indent=1).encode())]:
        z.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
