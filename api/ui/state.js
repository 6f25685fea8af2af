// What is asked lives in the URL; this is the only module that reads and writes it.

export const views = ['search', 'compare', 'map', 'inside', 'collections']; // in the navigation
export const allViews = [...views, 'document'];
const modes = ['hybrid', 'semantic', 'keyword'];

/**
 * view, c: collection, q, mode, alpha (null: the model's), filter, boosts (as in a search), exact (words as they are spelled), sort (a field with
 * :asc or :desc; empty for the relevance), narrow (whether values to narrow by are shown; null: beside the results where there is room), shown (how many results; 0 for the first page), and `own`: parameters of single views by name.
 */
export const state = { view: 'search', c: '', q: '', mode: 'hybrid', alpha: null, filter: '', boosts: [], exact: false, sort: '', narrow: null, shown: 0, own: {} };

const ownNames = ['doc', 'text', 'a', 'b', 'color', 'layer', 'head'];

let home = ''; // the collection that a URL without one means

export function setHome(name) {
  home = name;
}

/** A boost as the URL writes it: weight, scale, origin and field, joined by commas. */
function parseBoost(text) {
  const [weight, scale, origin, ...field] = text.split(',');
  if (!Number(weight) || !scale || field.length === 0) return null;
  const value = (s) => (isNaN(s) ? s : Number(s));
  return { field: field.join(','), ...(origin && { origin: value(origin) }), scale: value(scale), weight: Number(weight) };
}

export function readURL() {
  const p = new URLSearchParams(location.search);
  state.view = allViews.includes(p.get('view')) ? p.get('view') : 'search';
  state.q = p.get('q') || '';
  state.mode = modes.includes(p.get('mode')) ? p.get('mode') : 'hybrid';
  const a = parseFloat(p.get('alpha'));
  state.alpha = a >= 0 && a <= 1 ? a : null;
  state.filter = p.get('filter') || '';
  state.boosts = p.getAll('boost').map(parseBoost).filter(Boolean);
  state.exact = p.get('spelling') === 'exact';
  state.sort = /.:(asc|desc)$/s.test(p.get('sort') || '') ? p.get('sort') : '';
  state.narrow = { open: true, closed: false }[p.get('narrow')] ?? null;
  state.shown = /^[1-9]\d{1,3}$/.test(p.get('shown') ?? '') ? Number(p.get('shown')) : 0;
  state.c = p.get('c') || home;
  state.own = {};
  for (const name of ownNames) if (p.get(name) !== null) state.own[name] = p.get(name);
}

/** The address of a document, found by the query of the state or by none. */
export const documentAddress = (id, changes = {}) => address({ view: 'document', own: { doc: id }, ...changes });

/** The page's address with some of the state changed. */
export function address(changes = {}) {
  const s = { ...state, ...changes };
  const p = new URLSearchParams();
  if (s.view !== 'search') p.set('view', s.view);
  if (s.c && s.c !== home) p.set('c', s.c);
  if (s.q) p.set('q', s.q);
  if (s.mode !== 'hybrid') p.set('mode', s.mode);
  if (s.alpha !== null) p.set('alpha', s.alpha);
  if (s.filter) p.set('filter', s.filter);
  for (const b of s.boosts) p.append('boost', [b.weight, b.scale, b.origin ?? '', b.field].join(','));
  if (s.exact) p.set('spelling', 'exact');
  if (s.sort) p.set('sort', s.sort);
  if (s.narrow !== null) p.set('narrow', s.narrow ? 'open' : 'closed');
  if (s.shown) p.set('shown', s.shown);
  for (const name of ownNames) if (s.own[name] !== undefined && s.own[name] !== '') p.set(name, s.own[name]);
  return '?' + p;
}

export function writeURL(push) {
  const url = address();
  if (url === (location.search || '?')) return;
  history[push ? 'pushState' : 'replaceState'](null, '', url);
}
