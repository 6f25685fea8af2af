// Why this result: a bar for each of the two searches, the terms with their scores, the tokens by their share in the cosine.
import { attention } from './api.js';
import { el, number, share } from './dom.js';
import { rrfK, shares } from './fusion.js';
import { encodedText, nearestSentence } from './passage.js';
import { appendShares } from './shares.js';
import { state } from './state.js';

/** A bar of two parts, each given as a share of the whole. */
export function mixBar(words, meaning) {
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('i', { class: 'words' }), el('i', { class: 'meaning' }));
  const width = (x) => `${Math.max(0, Math.min(1, x)) * 100}%`;
  bar.children[0].style.width = width(words);
  bar.children[1].style.width = width(meaning);
  return bar;
}

/** A relevance in words: from 0.5 on a hit is more likely relevant than not. */
const inWords = (relevance) => (relevance >= 0.5 ? 'Very relevant' : relevance >= 0.2 ? 'Relevant' : 'Slightly relevant');

/** The relevance of a hit between 0 and 1 as a bar and a number. */
export function relevanceBar(score, { keyword, vector, fusion }) {
  const alone = state.mode === 'keyword' || (score > 1 && !vector && !fusion); // a score of keyword search has no upper bound
  const relevance = Math.max(0, Math.min(1, alone ? keyword?.norm ?? 0 : fusion?.method === 'rrf' ? (score * (rrfK + 1)) / 2 : score));
  const bar = el('span', { class: 'bar', 'aria-hidden': 'true' }, el('i'));
  bar.firstChild.style.width = `${relevance * 100}%`;
  return el('span', { class: 'score', title: `${inWords(relevance)}: ${share(relevance)} of 1` }, bar, el('span', { class: 'value' }, el('span', { class: 'hidden' }, `${inWords(relevance)}: `), share(relevance)));
}

export function explanation(hit, alpha) {
  const { keyword: k, vector: v, fusion: f } = hit.explain;
  const s = shares(hit, alpha);
  const out = [el('h3', null, 'How the relevance was calculated')];
  const rows = el('dl', { class: 'evidence' });
  const row = (name, cls, part, sum, facts) => rows.append(
    el('dt', { class: cls }, name),
    el('dd', null, mixBar(cls === 'words' ? part / s.top : 0, cls === 'meaning' ? part / s.top : 0), el('span', { class: 'sum' }, sum), el('span', { class: 'facts' }, facts)));
  const place = (rank, value) => (rank > 0 ? `, rank ${rank}` : value > 0 ? `, not among its first ${f?.window ?? ''}` : '');
  const sum = (part, weight, value, alone) => {
    if (!(k && (v || f))) return number(alone);
    if (s.method === 'rrf') return part.rank > 0 ? `2 × ${share(weight)} / (${rrfK} + ${part.rank}) = ${number(value)}` : '0';
    return `${share(weight)} × ${share(part.norm)} = ${share(value)}`;
  };
  if (k) {
    const most = k.ceiling > 0 ? ` of at most ${number(k.ceiling)}` : '';
    row('Keyword', 'words', s.words, sum(k, 1 - s.alpha, s.words, k.score), `BM25 ${number(k.score)}${most}${place(k.rank, k.score)}`);
  }
  if (v) {
    const match = v.match === undefined ? '' : `, words alike ${number(v.match)}`;
    row('Semantic', 'meaning', s.meaning, sum(v, s.alpha, s.meaning, v.similarity ?? v.cosine), `cosine ${number(v.cosine)}${match}${place(v.rank, v.cosine)}`);
  } else if (k && f) {
    row('Semantic', 'meaning', 0, '0', 'the document has no text to compare');
  }
  out.push(rows);
  if (k && (v || f)) out.push(el('p', { class: 'facts' }, s.method === 'rrf' ? 'Fused by the ranks in both searches (reciprocal rank fusion).' : `Evidence = ${share(1 - s.alpha)} × keyword + ${share(s.alpha)} × semantic = ${share(s.words + s.meaning)}; the score is the probability of relevance that this stands for.`));
  if (hit.explain.boost) out.push(el('p', { class: 'facts' }, boosted(hit)));
  if (k?.terms?.length) out.push(termsTable(k.terms));
  else if (k) out.push(el('p', { class: 'facts' }, 'None of the query’s words occurs here: vector search alone found it.'));
  return out;
}

/** What boosts made of the score. */
function boosted({ score, explain: { boost: b } }) {
  const parts = b.values.map((v) => `${number(v.weight)} × ${share(v.value)} for ${v.of}`).join(' + ');
  const sum = b.relevance < 0 ? `${number(b.relevance)} + ${number(-b.relevance)} × (${parts})` : `${number(b.relevance)} × (1 + ${parts})`;
  return `Boosted: ${sum} = ${number(score)}${b.rank_before ? `, rank ${b.rank_before} before` : ''}.`;
}

function termsTable(terms) {
  const top = Math.max(...terms.map((t) => t.score), 1e-9);
  const body = el('tbody');
  for (const t of [...terms].sort((a, b) => b.score - a.score)) {
    const bar = mixBar(t.score / top, 0);
    body.append(el('tr', null, el('th', { scope: 'row' }, t.term, t.for ? ` (for ${t.for})` : ''), el('td', { class: 'field' }, t.field || ''),
      el('td', { class: 'n' }, number(t.tf)), el('td', { class: 'n' }, number(t.df)), el('td', { class: 'n' }, number(t.idf)),
      el('td', { class: 'n' }, number(t.score)), el('td', { class: 'b' }, bar)));
  }
  const head = el('tr');
  for (const [name, title, cls] of [['term', 'as it is in the index', ''], ['field', '', 'field'], ['here', 'how often it occurs in this document', 'n'],
    ['docs', 'how many documents have it', 'n'], ['idf', 'how rare it is', 'n'], ['score', 'its share of BM25', 'n'], [el('span', { class: 'hidden' }, 'share'), '', 'b']]) {
    head.append(el('th', { scope: 'col', title: title || null, class: cls || null }, name));
  }
  return el('div', { class: 'scroll' }, el('table', null, el('caption', { class: 'hidden' }, 'Share of each term'), el('thead', null, head), body));
}

/** What of a hit is nearest to the query: its sentence, and its tokens, the stronger in colour the larger their shares. */
export function nearness(query, hit, info) {
  const sentence = nearestSentence(hit);
  const text = el('p', { class: 'shares', dir: 'auto' }, '…');
  const tokens = el('div', null, el('h3', null, 'Which words bring it near in meaning'), text);
  attention({ text: query, input_type: 'query', with: encodedText(hit, info) }).then((answer) => {
    text.textContent = '';
    appendShares(text, answer.with);
    tokens.append(el('p', { class: 'facts' }, `Blue brings it nearer, red holds it apart; the shares of all tokens sum to its cosine with the query, ${number(answer.cosine)}.`));
  }, () => tokens.remove()); // a checkpoint whose vectors are no plain mean has no shares: nothing to show
  return el('div', { class: 'nearness' }, sentence && [el('h3', null, 'The sentence nearest in meaning'), el('blockquote', null, sentence)], tokens);
}
