// The share of each token of a text in its cosine with another: exact under mean pooling, and drawn as colour.
import { el, number } from './dom.js';
import { splitByBytes } from './text.js';

/**
 * Appends a text to into, its tokens coloured by their shares: towards the query in one colour, away from it in another.
 * part: {text, tokens: [{start, end, special}], shares}. top: the share that has full colour; default: the largest of this text.
 */
export function appendShares(into, part, top = largest(part)) {
  const words = part.tokens.map((t, i) => ({ ...t, share: part.shares[i] })).filter((t) => !t.special && t.end > t.start);
  for (const { text, passage: word } of splitByBytes(part.text, words)) {
    if (!word) {
      into.append(text);
      continue;
    }
    const strength = Math.min(1, Math.abs(word.share) / top);
    const span = el('span', { class: word.share < 0 ? 'share away' : 'share', title: `${word.token ?? text}: ${number(word.share)}` }, text);
    span.style.setProperty('--strength', `${Math.round(strength * 70)}%`);
    into.append(span);
  }
}

/** The largest share of a text's words, special tokens left out, which often carry the most. */
function largest(part) {
  return Math.max(...part.shares.filter((_, i) => !part.tokens[i].special).map(Math.abs), 1e-9);
}
