// The page: what is asked lives in the URL, what is answered in cards; both meet here.
import * as api from './api.js';
import { Card, refused } from './hit.js';
import { el, number } from './text.js';

const $ = (id) => document.getElementById(id);
const ui = Object.fromEntries(['form', 'box', 'q', 'mix', 'alpha', 'alphaValue', 'alphaReset', 'filterToggle', 'filterRow', 'filter', 'filterError', 'status',
  'timingsToggle', 'timings', 'curl', 'degraded', 'held', 'results', 'more', 'blank', 'about', 'toast', 'collection'].map((id) => [id, $(id)]));
const modes = [...document.querySelectorAll('input[name=mode]')];

const keyDelay = 60; // words, at each key
const pauseDelay = 250; // meaning, when the typing pauses
const pageSize = 10;

const state = { c: '', q: '', mode: 'hybrid', alpha: null, filter: '' };
let infos = [];
let answer = null; // {state, res, preview} that is on the page
let held = null; // an answer that waits until the pointer has left
let running = null; // AbortController
let timers = [];
let lastKey = 0, lastMove = 0;
const cards = new Map(); // id -> Card

// ---- state and URL

function readURL() {
  const p = new URLSearchParams(location.search);
  state.q = p.get('q') || '';
  state.mode = ['hybrid', 'semantic', 'keyword'].includes(p.get('mode')) ? p.get('mode') : 'hybrid';
  const a = parseFloat(p.get('alpha'));
  state.alpha = a >= 0 && a <= 1 ? a : null;
  state.filter = p.get('filter') || '';
  const c = p.get('c');
  state.c = c || infos[0]?.name || '';
}

function writeURL(push) {
  const p = new URLSearchParams();
  if (state.c && state.c !== infos[0]?.name) p.set('c', state.c);
  if (state.q) p.set('q', state.q);
  if (state.mode !== 'hybrid') p.set('mode', state.mode);
  if (state.alpha !== null) p.set('alpha', state.alpha);
  if (state.filter) p.set('filter', state.filter);
  const url = '?' + p;
  if (url === (location.search || '?')) return;
  history[push ? 'pushState' : 'replaceState'](null, '', url);
}

function showState() {
  if (ui.q.value !== state.q) ui.q.value = state.q;
  if (ui.filter.value !== state.filter) ui.filter.value = state.filter;
  if (state.filter) showFilter(true);
  for (const m of modes) m.checked = m.value === state.mode;
  ui.mix.classList.toggle('off', state.mode !== 'hybrid');
  ui.alpha.disabled = state.mode !== 'hybrid';
  showAlpha(state.alpha ?? answer?.res.hits[0]?.explain?.fusion?.alpha ?? null);
  ui.alphaReset.hidden = state.alpha === null;
  ui.collection.value = state.c;
  document.title = state.q ? `${state.q} – searchd` : 'searchd';
}

function showAlpha(a) {
  ui.alpha.value = a ?? 0.5;
  ui.alpha.style.setProperty('--at', `${ui.alpha.value * 100}%`);
  ui.alphaValue.textContent = a === null ? 'auto' : number(a);
  ui.alpha.setAttribute('aria-valuetext', a === null ? 'the default of the model' : `${Math.round(a * 100)} % meaning`);
}

function query(extra) {
  const q = { q: state.q, mode: state.mode };
  if (state.alpha !== null && state.mode === 'hybrid') q.alpha = state.alpha;
  if (state.filter) q.filter = state.filter;
  return { ...q, limit: pageSize, passages: 3, explain: true, ...extra };
}

// ---- asking

function later(delay, f) {
  timers.push(setTimeout(f, delay));
}

/** Something of the question has changed. typed: by a key, so that an answer by words comes first. */
function changed({ typed = false, delay = 0, push = false } = {}) {
  timers.forEach(clearTimeout);
  timers = [];
  running?.abort();
  running = null;
  release(false);
  writeURL(push);
  showState();
  if (!state.q.trim() || !state.c) {
    ui.box.classList.remove('busy');
    answer = null;
    cards.clear();
    render();
    return;
  }
  const slow = state.mode !== 'keyword';
  if (typed && state.mode === 'hybrid') later(keyDelay, () => ask({ preview: true }));
  later(typed ? (slow ? pauseDelay : keyDelay) : delay, () => ask({ preview: false }));
}

