// The page: the box, the views, the keys. Each view is a module that is loaded when it is first wanted.
import * as api from './api.js';
import { Boost } from './boost.js';
import { Completions } from './complete.js';
import { $, count, el, number } from './dom.js';
import { example, sampleOf } from './fields.js';
import { narrowed, plain } from './filter.js';
import { Results } from './results.js';
import { address, allViews, readURL, setHome, state, views, writeURL } from './state.js';
import { trouble } from './trouble.js';

const ui = Object.fromEntries(['form', 'q', 'mix', 'alpha', 'alphaValue', 'alphaReset', 'controls', 'optionsToggle', 'boostToggle', 'boostRow', 'filterToggle', 'filterRow', 'filter', 'filterError',
  'about', 'collection', 'theme', 'themeName', 'help', 'keys'].map((id) => [id, $(id)]));
const modes = [...document.querySelectorAll('input[name=mode]')];
const filterDelay = 400;

let boost; // its row
let infos = [];
const loaded = {}; // view -> its object: change({typed, delay}), leave()

/** What the views know of the page. */
const page = {
  changed,
  go,
  showAlpha,
  addFilter,
  filterWrong,
  info: () => infos.find((i) => i.name === state.c),
  infos: () => infos,
  refresh,
  upload,
};

const loaders = {
  search: () => loaded.search,
  document: () => part(import('./document.js'), 'document').then((m) => new m.DocumentView($('view-document'), page)),
  compare: () => part(import('./compare.js'), 'compare').then((m) => new m.Compare($('view-compare'), page)),
  map: () => part(import('./map.js'), 'map').then((m) => new m.PassageMap($('view-map'), page)),
  collections: () => part(import('./collections.js'), 'inside', 'collections').then((m) => new m.Collections($('view-collections'), page)),
  inside: () => part(import('./inside.js'), 'inside').then((m) => new m.Inside($('view-inside'), page)),
};

/** A module with its style sheets, which the first paint of the page does not wait for. */
async function part(module, ...sheets) {
  const missing = sheets.map((name) => `ui/${name}.css`).filter((href) => !document.querySelector(`link[href="${href}"]`));
  const [m] = await Promise.all([module, ...missing.map((href) => new Promise((resolve, reject) => {
    document.head.append(el('link', { rel: 'stylesheet', href, onload: resolve, onerror: (e) => { e.target.remove(); reject(e); } }));
  }))]);
  return m;
}

/** The state has changed: into the URL, onto the controls, to the view. typed: by a key. push: worth a step back. */
function changed({ typed = false, delay = 0, push = false } = {}) {
  clearTimeout(changed.later);
  state.shown = 0; // another question begins with its first page
  if (typed && loaded[state.view] && shownView === state.view) {
    loaded[state.view].change({ typed, delay }); // first of all the question goes out; the rest has time while the server works
    changed.later = setTimeout(() => { writeURL(push); showState(); });
    return;
  }
  writeURL(push);
  show({ typed, delay });
}

/** Follows an address of the page. */
function go(url) {
  history.pushState(null, '', url);
  arrive();
}

/** Sends files into the collection of the page, in the view that shows how far they are. */
async function upload(files) {
  state.view = 'collections';
  writeURL(true);
  await show({});
  loaded.collections?.take(files);
}

function arrive() {
  readURL();
  if (loaded.search) loaded.search.answer = null;
  show({});
}

let shownView = '';

async function show(change) {
  showState();
  const name = state.view;
  if (shownView !== name) {
    loaded[shownView]?.leave();
    shownView = name;
    for (const v of allViews) $('view-' + v).hidden = v !== name;
    for (const a of document.querySelectorAll('#views a')) {
      if (a.dataset.view === (name === 'document' ? 'search' : name)) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
    }
    ui.form.hidden = name === 'collections' || name === 'document';
    ui.controls.hidden = ui.optionsToggle.hidden = name !== 'search';
    for (const row of ['filter', 'boost']) openRow(row, isOpen(row));
    document.body.dataset.view = name;
  }
  try {
    loaded[name] ??= await loaders[name]();
  } catch {
    $('view-' + name).replaceChildren(trouble({ message: 'This part of the page could not be loaded.', code: 'unreachable' }, () => show(change)));
    return;
  }
  if (state.view === name) loaded[name].change(change);
}

