// One hit: a card with its title, best passage, facts, full text and the reasons for its score.
import { el, number } from './dom.js';
import { equals } from './filter.js';
import { refused } from './fusion.js';
import { appendSnippet, encodedText, sentenceOf } from './passage.js';
import { address, documentAddress } from './state.js';
import { appendMarked, excerpt, markedWords, parseMarked, splitByBytes } from './text.js';
import { textFields, titleOf } from './title.js';
import { trouble } from './trouble.js';
import { explanation, nearness, relevanceBar } from './why.js';

const snippetLength = 300;
const chipLength = 60; // of a string
const mostChips = 6;
const topics = ['tags', 'tag', 'keywords', 'categories', 'category']; // chips before others
const plain = ['lang', 'modified', 'path']; // what every file has: behind them

/** The text of a field, by its dotted name. */
export function fieldText(doc, field) {
  let v = doc;
  if (Object.hasOwn(doc, field)) v = doc[field];
  else for (const part of field.split('.')) v = v && typeof v === 'object' ? v[part] : undefined;
  return typeof v === 'string' ? v : null;
}

/** Whether a document has a passage where a search found it; a field that is no string is not looked into. */
function holds(doc, passage) {
  const text = fieldText(doc, passage.field);
  return text === null || splitByBytes(text, [passage]).some((p) => p.passage && p.text === passage.text);
}

/** Whether a document is, as far as a hit shows it, the one that was found. */
function isOf(doc, hit) {
  return Object.entries(hit.document || {}).every(([k, v]) => JSON.stringify(v) === JSON.stringify(doc[k])) && (hit.passages || []).every((p) => holds(doc, p));
}

function safeURL(doc) {
  for (const f of ['url', 'link', 'source']) {
    if (typeof doc?.[f] !== 'string') continue;
    try {
      const u = new URL(doc[f]);
      if (u.protocol === 'https:' || u.protocol === 'http:') return { field: f, href: u.href };
    } catch { /* not an absolute URL */ }
  }
  return null;
}

export class Card {
  /** actions: {filter(expression), query(), info(), whole(id)}: info is the collection, whole a promise of the document, since hits come without its texts. */
  constructor(hit, actions) {
    this.actions = actions;
    this.openText = false;
    this.openWhy = false;
    this.root = el('li', { class: 'hit' });
    this.root.card = this;
    this.update(hit);
  }

  update(hit, alpha) {
    const shown = JSON.stringify([hit, alpha]);
    if (this.shown === shown) return;
    this.shown = shown;
    this.hit = hit;
    this.alpha = alpha;
    this.words = markedWords(hit, this.actions.query());
    const focused = this.root.contains(document.activeElement) && document.activeElement.dataset.role;
    this.title = titleOf(hit, this.actions.first?.(hit.id));
    this.link = safeURL(hit.document);
    // The article stays the same element: what had the focus before a dialog opened has it again when that is closed.
    this.article ??= el('article', { tabindex: '-1', 'data-role': 'card' });
    this.article.setAttribute('aria-label', this.title.text);
    this.text = el('div', { class: 'panel text', hidden: !this.openText });
    this.why = el('div', { class: 'panel why', hidden: !this.openWhy });
    const chips = this.chips();
    this.article.replaceChildren(...[this.head(), this.snippet(), ...this.asides(), el('div', { class: 'meta' }, this.distance(), this.crumb(), chips, this.foot()), this.text, this.why].filter(Boolean));
    if (!this.article.parentNode) this.root.replaceChildren(this.article);
    this.fill();
    if (focused) this.root.querySelector(`[data-role="${focused}"]`)?.focus({ preventScroll: true });
  }