async function ask({ preview }) {
  running?.abort();
  const mine = (running = new AbortController());
  const asked = { ...state };
  const busy = setTimeout(() => ui.box.classList.add('busy'), 120);
  try {
    const res = await api.search(asked.c, query(preview ? { mode: 'keyword', alpha: undefined } : {}), mine.signal);
    if (mine !== running) return;
    arrive({ asked, res, preview });
  } catch (err) {
    if (err.name === 'AbortError' || mine !== running || preview) return;
    fail(err);
  } finally {
    clearTimeout(busy);
    if (mine === running && !preview) ui.box.classList.remove('busy');
  }
}

/** Puts an answer on the page, unless that would move the hits under the pointer or the focus. */
function arrive(a) {
  const refines = answer && !answer.error && answer.asked.q === a.asked.q && answer.asked.c === a.asked.c && answer.asked.filter === a.asked.filter;
  const moves = refines && !sameOrder(answer.res.hits, a.res.hits);
  const pointing = ui.results.matches(':hover') && lastMove > lastKey;
  if (moves && (pointing || ui.results.contains(document.activeElement))) {
    held = a;
    ui.held.hidden = false;
    return;
  }
  answer = a;
  render();
}

function release(show) {
  const a = held;
  held = null;
  ui.held.hidden = true;
  if (a && show) {
    answer = a;
    render();
  }
}

function sameOrder(a, b) {
  return a.length === b.length && a.every((h, i) => h.id === b[i].id);
}

async function more() {
  const asked = { ...state };
  const base = answer;
  ui.more.disabled = true;
  try {
    const res = await api.search(asked.c, query({ offset: base.res.hits.length }));
    if (answer !== base) return;
    const known = new Set(base.res.hits.map((h) => h.id));
    const added = res.hits.filter((h) => !known.has(h.id));
    base.res.hits.push(...added);
    base.end = added.length === 0;
    render();
    cards.get(added[0]?.id)?.article.focus();
  } catch (err) {
    toast(err.message);
  } finally {
    ui.more.disabled = false;
  }
}

// ---- showing

function render(alpha) {
  const hits = answer?.res?.hits || [];
  ui.filterError.textContent = '';
  ui.filter.removeAttribute('aria-invalid');
  place(hits, alpha);
  renderStatus();
  renderBlank(hits);
  const total = answer?.res?.total;
  ui.more.hidden = !hits.length || answer.preview || answer.end || hits.length >= Math.min(200, total.value) || hits.length % pageSize !== 0;
  if (state.alpha === null) showAlpha(answer && !answer.preview ? hits[0]?.explain?.fusion?.alpha ?? null : null);
}

/** Makes the list show hits in their order; cards that stay glide to their new places. */
function place(hits, alpha) {
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  const before = new Map();
  for (const [id, card] of cards) if (card.root.isConnected) before.set(id, card.root.getBoundingClientRect().top);
  const keep = new Set(hits.map((h) => h.id));
  for (const id of [...cards.keys()]) if (!keep.has(id)) cards.delete(id);
  const nodes = hits.map((h) => {
    let card = cards.get(h.id);
    if (card) card.update(h, alpha);
    else cards.set(h.id, (card = new Card(h, { filter: addFilter, query: () => state.q })));
    return card.root;
  });
  const focused = document.activeElement;
  const changes = nodes.length !== ui.results.children.length || nodes.some((n, i) => ui.results.children[i] !== n);
  if (changes) ui.results.replaceChildren(...nodes);
  if (focused && focused !== document.activeElement && ui.results.contains(focused)) focused.focus({ preventScroll: true });
  rove();
  if (still || !changes) return;
  for (const [id, top] of before) {
    const node = cards.get(id)?.root;
    const dy = node ? top - node.getBoundingClientRect().top : 0;
    if (dy) node.animate([{ transform: `translateY(${dy}px)` }, { transform: 'none' }], { duration: 180, easing: 'ease-out' });
  }
}

/** Exactly one card can be reached with Tab; the arrows move on. */
function rove(to) {
  const articles = [...ui.results.querySelectorAll('article')];
  const current = to || articles.find((a) => a.contains(document.activeElement)) || articles[0];
  for (const a of articles) a.setAttribute('tabindex', a === current ? '0' : '-1');
}

function renderStatus() {
  const res = answer?.res;
  ui.curl.hidden = !state.q.trim() || !state.c;
  ui.timingsToggle.hidden = !res;
  ui.degraded.hidden = !res?.degraded;
  if (!res) {
    ui.status.textContent = '';
    ui.timings.hidden = true;
    return;
  }
  if (res.degraded) ui.degraded.textContent = `Only one of the two searches could run. ${res.degraded_reason || ''}`.trim();
  const n = res.total.value;
  const of = { keyword: 'by words', vector: 'by meaning', union: '' }[res.total.of] ?? '';
  ui.status.textContent = n === 0 ? 'No results' : `${res.total.relation === 'gte' ? 'At least ' : ''}${n.toLocaleString('en')} ${n === 1 ? 'match' : 'matches'} ${of}`.trim() + (answer.preview ? ' …' : '');
  ui.timingsToggle.textContent = `${number(res.took_ms)} ms`;
  renderTimings(res);
}

