// Text that comes from documents becomes text nodes here and nowhere else does it become anything more.

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes the character references that HTML escaping writes. */
function unescape(s) {
  return s.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (all, dec, hex, name) => {
    if (name) return entities[name.toLowerCase()];
    const code = dec ? parseInt(dec, 10) : parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

/** Splits an HTML-escaped snippet with <mark>…</mark> into [{text, marked}]. */
export function parseMarked(snippet) {
  const parts = [];
  let marked = false;
  for (const piece of snippet.split(/(<\/?mark>)/)) {
    if (piece === '<mark>') marked = true;
    else if (piece === '</mark>') marked = false;
    else if (piece !== '') parts.push({ text: unescape(piece), marked });
  }
  return parts;
}

/** The marked words of a hit, in lower case: the forms in which the query's words occur. */
export function markedWords(hit) {
  const words = new Set();
  const snippets = Object.values(hit.highlights || {}).flat();
  for (const p of hit.passages || []) if (p.marked) snippets.push(p.marked);
  for (const s of snippets) {
    for (const p of parseMarked(s)) if (p.marked) words.add(p.text.toLowerCase());
  }
  return words;
}

/** Appends text to el, with the given words in <mark>. */
export function appendMarked(el, text, words) {
  if (!words || words.size === 0) {
    el.append(text);
    return;
  }
  let plain = '';
  for (const piece of text.split(/([\p{L}\p{N}\p{M}]+)/u)) {
    if (piece !== '' && words.has(piece.toLowerCase())) {
      if (plain) el.append(plain);
      plain = '';
      const mark = document.createElement('mark');
      mark.textContent = piece;
      el.append(mark);
    } else {
      plain += piece;
    }
  }
  if (plain) el.append(plain);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Splits text at passages, whose start and end are byte offsets into its UTF-8. Returns [{text, passage}] in the order of
 * the text, passage being null between passages. What overlaps an earlier passage is left to that one.
 */
export function splitByBytes(text, passages) {
  const bytes = encoder.encode(text);
  const parts = [];
  let at = 0;
  const push = (from, to, passage) => {
    if (to > from) parts.push({ text: decoder.decode(bytes.subarray(from, to)), passage });
  };
  for (const p of [...passages].sort((a, b) => a.start - b.start)) {
    const start = Math.max(p.start, at);
    const end = Math.min(p.end, bytes.length);
    if (end <= start) continue;
    push(at, start, null);
    push(start, end, p);
    at = end;
  }
  push(at, bytes.length, null);
  return parts;
}

/** Cuts text to about limit characters, around the first marked word, at spaces. */
export function excerpt(text, words, limit) {
  text = text.replace(/\s+/g, ' ').trim();
  if (text.length <= limit) return text;
  let first = 0;
  if (words && words.size) {
    for (const m of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      if (words.has(m[0].toLowerCase())) {
        first = m.index;
        break;
      }
    }
  }
  let from = first > limit * 0.6 ? text.lastIndexOf(' ', first - limit * 0.3) + 1 : 0;
  let to = text.lastIndexOf(' ', from + limit);
  if (to <= from) to = from + limit;
  if (text.length - from <= limit) to = text.length;
  return (from > 0 ? '… ' : '') + text.slice(from, to) + (to < text.length ? ' …' : '');
}

/** el('button', {class: 'x', onclick: f}, 'text', node): text is text. */
export function el(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

/** A share of 1, with two decimals. */
export const share = (x) => x.toFixed(2);

/** A number as people read it: 3 significant digits below 100. */
export function number(x) {
  if (typeof x !== 'number' || !isFinite(x)) return '–';
  if (Number.isInteger(x)) return x.toLocaleString('en');
  if (Math.abs(x) >= 100) return x.toFixed(0);
  if (Math.abs(x) >= 10) return x.toFixed(1);
  return Math.abs(x) < 0.095 && x !== 0 ? x.toPrecision(2) : x.toFixed(2);
}
