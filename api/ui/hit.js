// One hit: a card with its title, best passage, facts, full text and the reasons for its score.
import { nearness } from './shares.js';
import { appendMarked, el, excerpt, markedWords, number, parseMarked, share, splitByBytes } from './text.js';

const titleFields = ['title', 'name', 'heading', 'subject', 'question'];
const textFields = ['text', 'body', 'content', 'abstract', 'summary', 'description', 'answer'];
const rrfK = 60;

/** The shares of the two legs in a hit's score. alpha overrides the one of the answer. */
export function shares(hit, alpha) {
  const x = hit.explain || {};
  const k = x.keyword, v = x.vector, f = x.fusion;
  if (k && v && f && f.method === 'rrf') {
    const a = f.alpha;
    const part = (rank, weight) => (rank > 0 ? (2 * weight) / (rrfK + rank) : 0);
    return { words: part(k.rank, 1 - a), meaning: part(v.rank, a), alpha: a, method: 'rrf', top: 2 / (rrfK + 1) };
  }
  const a = k && v ? (alpha ?? f?.alpha ?? 0.5) : v ? 1 : 0;
  return { words: k ? (1 - a) * k.norm : 0, meaning: v ? a * v.norm : 0, alpha: a, method: 'relative', top: 1 };
}

/** Fused again with another alpha; null where the hit does not tell enough. */
export function refused(hit, alpha) {
  const x = hit.explain;
  if (!x?.keyword || !x?.vector || x.fusion?.method === 'rrf') return null;
  return alpha * x.vector.norm + (1 - alpha) * x.keyword.norm;
}

function fieldText(doc, field) {
  let v = doc;
  if (Object.hasOwn(doc, field)) v = doc[field];
  else for (const part of field.split('.')) v = v && typeof v === 'object' ? v[part] : undefined;
  return typeof v === 'string' ? v : null;
}