  head() {
    const h = el('h2', { dir: 'auto', title: this.title.text.length > 120 ? this.title.text : null });
    const into = el('a', { href: documentAddress(this.hit.id), 'data-role': 'open', onclick: () => this.actions.opened?.(this.hit.id) });
    const marked = this.hit.highlights?.[this.title.field]?.[0];
    const parts = marked ? parseMarked(marked) : [];
    if (parts.length && parts.map((p) => p.text).join('') === this.title.text) {
      for (const p of parts) into.append(p.marked ? el('mark', null, p.text) : p.text);
    } else {
      appendMarked(into, this.title.text, this.words);
    }
    h.append(into);
    if (this.hit.loose) h.append(' ', el('span', { class: 'loose', title: 'The phrase occurs only in other forms of its words' }, 'looser match'));
    if (!this.hit.explain) return el('header', null, h); // compared with nothing
    const score = this.alpha === undefined ? this.hit.score : refused(this.hit, this.alpha) ?? this.hit.score;
    return el('header', null, h, relevanceBar(score, this.hit.explain));
  }

  /** Where in the document the best passage is: headings, page and the header of its table, as far as they are known. */
  crumb() {
    const { trail = [], page, header } = this.hit.passages?.[0] ?? {};
    const parts = [...trail.filter((t) => t !== this.title.text), page && `page ${page}`, header].filter(Boolean);
    return parts.length ? el('span', { class: 'crumb', title: parts.join(' › ') }, parts.join(' › ')) : null;
  }

  /** How far away the document is, where the search has a place. */
  distance() {
    const d = this.hit.distance;
    if (d === undefined) return null;
    return el('span', { class: 'crumb' }, d < 1000 ? `${Math.round(d)} m away` : `${(d / 1000).toFixed(d < 100000 ? 1 : 0)} km away`);
  }

  snippet() {
    const p = el('p', { class: 'snippet', dir: 'auto' });
    const best = this.hit.passages?.[0];
    if (best?.text) {
      if (this.shownElsewhere(best)) return null;
      appendSnippet(p, this.hit, this.words, snippetLength);
      return p;
    }
    const field = Object.keys(this.hit.highlights || {}).find((f) => f !== this.title.field);
    if (field) {
      for (const part of parseMarked(this.hit.highlights[field][0])) p.append(part.marked ? el('mark', null, part.text) : part.text);
      return p;
    }
    const text = textFields.map((f) => this.hit.document?.[f]).find((t) => typeof t === 'string' && t);
    if (!text) return null;
    for (const part of excerpt(text, this.words, snippetLength)) appendMarked(p, part.text, this.words);
    return p;
  }

  /** Whether a short passage is all in a chip, the title or the id. */
  shownElsewhere({ field, text }) {
    return text.trim() === this.title.text || text.length <= chipLength && this.hit.document?.[field] === text && (this.chipped.has(field) || field === this.title.field || text === this.hit.id);
  }

  /** What was found in fields that have no passages and are too long for a chip. */
  asides() {
    const covered = new Set((this.hit.passages || []).map((p) => p.field));
    return Object.entries(this.hit.highlights || {})
      .filter(([name]) => typeof this.hit.document?.[name] === 'string' && this.hit.document[name].length > chipLength && name !== this.title.field && !textFields.includes(name) && !covered.has(name))
      .map(([name, snippets]) => el('p', { class: 'snippet', dir: 'auto' }, el('span', { class: 'quiet small' }, `${name} `),
        ...parseMarked(snippets[0]).map((part) => (part.marked ? el('mark', null, part.text) : part.text))));
  }

  /** The fields of the document: those that have words of the query first, then what it is about, then the others as they come, then what every file has. */
  facts() {
    const rank = ([name]) => (this.hit.highlights?.[name] ? 0 : topics.includes(name.toLowerCase()) ? 1 : plain.includes(name) ? 3 : 2);
    return Object.entries(this.hit.document || {}).sort((a, b) => rank(a) - rank(b));
  }