function showState() {
  if (ui.q.value !== state.q) ui.q.value = state.q;
  if (ui.filter.value !== state.filter) ui.filter.value = state.filter;
  if (state.filter && !plain(state.filter)) openRow('filter', true);
  if (isOpen('filter')) exemplify();
  loaded.search.narrow.show();
  if (state.boosts.length) openRow('boost', true);
  if (state.mode !== 'hybrid' || state.alpha !== null) openOptions(true);
  if (isOpen('boost')) boost.show(page.info());
  for (const m of modes) m.checked = m.value === state.mode;
  ui.mix.classList.toggle('off', state.mode !== 'hybrid');
  ui.alpha.disabled = state.mode !== 'hybrid';
  ui.alphaReset.hidden = state.alpha === null;
  ui.collection.value = state.c;
  showAlpha();
  const info = page.info();
  ui.about.textContent = info ? `${count(info.documents, 'document')}, ${count(info.passages, 'passage')} · ${info.model.name}, ${info.model.dimension} dimensions` : '';
  for (const a of document.querySelectorAll('#views a')) a.href = address({ view: a.dataset.view, own: {} });
  const title = { compare: 'Compare', map: 'Map', inside: 'Inside', collections: 'Collections', document: 'Document' }[state.view];
  document.title = [state.view !== 'collections' && state.q, title, 'searchd'].filter(Boolean).join(' – ');
}

function showAlpha() {
  const a = state.alpha ?? loaded.search?.alpha() ?? null;
  ui.alpha.value = a ?? 0.5;
  ui.alpha.style.setProperty('--at', `${ui.alpha.value * 100}%`);
  ui.alphaValue.textContent = a === null ? 'auto' : number(a);
  ui.alpha.setAttribute('aria-valuetext', a === null ? 'the default of the model' : `${Math.round(a * 100)} % meaning`);
}

/** Opens or closes a row of controls under the box, filter or boost; only the search shows them. */
function openRow(name, open) {
  ui[`${name}Row`].hidden = !open || state.view !== 'search';
  ui[`${name}Toggle`].setAttribute('aria-expanded', String(open));
}

/** Opens or closes the controls under the box where there is little room; elsewhere they are always open. */
function openOptions(open) {
  ui.controls.classList.toggle('open', open);
  ui.optionsToggle.setAttribute('aria-expanded', String(open));
}

/** Shows an example of a filter, by fields that the collection has. */
async function exemplify() {
  const info = page.info();
  const sample = info && await sampleOf(info).catch(() => null);
  ui.filter.placeholder = sample && page.info() === info ? example(info, sample) : '';
}

const isOpen = (name) => ui[`${name}Toggle`].getAttribute('aria-expanded') === 'true';

function filterWrong(message) {
  ui.filterError.textContent = message;
  if (message) {
    openRow('filter', true);
    ui.filter.setAttribute('aria-invalid', 'true');
  } else {
    ui.filter.removeAttribute('aria-invalid');
  }
}

function addFilter(expression) {
  state.filter = narrowed(state.filter, expression);
  changed({ push: true });
}

// ---- colours

function nextTheme() {
  const order = ['', 'light', 'dark'];
  const now = order.indexOf(document.documentElement.dataset.theme || '');
  const next = order[(now + 1) % order.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try {
    localStorage.setItem('searchd.theme', next);
  } catch { /* the choice lives as long as the page */ }
  showTheme();
  window.dispatchEvent(new Event('themechange'));
}

function showTheme() {
  const name = { light: 'light', dark: 'dark' }[document.documentElement.dataset.theme] || 'as the system';
  ui.themeName.textContent = name;
  ui.theme.title = `Colours: ${name}`;
}

// ---- keys

function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
  const writing = e.target.matches('input:not([type=radio], [type=range], [type=checkbox], [type=file]), select, textarea');
  const handled = (state.view === 'search' && (!writing || e.target === ui.q) && loaded.search.key(e, e.target === ui.q)) || pageKey(e, writing);
  if (handled) e.preventDefault();
}