function renderTimings(res) {
  const order = ['embed', 'filter', 'keyword', 'vector', 'find', 'fill', 'fuse', 'fetch'];
  const place = (name) => (order.includes(name) ? order.indexOf(name) : order.length);
  const entries = Object.entries(res.timings_ms || {}).filter((e) => e[1] > 0).sort((a, b) => place(a[0]) - place(b[0]));
  const top = Math.max(...entries.map((e) => e[1]), 1e-9);
  const dl = el('dl', { class: 'stages' });
  for (const [name, ms] of entries) {
    const bar = el('i', { 'aria-hidden': 'true' });
    bar.style.width = `${(ms / top) * 100}%`;
    dl.append(el('dt', null, name), el('dd', null, el('span', { class: 'track' }, bar), el('span', { class: 'n' }, ms < 0.01 ? '< 0.01 ms' : `${ms.toFixed(2)} ms`)));
  }
  ui.timings.replaceChildren(el('h3', null, 'Where the time went'), dl);
}

function renderBlank(hits) {
  ui.blank.hidden = hits.length > 0;
  if (hits.length) return;
  const children = [];
  if (!state.c) {
    children.push(el('h2', null, 'Nothing to search yet'), el('p', null, 'Bring documents in: files, folders, or a stream of JSON lines.'),
      el('pre', null, `ingest --server ${location.origin} --collection docs PATH`));
  } else if (!state.q.trim()) {
    const info = infos.find((i) => i.name === state.c);
    if (info?.documents === 0) {
      children.push(el('h2', null, `${state.c} is empty`), el('pre', null, `ingest --server ${location.origin} --collection ${state.c} PATH`));
    } else {
      children.push(el('p', { class: 'quiet' }, 'Type a question, a few words, or an exact name. Results come as you type: words first, then meaning.'));
    }
  } else if (answer) {
    children.push(el('h2', null, 'Nothing found'));
    const tips = [];
    if (state.filter) tips.push(el('li', null, el('button', { type: 'button', class: 'link', onclick: () => { state.filter = ''; changed(); } }, 'Search without the filter')));
    if (state.mode === 'keyword') tips.push(el('li', null, el('button', { type: 'button', class: 'link', onclick: () => { state.mode = 'hybrid'; changed(); } }, 'Search by meaning as well')));
    children.push(tips.length ? el('ul', { class: 'tips' }, ...tips) : el('p', { class: 'quiet' }, 'Try other words.'));
  }
  ui.blank.replaceChildren(...children);
  ui.blank.classList.remove('failed');
}

function fail(err) {
  answer = null;
  if (err.pointers?.some((p) => p.startsWith('/filter'))) {
    showFilter(true);
    cards.clear();
    render();
    ui.filterError.textContent = err.message.replace(/^filter: got .*, allowed: (filter: )?/, '');
    ui.filter.setAttribute('aria-invalid', 'true');
    ui.blank.hidden = true;
    return;
  }
  cards.clear();
  render();
  ui.status.textContent = 'The search failed';
  const facts = [err.code, err.requestID && `request ${err.requestID}`].filter(Boolean).join(' · ');
  ui.blank.replaceChildren(el('h2', null, err.status === 503 || err.status === 429 ? 'The server is busy' : 'The search failed'), el('p', null, err.message),
    el('p', { class: 'quiet small' }, facts), el('button', { type: 'button', class: 'button', onclick: () => changed() }, 'Try again'));
  ui.blank.classList.add('failed');
  ui.blank.hidden = false;
}

function toast(text) {
  ui.toast.textContent = text;
  ui.toast.classList.add('on');
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => ui.toast.classList.remove('on'), 2200);
}

// ---- doing

function showFilter(open) {
  ui.filterRow.hidden = !open;
  ui.filterToggle.setAttribute('aria-expanded', String(open));
}

function addFilter(expression) {
  if (state.filter.includes(expression)) return;
  const either = / or /i.test(state.filter) ? `(${state.filter})` : state.filter;
  state.filter = either ? `${either} AND ${expression}` : expression;
  changed({ push: true });
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', { class: 'hidden' });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy'); // where the page is not served from a secure origin
    area.remove();
  }
  toast('Copied');
}

