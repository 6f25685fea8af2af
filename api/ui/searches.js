// What users searched for in a collection and opened, in a dialog.
import * as api from './api.js';
import { ask, el } from './dom.js';

const table = (title, list) => list.length > 0 && el('table', { class: 'searches' },
  el('caption', null, title),
  el('thead', null, el('tr', null, ...['Query', 'Searches', 'Clicked', 'No results', 'Weak', 'Mean position'].map((name) => el('th', { scope: 'col' }, name)))),
  el('tbody', null, ...list.map((q) => el('tr', null, el('th', { scope: 'row', dir: 'auto' }, q.q),
    ...[q.searches, q.clicked, q.no_results, q.weak].map((n) => el('td', null, n.toLocaleString('en'))), el('td', null, q.mean_position?.toFixed(1) ?? '–')))));

/** Opens the dialog. */
export async function openSearches(name) {
  const r = await api.analytics(name);
  const { dialog } = ask('searchesTitle', `Searches in ${name}`,
    el('p', null, `${r.searches.toLocaleString('en')} ${r.searches === 1 ? 'search' : 'searches'} since ${r.since.slice(0, 10)}: ${r.clicked.toLocaleString('en')} with a click, ${r.no_results.toLocaleString('en')} without results, ${r.weak.toLocaleString('en')} whose best result is rather not relevant.`),
    table('Top queries', r.queries), table('Without good results', r.unanswered),
    r.positions.length > 0 && el('p', { class: 'quiet' }, 'Clicks by position: ', r.positions.map((p) => `${p.position === 10 ? '10 and beyond' : p.position}: ${p.clicks.toLocaleString('en')}`).join(' · ')),
    el('p', { class: 'row' }, el('button', { class: 'button', value: 'close' }, 'Close')));
  dialog.classList.add('configuring');
}
