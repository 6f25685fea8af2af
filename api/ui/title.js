// What a hit is headed by: its title, or what says of a document without one which it is.
export const titleFields = ['title', 'name', 'heading', 'headline', 'subject', 'question'];
export const textFields = ['text', 'body', 'content', 'abstract', 'summary', 'description', 'answer'];
const hash = /^[0-9a-f]{32}$/; // the id of a record that came without one
const longest = 80; // of a heading that is made

/**
 * {field, text}: the title and its field. Without one the first heading or line, as far as the hit or `first`, the beginning of the
 * text, shows it; then the file name; then the id.
 */
export function titleOf(hit, first = '') {
  for (const f of titleFields) {
    const t = hit.document?.[f];
    if (typeof t === 'string' && t.trim()) return { field: f, text: t };
  }
  const opening = first || hit.passages?.find((p) => p.start === 0 && textFields.includes(p.field))?.text || textFields.map((f) => hit.document?.[f]).find((t) => typeof t === 'string' && t.trim()) || '';
  const line = hit.passages?.[0]?.trail?.[0] || firstLine(opening);
  return { field: '', text: line || (hash.test(hit.id) ? heading(hit) : fileName(hit.id)) || hit.id };
}

/** Whether a hit needs the beginning of its text for a title. */
export const untitled = (hit) => titleOf(hit).text === fileName(hit.id);

/** The first heading of a text in Markdown, else its first line. */
function firstLine(text) {
  const lines = text.slice(0, 2000).split('\n').map((l) => l.trim()).filter(Boolean);
  const line = lines.find((l) => /^#{1,6} /.test(l)) ?? lines[0] ?? '';
  return begin(line.replace(/^#{1,6} +/, ''));
}

/** The last part of an id that is a path. */
const fileName = (id) => id.replace(/\/+$/, '').split('/').pop();

/** The beginning of the text, or of a row the values with words, in their order; where it has none, what was found in it, or its numbers, dates and addresses. */
function heading({ document, passages = [] }) {
  const text = textFields.map((f) => document?.[f]).find((t) => typeof t === 'string' && t.trim()) ?? startOf(passages.find((p) => textFields.includes(p.field) && p.text));
  if (text) return begin(text);
  const values = Object.values(document ?? {}).map((v) => (JSON.isRawJSON?.(v) ? v.rawJSON : typeof v === 'string' ? v.trim() : v)).filter((v) => v !== '' && ['string', 'number', 'boolean'].includes(typeof v));
  const words = values.filter((v) => typeof v === 'string' && /\p{L}{2}/u.test(v) && !/^https?:/.test(v));
  const listed = (some) => begin(some.map((v) => begin(String(v))).join(' · '));
  return listed(words) || begin(startOf(passages.find((p) => /\p{L}{2}/u.test(p.text)))) || listed(values);
}

function startOf(passage) {
  return passage?.text ? (passage.start > 0 ? '… ' : '') + passage.text : '';
}

/** The first words of a text. */
function begin(text) {
  const line = text.slice(0, 4 * longest).trim().replace(/\s+/g, ' ');
  if (line.length <= longest) return line;
  const to = line.lastIndexOf(' ', longest);
  return line.slice(0, to > longest / 2 ? to : longest).replace(/[\uD800-\uDBFF]$/, '') + ' …';
}

/** The title of a point of the map, which the server gives the id of where there is none. */
export const titleOfPoint = (p) => (p.title === p.id && hash.test(p.id) ? begin(startOf(p)) || p.id : p.title);