  chips() {
    const chips = [];
    this.chipped = new Set();
    const add = (name, v) => {
      this.chipped.add(name);
      const label = JSON.isRawJSON?.(v) ? v.rawJSON : chipLabel(v, this.link?.field === name);
      const shown = el('span', null);
      appendMarked(shown, label, this.hit.highlights?.[name] ? this.words : null); // a field that is searched by words alone
      const body = [el('span', { class: 'name' }, name), shown];
      if (name.includes('`') || this.actions.info()?.settings.fields?.[name]?.type === 'stored') { // nothing can be filtered by it
        chips.push(el('span', { class: 'chip' }, ...body));
        return;
      }
      chips.push(el('button', { type: 'button', class: 'chip', title: `Only ${name} = ${label}`, onclick: () => this.actions.filter(equals(name, v)) }, ...body));
    };
    for (const [name, v] of this.facts()) {
      if (name === this.title.field || textFields.includes(name) || v === this.hit.id || chips.length >= mostChips) continue;
      if (typeof v === 'number' || typeof v === 'boolean' || (typeof v === 'string' && v && v.length <= chipLength) || JSON.isRawJSON?.(v)) add(name, v);
      else if (Array.isArray(v)) {
        for (const item of v.slice(0, 4)) if (typeof item === 'string' && item && item.length <= 40 && chips.length < mostChips) add(name, item);
      }
    }
    return chips.length ? el('div', { class: 'chips' }, ...chips) : null;
  }

  foot() {
    this.textButton = el('button', { type: 'button', class: 'link', 'data-role': 'text', 'aria-expanded': String(this.openText), onclick: () => this.toggleText() }, 'Full text');
    this.whyButton = this.hit.explain ? el('button', { type: 'button', class: 'link', 'data-role': 'why', 'aria-expanded': String(this.openWhy), onclick: () => this.toggleWhy() }, 'Why this result?') : null;
    const source = this.link ? el('a', { class: 'link', href: this.link.href, target: '_blank', rel: 'noopener noreferrer', onclick: () => this.actions.opened?.(this.hit.id) }, 'Source ↗') : null;
    const id = this.hit.id !== this.title.text ? el('span', { class: 'id', title: this.hit.id }, this.hit.id) : null;
    return el('footer', null, id, source, this.textButton, this.whyButton);
  }

  toggleText() {
    this.openText = !this.openText;
    if (this.openText) this.actions.opened?.(this.hit.id);
    this.fill();
    if (this.openText) this.filled.then(() => this.mark?.scrollIntoView({ block: 'nearest' }));
  }

  toggleWhy() {
    if (!this.whyButton) return;
    this.openWhy = !this.openWhy;
    this.fill();
  }

  /** Where the hit is looked at inside the model; empty where it has no passage. */
  inside() {
    const text = encodedText(this.hit, this.actions.info());
    return text ? address({ view: 'inside', own: { text: text.slice(0, 2000) } }) : '';
  }

  fill() {
    this.text.hidden = !this.openText;
    this.why.hidden = !this.openWhy;
    this.textButton.setAttribute('aria-expanded', String(this.openText));
    this.whyButton?.setAttribute('aria-expanded', String(this.openWhy));
    if (this.openText && !this.text.hasChildNodes()) this.filled = this.fillText();
    if (this.openWhy && !this.why.hasChildNodes()) {
      this.why.append(...explanation(this.hit, this.alpha));
      if (this.hit.explain?.vector && this.hit.passages?.[0]?.text) this.why.append(nearness(this.actions.query(), this.hit, this.actions.info()), el('p', { class: 'facts' }, el('a', { href: this.inside() }, 'Look at it inside the model')));
    }
  }

  /** Fills the full text with the document, which is fetched unless the one that is there is still the hit's. */
  async fillText() {
    const { hit, text } = this;
    this.mark = this.place = null;
    if (!this.document || !isOf(this.document, hit)) {
      text.append(el('p', { class: 'quiet small' }, 'Fetching …'));
      let found;
      try {
        found = await this.actions.whole(hit.id);
      } catch (err) {
        if (this.text === text) text.replaceChildren(trouble(err, () => { text.replaceChildren(); this.fill(); }));
        return;
      }
      this.document = found;
      if (this.text !== text) return; // the card has been updated and fills itself
      text.replaceChildren();
    }
    this.showText(this.document);
  }

