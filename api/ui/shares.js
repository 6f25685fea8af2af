// Which words of the best passage bring it near to the query: the share of each of its tokens in the cosine.
import { tokenShares } from './api.js';
import { el, number, splitByBytes } from './text.js';

/** A paragraph that fills itself: the passage, each token the stronger in colour the larger its share. */
export function nearness(query, passage) {
  const text = el('p', { class: 'shares' }, '…');
  const box = el('div', { class: 'nearness' }, el('h3', null, 'Which words are near to the query in meaning'), text);
  tokenShares(query, passage).then((answer) => {
    text.textContent = '';
    text.append(...tokens(answer.with));
    box.append(el('p', { class: 'facts' }, `The shares of all tokens of the passage sum to its cosine with the query, ${number(answer.cosine)}.`));
  }, () => box.remove()); // a checkpoint whose vectors are no plain mean has no shares: nothing to show
  return box;
}

function tokens({ text, tokens: list, shares }) {
  const words = list.map((t, i) => ({ start: t.start, end: t.end, share: shares[i], special: t.special })).filter((t) => !t.special && t.end > t.start);
  const top = Math.max(...words.map((w) => w.share), 1e-9);
  return splitByBytes(text, words).map(({ text: piece, passage: word }) => {
    if (!word) return piece;
    const strength = Math.max(0, word.share / top);
    const span = el('span', { class: 'share', title: `share ${number(word.share)}` }, piece);
    span.style.setProperty('--strength', `${Math.round(strength * 70)}%`);
    return span;
  });
}
