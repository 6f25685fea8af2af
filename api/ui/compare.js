// The compare view: two settings side by side for one query, and how the ranks move from the one to the other.
import * as api from './api.js';
import { count, el, number, share } from './dom.js';
import { texts } from './fields.js';
import { shares } from './fusion.js';
import { appendSnippet } from './passage.js';
import { state, writeURL } from './state.js';
import { appendMarked, browses, markedWords } from './text.js';
import { titleOf } from './title.js';
import { trouble } from './trouble.js';
import { nothingYet, View } from './view.js';
import { mixBar } from './why.js';

const depth = 10; // hits on each side
const below = 50; // how far down the other side a hit is looked for

const defaults = { a: 'keyword', b: 'hybrid' };

/** Settings as they stand in the URL: mode, then alpha, fusion and rerank where they are not the default, joined by dots: hybrid.70.rrf. */
function parse(text) {
  const s = { mode: 'hybrid', alpha: null, fusion: 'relative', rerank: false };
  for (const part of (text || '').split('.')) {
    if (['hybrid', 'semantic', 'keyword'].includes(part)) s.mode = part;
    else if (part === 'rrf') s.fusion = part;
    else if (part === 'rerank') s.rerank = true;
    else if (/^\d{1,3}$/.test(part) && Number(part) <= 100) s.alpha = Number(part) / 100;
  }
  return s;
}

function format(s) {
  const hybrid = s.mode === 'hybrid';
  return [s.mode, hybrid && s.alpha !== null && String(Math.round(s.alpha * 100)), hybrid && s.fusion === 'rrf' && 'rrf', s.rerank && 'rerank'].filter(Boolean).join('.');
}

export class Compare extends View {
  constructor(root, page) {
    super();
    this.page = page;
    this.root = root;
    this.canRerank = false;
    api.info().then((i) => { this.canRerank = Boolean(i.encoder?.reranker); this.controls(); }, () => {});
    this.sides = ['a', 'b'].map((id) => {
      const side = { id, controls: el('div', { class: 'settings', role: 'group', 'aria-label': `Settings of ${id.toUpperCase()}` }), facts: el('p', { class: 'facts', role: 'status' }), list: el('ol', { class: 'column', 'aria-label': `Results of ${id.toUpperCase()}` }) };
      side.root = el('section', { class: 'side' }, el('h2', null, id.toUpperCase()), side.controls, side.facts, side.list);
      return side;
    });
    this.summary = el('p', { class: 'lead', role: 'status' });
    this.message = el('div'); // what went wrong on both sides
    root.append(this.summary, el('div', { class: 'pair' }, ...this.sides.map((s) => s.root)), this.message);
  }

  change({ typed }) {
    this.controls();
    super.change({ typed });
  }

  settings(id) {
    return parse(state.own[id] ?? defaults[id]);
  }

  set(id, change) {
    state.own[id] = format({ ...this.settings(id), ...change });
    writeURL(false);
    this.change({ typed: 'alpha' in change });
  }

  /** The controls of both sides, made anew unless one of them is in use. */
  controls() {
    for (const { id, controls } of this.sides) {
      const s = this.settings(id);
      const key = JSON.stringify([s, this.canRerank]);
      if (controls.dataset.shown === key) continue;
      controls.dataset.shown = key;
      if (controls.contains(document.activeElement) && document.activeElement.type === 'range') {
        controls.querySelector('output').textContent = share(s.alpha);
        continue;
      }
      const focused = controls.contains(document.activeElement) ? document.activeElement.dataset.name : '';
      const choice = (name, label, value, options) => el('label', null, el('span', null, label), el('select', { class: 'select', 'data-name': name, onchange: (e) => this.set(id, { [name]: e.target.value }) },
        ...options.map(([v, text]) => el('option', { value: v, selected: v === value }, text))));
      controls.replaceChildren(...[
        choice('mode', 'Mode', s.mode, [['hybrid', 'Hybrid'], ['semantic', 'Semantic'], ['keyword', 'Keyword']]),
        s.mode === 'hybrid' && choice('fusion', 'Fusion', s.fusion, [['relative', 'by scores'], ['rrf', 'by ranks (RRF)']]),
        s.mode === 'hybrid' && el('label', null, el('span', null, 'Semantic'), el('input', { type: 'range', min: 0, max: 1, step: 0.05, value: s.alpha ?? 0.5, 'data-name': 'alpha', 'aria-label': `Weight of vector search in ${id.toUpperCase()}`, oninput: (e) => this.set(id, { alpha: Number(e.target.value) }) }),
          el('output', null, s.alpha === null ? 'auto' : share(s.alpha))),
        this.canRerank && el('label', null, el('input', { type: 'checkbox', checked: s.rerank, 'data-name': 'rerank', onchange: (e) => this.set(id, { rerank: e.target.checked }) }), el('span', null, 'Re-rank')),
      ].filter(Boolean));
      if (focused) controls.querySelector(`[data-name=${focused}]`)?.focus();
    }
  }