/** While the slider moves, the hits on the page are fused again from the scores of their two legs. */
function slide() {
  state.alpha = Number(ui.alpha.value);
  if (answer && !answer.preview && answer.res.hits.every((h) => refused(h, 0) !== null)) {
    const score = (h) => refused(h, state.alpha);
    answer.res.hits.sort((a, b) => score(b) - score(a));
    render(state.alpha);
  }
  changed({ delay: pauseDelay });
}

function moveFocus(by) {
  const articles = [...ui.results.querySelectorAll('article')];
  if (!articles.length) return;
  const at = articles.findIndex((a) => a.contains(document.activeElement));
  if (at === 0 && by < 0) {
    ui.q.focus();
    return;
  }
  const next = articles[Math.max(0, Math.min(articles.length - 1, at + by))];
  rove(next);
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

function onKey(e) {
  const inField = e.target.matches('input[type=search], input[type=text], select, textarea');
  const card = e.target.closest?.('.hit')?.card;
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === '/' && !inField) {
    e.preventDefault();
    ui.q.focus();
    ui.q.select();
  } else if (e.key === 'Escape' && (card || inField)) {
    if (card && (card.openText || card.openWhy)) {
      card.openText = card.openWhy = false;
      card.fill();
      card.article.focus();
    } else {
      ui.q.focus();
    }
  } else if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && (card || (e.target === ui.q && e.key === 'ArrowDown'))) {
    if (e.target.matches('.full')) return; // its own scrolling
    e.preventDefault();
    moveFocus(e.key === 'ArrowDown' ? 1 : -1);
  } else if (card && e.target === card.article && e.key === 'Enter') {
    e.preventDefault();
    card.toggleText();
  } else if (card && e.key === 'w') {
    card.toggleWhy();
  }
}

function wire() {
  ui.q.addEventListener('input', () => {
    lastKey = performance.now();
    state.q = ui.q.value;
    changed({ typed: true });
  });
  ui.form.addEventListener('submit', (e) => {
    e.preventDefault();
    state.filter = ui.filter.value.trim();
    changed({ push: true });
  });
  for (const m of modes) m.addEventListener('change', () => { state.mode = m.value; changed({ push: true }); });
  ui.alpha.addEventListener('input', slide);
  ui.alphaReset.addEventListener('click', () => { state.alpha = null; changed(); ui.alpha.focus(); });
  ui.filterToggle.addEventListener('click', () => {
    showFilter(ui.filterRow.hidden);
    if (!ui.filterRow.hidden) ui.filter.focus();
  });
  ui.filter.addEventListener('input', () => {
    ui.filterError.textContent = '';
    state.filter = ui.filter.value.trim();
    changed({ delay: 2 * pauseDelay });
  });
  ui.collection.addEventListener('change', () => { state.c = ui.collection.value; answer = null; changed({ push: true }); about(); });
  ui.timingsToggle.addEventListener('click', () => {
    ui.timings.hidden = !ui.timings.hidden;
    ui.timingsToggle.setAttribute('aria-expanded', String(!ui.timings.hidden));
  });
  ui.curl.addEventListener('click', () => copy(api.curl(state.c, query())));
  ui.more.addEventListener('click', more);
  ui.held.addEventListener('click', () => release(true));
  ui.results.addEventListener('pointerleave', () => { if (!ui.results.contains(document.activeElement)) release(true); });
  ui.results.addEventListener('focusout', (e) => { if (!ui.results.contains(e.relatedTarget) && !ui.results.matches(':hover')) release(true); });
  ui.results.addEventListener('focusin', (e) => rove(e.target.closest('article')));
  document.addEventListener('pointermove', () => { lastMove = performance.now(); }, { passive: true });
  document.addEventListener('keydown', onKey);
  window.addEventListener('popstate', () => { readURL(); answer = null; changed(); });
}

function about() {
  const info = infos.find((i) => i.name === state.c);
  ui.about.textContent = info ? `${info.documents.toLocaleString('en')} documents, ${info.passages.toLocaleString('en')} passages · ${info.model.name}, ${info.model.dimension} dimensions` : '';
}

async function start() {
  wire();
  try {
    infos = await api.collections();
  } catch (err) {
    fail(err);
    return;
  }
  readURL();
  const names = infos.map((i) => i.name);
  if (state.c && !names.includes(state.c)) names.push(state.c);
  ui.collection.replaceChildren(...names.map((n) => el('option', { value: n }, n)));
  ui.collection.hidden = names.length < 2;
  if (!state.c) render();
  else changed();
  about();
  ui.q.focus({ preventScroll: true });
}

start();
