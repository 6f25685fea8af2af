// The public REST API, and nothing else.

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || 'The server answered ' + status);
    this.status = status;
    this.code = body.code || '';
    this.requestID = body.request_id || '';
    this.pointers = (body.errors || []).map((e) => e.pointer);
  }
}

async function call(path, init) {
  let res;
  try {
    res = await fetch(path, { credentials: 'same-origin', ...init });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Problem(0, { detail: 'The server cannot be reached.', code: 'unreachable' });
  }
  let body = {};
  try {
    body = await res.json();
  } catch (err) {
    if (err.name === 'AbortError') throw err;
  }
  if (!res.ok) throw new Problem(res.status, body);
  return body;
}

export const collections = () => call('v1/collections').then((b) => b.collections);

const searchPath = (collection) => `v1/collections/${encodeURIComponent(collection)}/search`;

export function search(collection, query, signal) {
  return call(searchPath(collection), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(query),
    signal,
  });
}

/** The share of each token of the query and of a passage in their cosine. */
export const tokenShares = (query, passage) => call('v1/attention', {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ text: query, input_type: 'query', with: passage }),
});

/** The query as a command for a shell. */
export function curl(collection, query) {
  const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";
  return `curl -s ${quote(new URL(searchPath(collection), document.baseURI).href)} -H 'Content-Type: application/json' -d ${quote(JSON.stringify(query))}`;
}
