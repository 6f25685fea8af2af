// A passage of a hit: the part of its text that answers the query best, and within it the nearest sentence.
import { el } from './dom.js';
import { appendMarked, excerpt, splitByBytes } from './text.js';

// The names under which a field is a document's title, in the order in which they are looked for.
export const titleFields = ['title', 'name', 'heading', 'headline', 'subject'];

/** The nearest sentence of a passage in bytes of its own text; null where the answer does not name one, or it is all there is. */
export function sentenceOf(passage) {
  const s = passage?.sentence;
  if (!s || s.start < passage.start || s.end > passage.end || s.end - s.start >= passage.end - passage.start) return null;
  return { start: s.start - passage.start, end: s.end - passage.start };
}

/** The nearest sentence of a hit's best passage, as text; empty where the answer does not name one. */
export function nearestSentence(hit) {
  const best = hit.passages?.[0];
  const s = sentenceOf(best);
  return s ? splitByBytes(best.text, [s]).find((p) => p.passage).text : '';
}

/**
 * The text that the index has for the best passage of a hit: the document's title is put in front of each passage before it is
 * encoded, unless the collection says otherwise.
 */
export function encodedText(hit, info) {
  const best = hit.passages?.[0];
  if (!best?.text) return '';
  const field = titleFields.find((f) => typeof hit.document?.[f] === 'string' && hit.document[f].trim());
  const title = field ? hit.document[field].trim() : '';
  const bare = !title || info?.settings?.passages?.no_title || titleFields.includes(best.field) || best.text.startsWith(title);
  return bare ? best.text : `${title}\n${best.text}`;
}

/** Appends the excerpt of a hit's best passage to into, with both kinds of marks. */
export function appendSnippet(into, hit, words, limit) {
  const best = hit.passages?.[0];
  for (const part of excerpt(best.text, words, limit, sentenceOf(best))) {
    if (!part.near) {
      appendMarked(into, part.text, words);
      continue;
    }
    const near = el('span', { class: 'near', title: 'The sentence nearest to the query in meaning' });
    appendMarked(near, part.text, words);
    into.append(near);
  }
}