  query(s) {
    const q = { q: state.q, mode: s.mode, limit: s.rerank ? Math.min(below, 30) : below, explain: true, omit_fields: texts(this.page.info()), analytics: false };
    if (s.mode === 'hybrid') Object.assign(q, { fusion: s.fusion }, s.alpha === null ? {} : { alpha: s.alpha });
    if (s.rerank) q.rerank = true;
    if (state.filter) q.filter = state.filter;
    if (state.exact) q.spelling = 'exact';
    if (state.boosts.length) q.boosts = state.boosts;
    return q;
  }

  async ask() {
    const signal = this.begin();
    if (browses(state.q) || !state.c) {
      this.clear();
      this.message.replaceChildren();
      if (!state.c) this.summary.replaceChildren(...nothingYet());
      else this.summary.textContent = 'Type a query with a word above to see it answered in two ways at once.';
      return;
    }
    const answers = await Promise.all(this.sides.map((s) => api.search(state.c, this.query(this.settings(s.id)), signal).catch((err) => ({ err }))));
    if (signal.aborted) return;
    const [a, b] = answers.map((x) => x.hits?.slice(0, depth).map((h) => h.id));
    this.summary.textContent = a && b ? summary(a, b) : '';
    const same = answers.every((x) => x.err && x.err.code === answers[0].err?.code && x.err.message === answers[0].err?.message);
    this.message.replaceChildren(same ? trouble(answers[0].err, () => this.ask()) : '');
    if (same) this.clear();
    else this.sides.forEach((s, i) => this.render(s, answers[i], answers[1 - i]));
  }

  clear() {
    for (const s of this.sides) s.list.replaceChildren(), s.facts.textContent = '';
  }

  render(side, answer, other) {
    if (answer.err) {
      side.facts.textContent = '';
      side.list.replaceChildren(el('li', null, trouble(answer.err, () => this.ask())));
      return;
    }
    side.facts.textContent = `${found(answer)} · ${number(answer.took_ms)} ms${answer.degraded ? ` · ${answer.degraded_reason}` : ''}`;
    const ranks = new Map(other.hits?.map((h, i) => [h.id, i + 1]));
    side.list.replaceChildren(...answer.hits.slice(0, depth).map((hit, i) => this.hit(hit, i + 1, other.hits ? ranks.get(hit.id) ?? 0 : null, side.id)));
    if (!answer.hits.length) side.list.replaceChildren(el('li', { class: 'quiet' }, 'Nothing found.'));
  }

  hit(hit, rank, otherRank, id) {
    const words = markedWords(hit, state.q);
    const title = el('h3', { dir: 'auto', title: titleOf(hit).text.length > 60 ? titleOf(hit).text : null });
    appendMarked(title, titleOf(hit).text, words);
    const text = el('p', { class: 'snippet', dir: 'auto' });
    if (hit.passages[0]?.text) appendSnippet(text, hit, words, 150);
    const s = shares(hit);
    const article = el('article', { 'data-id': hit.id, onpointerenter: () => this.light(hit.id, true), onpointerleave: () => this.light(hit.id, false) },
      el('span', { class: 'rank' }, String(rank)), el('div', null, title, text, el('p', { class: 'score' }, mixBar(s.words / s.top, s.meaning / s.top), el('span', { class: 'value' }, hit.score < 0.01 && hit.score > -0.01 ? number(hit.score) : share(hit.score)), moved(rank, otherRank, id === 'a' ? 'B' : 'A'))));
    return el('li', null, article);
  }

  light(id, on) {
    for (const a of this.root.querySelectorAll('article')) if (a.dataset.id === id) a.classList.toggle('lit', on);
  }
}

/** How many results an answer has, as far as the columns go. */
function found({ hits }) {
  if (hits.length > depth) return `first ${depth}`;
  return count(hits.length, 'result');
}

/** The rank of a hit on the other side. */
function moved(rank, other, name) {
  if (other === null) return null;
  if (other === 0) return el('span', { class: 'moved only', title: `Not among the first ${below} of ${name}` }, `not in ${name}`);
  if (other === rank) return el('span', { class: 'moved same', title: `The same rank in ${name}` }, '= ', el('span', { class: 'hidden' }, `the same rank in ${name}`));
  const up = rank < other;
  return el('span', { class: up ? 'moved up' : 'moved down', title: `Rank ${other} in ${name}` }, `${up ? '▲' : '▼'} ${Math.abs(other - rank)} `, el('span', { class: 'where' }, `#${other} in ${name}`));
}

function summary(a, b) {
  const common = a.filter((id) => b.includes(id)).length;
  const same = a.filter((id, i) => b[i] === id).length;
  const n = Math.max(a.length, b.length);
  if (n === 0) return 'Neither finds anything.';
  if (same === n) return `The same ${n} results in the same order.`;
  return `${common} of the first ${n} results are the same, ${same} of them at the same rank.`;
}