  /** The fields that passages lie in, whole, with the passages set off, and all texts of the document; of one without texts, such as a row, its other values too. */
  showText(document) {
    const byField = new Map();
    for (const p of (this.hit.passages || []).filter((p) => holds(document, p))) byField.set(p.field, [...(byField.get(p.field) || []), p]);
    const best = this.hit.passages?.[0];
    for (const f of textFields) if (typeof document[f] === 'string' && !byField.has(f)) byField.set(f, []);
    let bestNode = null;
    for (const [field, passages] of byField) {
      const text = fieldText(document, field);
      const div = el('div', { class: 'full', dir: 'auto', tabindex: '0', role: 'region', 'aria-label': `${field} of ${this.title.text}` });
      const parts = text === null ? passages.map((p) => ({ text: p.text, passage: p })) : splitByBytes(text, passages);
      for (const part of parts) {
        if (!part.passage) {
          appendMarked(div, part.text, this.words);
          continue;
        }
        const span = this.passage(part);
        if (parts.length === 1) span.classList.add('whole');
        if (part.passage === best) bestNode = span;
        div.append(span);
      }
      this.text.append(byField.size > 1 || !textFields.includes(field) ? el('h3', null, field) : '', div);
    }
    const rest = Object.entries(document).filter(([name]) => !byField.has(name));
    if (byField.size && rest.length && !textFields.some((f) => byField.has(f))) this.text.append(el('dl', { class: 'rest' }, rest.flatMap(([name, v]) => [el('dt', null, name), el('dd', { dir: 'auto' }, typeof v === 'string' ? v : JSON.stringify(v))])));
    if (!this.text.hasChildNodes()) this.text.append(el('pre', { class: 'full', tabindex: '0' }, JSON.stringify(document, null, 2)));
    const marks = this.marks();
    if (marks.length > 1) {
      this.place = el('span', { role: 'status' });
      this.text.prepend(el('p', { class: 'marks' }, el('button', { type: 'button', class: 'link', 'data-role': 'mark', title: 'n, and back with N', onclick: () => this.nextMark(1) }, 'Next mark'), this.place));
    }
    // By meaning alone the passage is what was found, whether or not it has a word of the query.
    this.mark = bestNode?.querySelector('mark') ?? (this.hit.explain && !this.hit.explain.keyword ? null : marks[0]) ?? null;
    this.show(this.mark, bestNode);
  }

  marks() {
    return [...this.text.querySelectorAll('.full mark')];
  }

  /** Scrolls the full text to a mark, with the nearest sentence of the best passage above it where there is room; without a mark to the passage. */
  show(mark, passage) {
    this.mark?.classList.remove('at');
    this.mark = mark;
    const near = passage && (passage.querySelector('.near') ?? passage);
    const box = (mark ?? near)?.closest('.full');
    if (!box) return;
    const topOf = (e) => e.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
    let top = topOf(mark ?? near);
    if (mark && passage?.contains(mark) && Math.abs(topOf(near) - top) < box.clientHeight - 96) top = Math.min(top, topOf(near));
    box.scrollTop = Math.max(0, top - 48);
    if (!mark || !this.place) return;
    mark.classList.add('at');
    const all = this.marks();
    this.place.textContent = `${all.indexOf(mark) + 1} of ${all.length}`;
  }

  /** Goes to the next mark of the full text, by -1 to the one before, and round at its ends. */
  nextMark(by) {
    if (!this.openText) this.toggleText();
    else {
      const all = this.marks();
      if (!all.length) return;
      const at = all.indexOf(this.mark);
      this.show(all[at < 0 && by < 0 ? all.length - 1 : (at + by + all.length) % all.length]);
    }
    this.mark?.scrollIntoView({ block: 'nearest' });
  }

  passage({ text, passage }) {
    const span = el('span', { class: passage === this.hit.passages[0] ? 'passage best' : 'passage' });
    if (passage.score !== undefined) span.title = `cosine ${number(passage.score)}`;
    const s = sentenceOf(passage);
    for (const piece of s ? splitByBytes(text, [s]) : [{ text, passage: null }]) {
      const into = piece.passage ? el('span', { class: 'near' }) : span;
      appendMarked(into, piece.text, this.words);
      if (into !== span) span.append(into);
    }
    return span;
  }
}

/** A value as a chip shows it: addresses without their scheme, points in time as a date. */
function chipLabel(v, isLink) {
  if (isLink) return v.replace(/^https?:\/\//, '');
  return /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(v) ? v.slice(0, 10) : String(v);
}
