// The public REST API, and nothing else.
import { ask, headers } from './key.js';

class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || 'The server answered ' + status);
    this.status = status;
    this.code = body.code || '';
    this.requestID = body.request_id || '';
    this.errors = body.errors || [];
  }
}

/** Whether an answer is about the key: the server wants one, or another for what somebody has pressed; what the page asks by itself goes without. */
function keyWanted(status, code, changes) {
  return status === 401 || (status === 403 && changes && ['insufficient_scope', 'collection_not_allowed'].includes(code));
}

/** fetch with the key, which is asked for where the server wants one. */
async function send(path, init = {}) {
  const changes = Boolean(init.method) && !/(search|batch|similar|map|attention|events)$/.test(path);
  for (let first = true; ; first = false) {
    const sent = headers();
    let res;
    try {
      res = await fetch(path, { credentials: 'same-origin', ...init, headers: { ...init.headers, ...sent } });
    } catch (err) {
      if (err.name === 'AbortError') throw err;
      throw new Problem(0, { detail: 'The server cannot be reached.', code: 'unreachable' });
    }
    if (res.status !== 401 && res.status !== 403) return res;
    const body = await res.json().catch(() => ({}));
    const wrong = res.status === 401 && (!first || sent.Authorization) ? 'The key was not accepted. ' : '';
    if (!keyWanted(res.status, body.code, changes) || !(await ask(wrong + (body.detail || '')))) throw new Problem(res.status, body);
  }
}

/** JSON.parse that keeps integers beyond 2^53 as they are written, as JSON.rawJSON, where the browser can. */
function parseExactly(text) {
  if (!JSON.rawJSON || !/[:,[]-?\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, v, { source }) => (typeof v === 'number' && !Number.isSafeInteger(v) && /^-?\d+$/.test(source) ? JSON.rawJSON(source) : v));
}

async function call(path, init, parse = JSON.parse) {
  const res = await send(path, init);
  let body = {};
  try {
    body = parse(await res.text());
  } catch (err) {
    if (err.name === 'AbortError') throw err;
  }
  if (!res.ok) throw new Problem(res.status, body);
  return body;
}

const post = (path, body, signal, parse) => call(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal }, parse);
const within = (collection, rest = '') => `v1/collections/${encodeURIComponent(collection)}${rest}`;

export const info = () => call('info');
export const collections = () => call('v1/collections').then((b) => b.collections);
export const createCollection = (name, settings) => post('v1/collections', { name, settings });
export const collection = (name) => call(within(name));
export const patchCollection = (name, settings) => call(within(name), { method: 'PATCH', headers: { 'Content-Type': 'application/merge-patch+json' }, body: JSON.stringify({ settings }) });
/** {language, looks_like}: that of the settings, and that of the texts where they tell. */
export const collectionLanguage = (name) => call(within(name, '/language'));
export const reembed = (name, settings) => post(within(name, '/reembed'), { settings });
export const deleteCollection = (name) => call(within(name), { method: 'DELETE' });
export const search = (collection, query, signal) => post(within(collection, '/search'), query, signal, parseExactly);
/** The answers of several searches. Rejects where one of them has none. */
export const searches = (collection, queries, signal) => post(within(collection, '/search/batch'), { searches: queries }, signal, parseExactly).then(({ results }) => {
  const wrong = results.find((r) => r.error);
  if (wrong) throw new Problem(0, wrong.error);
  return results;
});
/** A document by its id. It is searched for, which a key that reads no documents may do, unless it has a field _id of its own. */
export async function fetchDocument(collection, id) {
  const found = await search(collection, { q: '', filter: `_id = '${id.replaceAll("'", "''")}'`, limit: 1, passages: 0, highlight: false });
  const hit = found.hits.find((h) => h.id === id);
  return hit?.document ?? (await call(within(collection, `/documents/${encodeURIComponent(id)}`), undefined, parseExactly)).document;
}
/** The former versions of a document, newest first. */
export const versions = (collection, id) => call(within(collection, `/versions/${encodeURIComponent(id)}`)).then((b) => b.versions);
export const version = (collection, id, revision) => call(within(collection, `/versions/${encodeURIComponent(id)}?revision=${revision}`), undefined, parseExactly);
export const restoreVersion = (collection, id, revision) => post(within(collection, `/versions/${encodeURIComponent(id)}`), { revision });
/** Documents that are similar to others: {ids, limit, filter}. */
export const similar = (collection, request, signal) => post(within(collection, '/similar'), request, signal, parseExactly);
export const suggest = (collection, q, signal) => call(within(collection, `/suggest?${new URLSearchParams({ q })}`), { signal });
/** What users searched for and opened, counted. */
export const analytics = (collection) => call(within(collection, '/analytics'));
/** Reports what somebody did with an answer of a server that logs searches; nothing waits for it. */
export const report = (collection, event) => { post(within(collection, '/events'), event).catch(() => {}); };
export const attention = (request, signal) => post('v1/attention', request, signal);

export const map = (collection, options, signal) => post(within(collection, '/map'), options, signal);

export const collectionStats = (collection) => call(within(collection, '/stats'));
export const cancelTask = (id) => call(`v1/tasks/${encodeURIComponent(id)}`, { method: 'DELETE' });
/** The tasks, latest first. */
export const tasks = () => call('v1/tasks').then((b) => b.tasks);

/** Sends a file to the import and tells how much of it has gone, and each line of the answer as it comes. fetch cannot tell the progress of a body. */
export async function importFile(collection, { type, query }, body, progress, line) {
  const path = within(collection, '/documents/import') + (query.size ? `?${query}` : '');
  for (let first = true; ; first = false) {
    const res = await new Promise((resolve, reject) => {
      const x = new XMLHttpRequest();
      x.open('POST', path);
      x.setRequestHeader('Content-Type', type);
      for (const [name, value] of Object.entries(headers())) x.setRequestHeader(name, value);
      x.upload.onprogress = (e) => progress(e.total ? e.loaded / e.total : 0);
      let read = 0;
      x.onprogress = () => {
        const end = x.responseText.lastIndexOf('\n') + 1;
        if (x.status === 200) for (const l of x.responseText.slice(read, end).split('\n')) if (l) line(JSON.parse(l));
        read = Math.max(read, end);
      };
      x.onload = () => { x.onprogress(); resolve(x); };
      x.onerror = () => reject(new Problem(0, { detail: 'The server cannot be reached.', code: 'unreachable' }));
      x.send(body);
    });
    if (res.status === 200) return;
    let problem = {};
    try {
      problem = JSON.parse(res.responseText);
    } catch { /* not the server's own answer */ }
    const wrong = res.status === 401 && !first ? 'The key was not accepted. ' : '';
    if (!keyWanted(res.status, problem.code, true) || !(await ask(wrong + (problem.detail || '')))) throw new Problem(res.status, problem);
  }
}

/** The query as a command for a shell. */
export function curl(collection, query) {
  const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";
  return `curl -s ${quote(new URL(within(collection, '/search'), document.baseURI).href)} -H 'Content-Type: application/json' -d ${quote(JSON.stringify(query))}`;
}
