// A passage of a hit: the window of its text that is nearest to the query, and within it the nearest sentence.
import { el } from './dom.js';
import { appendMarked, excerpt, splitByBytes } from './text.js';

/** The nearest sentence of a passage in bytes of its own text; null where the answer does not name one, or it is all there is. */
export function sentenceOf(passage) {
  const s = passage?.sentence;
  if (!s || s.start < passage.start || s.end > passage.end || s.end - s.start >= passage.end - passage.start) return null;
  return { start: s.start - passage.start, end: s.end - passage.start };
}

/** The text in which a hit is nearest to the query: its sentence, else its best passage. */
export function nearestText(hit) {
  const best = hit.passages?.[0];
  if (!best?.text) return '';
  const s = sentenceOf(best);
  return s ? splitByBytes(best.text, [s]).find((p) => p.passage).text : best.text;
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