function titleOf(hit) {
  for (const f of titleFields) {
    const t = hit.document?.[f];
    if (typeof t === 'string' && t.trim()) return { field: f, text: t };
  }
  return { field: '', text: hit.id };
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
  /** actions: {filter(expression)} */
  constructor(hit, actions) {
    this.actions = actions;
    this.openText = false;
    this.openWhy = false;
    this.root = el('li', { class: 'hit' });
    this.root.card = this;
    this.update(hit);
  }

  update(hit, alpha) {
    const same = this.shown && this.shown === JSON.stringify([hit, alpha]);
    if (same) return;
    this.shown = JSON.stringify([hit, alpha]);
    this.hit = hit;
    this.alpha = alpha;
    this.words = markedWords(hit);
    const focused = this.root.contains(document.activeElement) && document.activeElement.dataset.role;
    this.title = titleOf(hit);
    this.link = safeURL(hit.document);
    const article = el('article', { tabindex: this.root.firstChild?.getAttribute('tabindex') ?? '-1', 'data-role': 'card', 'aria-label': this.title.text },
      this.head(), this.snippet(), this.chips(), this.foot());
    this.text = el('div', { class: 'panel text', hidden: !this.openText });
    this.why = el('div', { class: 'panel why', hidden: !this.openWhy });
    article.append(this.text, this.why);
    this.root.replaceChildren(article);
    this.article = article;
    this.fill();
    if (focused) this.root.querySelector(`[data-role="${focused}"]`)?.focus({ preventScroll: true });
  }

  head() {
    const h = el('h2');
    const into = this.link ? el('a', { href: this.link.href, target: '_blank', rel: 'noopener noreferrer' }) : h;
    const marked = this.hit.highlights?.[this.title.field]?.[0];
    const parts = marked ? parseMarked(marked) : [];
    if (parts.length && parts.map((p) => p.text).join('') === this.title.text) {
      for (const p of parts) into.append(p.marked ? el('mark', null, p.text) : p.text);
    } else {
      appendMarked(into, this.title.text, this.words);
    }
    if (into !== h) h.append(into);
    const s = shares(this.hit, this.alpha);
    const total = s.words + s.meaning;
    const score = this.alpha === undefined ? this.hit.score : refused(this.hit, this.alpha) ?? this.hit.score;
    const bar = this.hit.explain ? mixBar(s.words / s.top, s.meaning / s.top) : null;
    return el('header', null, h,
      el('span', { class: 'score', title: total ? `words ${number(s.words)} + meaning ${number(s.meaning)}` : 'score' }, bar,
        el('span', { class: 'value' }, el('span', { class: 'hidden' }, 'Score '), score < 0.01 ? number(score) : share(score))));
  }

  snippet() {
    const p = el('p', { class: 'snippet' });
    const best = this.hit.passages?.[0];
    if (best?.text) {
      appendMarked(p, excerpt(best.text, this.words, 320), this.words);
      return p;
    }
    const field = Object.keys(this.hit.highlights || {}).find((f) => f !== this.title.field);
    if (field) {
      for (const part of parseMarked(this.hit.highlights[field][0])) p.append(part.marked ? el('mark', null, part.text) : part.text);
      return p;
    }
    const text = textFields.map((f) => this.hit.document?.[f]).find((t) => typeof t === 'string' && t);
    if (!text) return null;
    appendMarked(p, excerpt(text, this.words, 320), this.words);
    return p;
  }

  chips() {
    const chips = [];
    const add = (name, v) => {
      const label = typeof v === 'string' && this.link?.field === name ? v.replace(/^https?:\/\//, '') : String(v);
      const literal = typeof v === 'string' ? `'${v.replaceAll("'", "''")}'` : String(v);
      const body = [el('span', { class: 'name' }, name), label];
      if (!/^[A-Za-z_][\w.]*$/.test(name)) {
        chips.push(el('span', { class: 'chip' }, ...body));
        return;
      }
      chips.push(el('button', { type: 'button', class: 'chip', title: `Only ${name} = ${label}`, onclick: () => this.actions.filter(`${name} = ${literal}`) }, ...body));
    };
    for (const [name, v] of Object.entries(this.hit.document || {})) {
      if (name === this.title.field || textFields.includes(name) || chips.length >= 8) continue;
      if (typeof v === 'number' || typeof v === 'boolean' || (typeof v === 'string' && v && v.length <= 60)) add(name, v);
      else if (Array.isArray(v)) {
        for (const item of v.slice(0, 4)) if (typeof item === 'string' && item && item.length <= 40 && chips.length < 8) add(name, item);
      }
    }
    return chips.length ? el('div', { class: 'chips' }, ...chips) : null;
  }

  foot() {
    const x = this.hit.explain;
    const ranks = [];
    if (x?.keyword) ranks.push(rankLabel('words', x.keyword.rank));
    if (x?.vector) ranks.push(rankLabel('meaning', x.vector.rank));
    this.textButton = el('button', { type: 'button', class: 'link', 'data-role': 'text', 'aria-expanded': String(this.openText), onclick: () => this.toggleText() }, 'Full text');
    this.whyButton = x ? el('button', { type: 'button', class: 'link', 'data-role': 'why', 'aria-expanded': String(this.openWhy), onclick: () => this.toggleWhy() }, 'Why this result') : null;
    const id = this.hit.id !== this.title.text ? el('span', { class: 'id' }, this.hit.id) : null;
    return el('footer', null, this.textButton, this.whyButton, el('span', { class: 'ranks' }, ranks.join(' · ')), id);
  }

  toggleText() {
    this.openText = !this.openText;
    this.fill();
  }

  toggleWhy() {
    if (!this.whyButton) return;
    this.openWhy = !this.openWhy;
    this.fill();
  }

  fill() {
    this.text.hidden = !this.openText;
    this.why.hidden = !this.openWhy;
    this.textButton.setAttribute('aria-expanded', String(this.openText));
    this.whyButton?.setAttribute('aria-expanded', String(this.openWhy));
    if (this.openText && !this.text.hasChildNodes()) this.fillText();
    if (this.openWhy && !this.why.hasChildNodes()) {
      this.why.append(...explanation(this.hit, this.alpha));
      const best = this.hit.passages?.[0];
      if (this.hit.explain?.vector && best?.text) this.why.append(nearness(this.actions.query(), best.text));
    }
  }

  /** The fields that passages lie in, whole, with the passages set off; else all texts of the document. */
  fillText() {
    const byField = new Map();
    for (const p of this.hit.passages || []) byField.set(p.field, [...(byField.get(p.field) || []), p]);
    const best = this.hit.passages?.[0];
    for (const f of textFields) if (typeof this.hit.document?.[f] === 'string' && !byField.has(f)) byField.set(f, []);
    let bestNode = null;
    for (const [field, passages] of byField) {
      const text = fieldText(this.hit.document || {}, field);
      const div = el('div', { class: 'full', tabindex: '0', role: 'region', 'aria-label': `${field} of ${this.title.text}` });
      const parts = text === null ? passages.map((p) => ({ text: p.text, passage: p })) : splitByBytes(text, passages);
      for (const part of parts) {
        if (!part.passage) {
          appendMarked(div, part.text, this.words);
          continue;
        }
        const span = el('span', { class: part.passage === best ? 'passage best' : 'passage' });
        if (part.passage.score !== undefined) span.title = `cosine ${number(part.passage.score)}`;
        appendMarked(span, part.text, this.words);
        div.append(span);
        if (part.passage === best) bestNode = span;
      }
      this.text.append(byField.size > 1 ? el('h3', null, field) : '', div);
    }
    if (!this.text.hasChildNodes()) this.text.append(el('pre', { class: 'full' }, JSON.stringify(this.hit.document, null, 2)));
    const box = bestNode?.parentElement;
    if (box) box.scrollTop = Math.max(0, bestNode.offsetTop - box.offsetTop - 48);
  }
}

function rankLabel(leg, rank) {
  return rank > 0 ? `${leg} #${rank}` : `${leg} –`;
}

/** A bar of two parts, each given as a share of the whole. */
function mixBar(words, meaning) {
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('i', { class: 'words' }), el('i', { class: 'meaning' }));
  const width = (x) => `${Math.max(0, Math.min(1, x)) * 100}%`;
  bar.children[0].style.width = width(words);
  bar.children[1].style.width = width(meaning);
  return bar;
}