function pageKey(e, writing) {
  if (e.key === 'Escape') {
    if (e.target !== ui.q) {
      if (!ui.form.hidden) ui.q.focus();
    } else if (state.q) {
      state.q = '';
      state.exact = false;
      changed({ push: true });
    }
    return true;
  }
  if (writing) return false;
  if (e.key === '/' && !ui.form.hidden) {
    ui.q.focus();
    ui.q.select();
  } else if (e.key === '?') {
    ui.keys.showModal();
  } else if (e.key >= '1' && e.key <= String(views.length)) {
    document.querySelector(`#views a[data-view=${views[e.key - 1]}]`).click();
  } else {
    return false;
  }
  return true;
}

// ---- start

function wire() {
  new Completions(ui.q, $('suggestions'), () => state.view === 'search' && state.c, (q) => {
    state.q = q;
    state.exact = false;
    changed({ push: true });
  });
  ui.q.addEventListener('input', () => {
    state.q = ui.q.value;
    state.exact = false;
    changed({ typed: true });
  });
  ui.form.addEventListener('submit', (e) => {
    e.preventDefault();
    state.filter = ui.filter.value.trim();
    changed({ push: true });
  });
  for (const m of modes) m.addEventListener('change', () => { state.mode = m.value; changed({ push: true }); });
  ui.alpha.addEventListener('input', () => {
    state.alpha = Number(ui.alpha.value);
    writeURL(false);
    showState();
    loaded.search.slide();
  });
  ui.alphaReset.addEventListener('click', () => { state.alpha = null; changed(); ui.alpha.focus(); });
  ui.optionsToggle.addEventListener('click', () => openOptions(!isOpen('options')));
  ui.filterToggle.addEventListener('click', () => {
    openRow('filter', ui.filterRow.hidden);
    if (ui.filterRow.hidden) return;
    exemplify();
    ui.filter.focus();
  });
  ui.boostToggle.addEventListener('click', async () => {
    openRow('boost', ui.boostRow.hidden);
    if (ui.boostRow.hidden) return;
    await boost.show(page.info());
    ui.boostRow.querySelector('select')?.focus();
  });
  ui.filter.addEventListener('input', () => {
    ui.filterError.textContent = '';
    state.filter = ui.filter.value.trim();
    changed({ delay: filterDelay });
  });
  ui.collection.addEventListener('change', () => { state.c = ui.collection.value; state.sort = ''; loaded.search.answer = null; changed({ push: true }); });
  ui.theme.addEventListener('click', nextTheme);
  ui.help.addEventListener('click', () => ui.keys.showModal());
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', (e) => {
    const a = e.target.closest?.('a[href^="?"]');
    if (!a || e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || a.target) return;
    e.preventDefault();
    go(a.getAttribute('href'));
    if (a.closest('#views') === null) scrollTo(0, 0);
  });
  window.addEventListener('popstate', arrive);
  document.addEventListener('dragover', (e) => { // a file that misses the place for files must not take the page's place
    if (!e.defaultPrevented && e.dataTransfer?.types.includes('Files')) {
      e.preventDefault();
      e.dataTransfer.dropEffect = 'none';
    }
  });
}

/** Reads the collections again, after one was made or changed. */
async function refresh() {
  infos = await api.collections();
  setHome(infos[0]?.name || '');
  const names = infos.map((i) => i.name);
  if (!state.c) state.c = names[0] || '';
  if (state.c && !names.includes(state.c)) names.push(state.c);
  ui.collection.replaceChildren(...names.map((n) => new Option(n, n)));
  ui.collection.hidden = names.length < 2;
  ui.collection.value = state.c;
}

async function start() {
  loaded.search = new Results(page);
  boost = new Boost(ui.boostRow, () => changed({ push: true }));
  wire();
  showTheme();
  readURL();
  showState();
  await begin();
}

/** The collections, and then what the address asks for. */
async function begin() {
  try {
    await refresh();
  } catch (err) {
    loaded.search.fail(err, begin);
    return;
  }
  if (loaded.search.typing) show({ typed: true }); // somebody was faster than the collections
  else arrive();
  if (!ui.form.hidden) ui.q.focus({ preventScroll: true });
}

// The static page is painted before the scripts run.
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
