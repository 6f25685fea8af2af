// Texts of documents: their marks, their byte offsets, their excerpts.

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes the character references that HTML escaping writes. */
function unescape(s) {
  return s.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(amp|lt|gt|quot|apos));/gi, (all, dec, hex, name) => {
    if (name) return entities[name.toLowerCase()];
    const code = dec ? parseInt(dec, 10) : parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}

/** Whether a query has nothing that documents could be compared with: it is empty, or only excludes. */
export function browses(q) {
  return q.replace(/(^|\s)[-－]["“”„＂][^"“”„＂]*["“”„＂]/g, ' ').trim().split(/\s+/).every((w) => !w || /^[-－]\p{L}/u.test(w));
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

/**
 * The words to mark in a hit, in lower case: those that its marks show, and of the query itself those whose terms the document has. The
 * server marks only where a long text begins, and not every form.
 */
export function markedWords(hit, query) {
  const words = new Set();
  const stems = (hit.explain?.keyword?.terms || []).map((t) => (t.term.length > 3 ? t.term.slice(0, -1) : t.term)); // happy has the term happi
  for (const w of query.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) || []) if (stems.some((s) => w.startsWith(s))) words.add(w);
  const snippets = Object.values(hit.highlights || {}).flat();
  for (const p of hit.passages || []) if (p.marked) snippets.push(p.marked);
  for (const s of snippets) {
    for (const p of parseMarked(s)) if (p.marked) for (const w of p.text.toLowerCase().split(/\s+/)) words.add(w); // several: a synonym
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

function hasWord(text, words) {
  return (text.match(/[\p{L}\p{N}\p{M}]+/gu) || []).some((w) => words.has(w.toLowerCase()));
}

/**
 * Cuts a passage to about limit characters around what matters: its nearest sentence {start, end}, in bytes of text, or else
 * the first marked word; around both, each with half of the room, where the one is far from the other. Returns [{text, near}], near being
 * true for the sentence.
 */
export function excerpt(text, words, limit, sentence) {
  const whole = around(text, words, limit, sentence);
  if (!sentence || !words?.size || whole.some((p) => hasWord(p.text, words))) return whole;
  const parts = splitByBytes(text, [sentence]);
  const at = parts.findIndex((p) => p.passage);
  const far = parts.findIndex((p) => hasWord(p.text, words));
  if (far < 0) return whole;
  const near = around(parts[at].text, null, limit / 2, { start: 0, end: sentence.end - sentence.start });
  const marked = around(parts[far].text, words, limit / 2);
  const [left, right] = far < at ? [marked, near] : [near, marked];
  left.at(-1).text = left.at(-1).text.replace(/ …$/, '');
  right[0].text = right[0].text.replace(/^… /, '');
  return [...(far > at && at > 0 ? [{ text: '… ', near: false }] : []), ...left, { text: ' … ', near: false }, ...right];
}

function around(text, words, limit, sentence) {
  let parts = [{ text, near: false }];
  if (sentence) {
    parts = splitByBytes(text, [sentence]).map((p) => ({ text: p.text, near: p.passage !== null }));
  } else if (words?.size) {
    for (const m of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      if (!words.has(m[0].toLowerCase())) continue;
      parts = [{ text: text.slice(0, m.index) }, { text: text.slice(m.index) }];
      break;
    }
  }
  parts = parts.map((p) => ({ ...p, text: p.text.replace(/\s+/g, ' ') })).filter((p) => p.text !== '');
  const length = parts.reduce((n, p) => n + p.text.length, 0);
  const at = Math.max(0, sentence ? parts.findIndex((p) => p.near) : parts.length - 1);
  const lead = sentence ? limit / 4 : limit * 0.3; // what is shown before: a sentence begins in the first line
  if (parts.length === 0 || length <= limit && (!sentence || at === 0 || parts[0].text.length <= lead)) return parts;
  const focus = parts[at];
  let room = Math.max(0, limit - focus.text.length);
  const out = [];
  if (at > 0) {
    const before = parts[at - 1].text;
    const after = parts[at + 1]?.text.length ?? Math.max(0, focus.text.length - limit * 0.7);
    const take = sentence ? Math.min(before.length, Math.max(0, lead - focus.text.length - after)) : Math.min(before.length, Math.max(Math.floor(lead), room - after));
    const from = take >= before.length ? 0 : before.indexOf(' ', before.length - take) + 1 || before.length;
    out.push({ text: (from > 0 ? '… ' : '') + before.slice(from), near: false });
    room -= before.length - from;
  }
  const shown = clip(focus.text, Math.max(limit * 0.6, limit - (out[0]?.text.length ?? 0)));
  out.push({ ...focus, text: shown });
  if (shown.length === focus.text.length && parts[at + 1] && room > 20) out.push({ text: clip(parts[at + 1].text, room), near: false });
  return out;
}

/** Cuts the end off at a space. */
function clip(text, limit) {
  if (text.length <= limit) return text;
  const to = text.lastIndexOf(' ', limit);
  return text.slice(0, to > limit / 2 ? to : limit) + ' …';
}