function explanation(hit, alpha) {
  const { keyword: k, vector: v, fusion: f } = hit.explain;
  const s = shares(hit, alpha);
  const out = [el('h3', null, 'How the score came about')];
  const rows = el('dl', { class: 'legs' });
  const row = (name, cls, part, sum, facts) => rows.append(
    el('dt', { class: cls }, name),
    el('dd', null, mixBar(cls === 'words' ? part / s.top : 0, cls === 'meaning' ? part / s.top : 0), el('span', { class: 'sum' }, sum), el('span', { class: 'facts' }, facts)));
  const place = (rank) => (rank > 0 ? `rank ${rank}` : `not among its first ${f?.window ?? ''}`);
  const sum = (leg, weight, value, alone) => {
    if (!(k && v)) return number(alone);
    if (s.method === 'rrf') return leg.rank > 0 ? `2 × ${share(weight)} / (${rrfK} + ${leg.rank}) = ${number(value)}` : '0';
    return `${share(weight)} × ${share(leg.norm)} = ${share(value)}`;
  };
  if (k) {
    const most = k.ceiling > 0 ? ` of at most ${number(k.ceiling)}` : '';
    row('Words', 'words', s.words, sum(k, 1 - s.alpha, s.words, k.score), `BM25 ${number(k.score)}${most}, ${place(k.rank)}`);
  }
  if (v) row('Meaning', 'meaning', s.meaning, sum(v, s.alpha, s.meaning, v.cosine), `cosine ${number(v.cosine)}, ${place(v.rank)}`);
  out.push(rows);
  if (k && v) out.push(el('p', { class: 'facts' }, s.method === 'rrf' ? 'Fused by the ranks in both searches (reciprocal rank fusion).' : `Score = ${share(1 - s.alpha)} × words + ${share(s.alpha)} × meaning.`));
  if (k?.terms?.length) out.push(termsTable(k.terms));
  else if (k) out.push(el('p', { class: 'facts' }, 'None of the query’s words occurs here; the meaning alone found it.'));
  return out;
}

function termsTable(terms) {
  const top = Math.max(...terms.map((t) => t.score), 1e-9);
  const body = el('tbody');
  for (const t of [...terms].sort((a, b) => b.score - a.score)) {
    const bar = mixBar(t.score / top, 0);
    body.append(el('tr', null, el('th', { scope: 'row' }, t.term), el('td', { class: 'field' }, t.field || ''),
      el('td', { class: 'n' }, number(t.tf)), el('td', { class: 'n' }, number(t.df)), el('td', { class: 'n' }, number(t.idf)),
      el('td', { class: 'n' }, number(t.score)), el('td', { class: 'b' }, bar)));
  }
  const head = el('tr');
  for (const [name, title, cls] of [['term', 'as it is in the index', ''], ['field', '', 'field'], ['here', 'how often it occurs in this document', 'n'],
    ['docs', 'how many documents have it', 'n'], ['idf', 'how rare it is', 'n'], ['score', 'its share of BM25', 'n'], ['', '', 'b']]) {
    head.append(el('th', { scope: 'col', title: title || null, class: cls || null }, name));
  }
  return el('div', { class: 'scroll' }, el('table', null, el('caption', { class: 'hidden' }, 'Share of each term'), el('thead', null, head), body));
}
