// How two searches become one score: what the server does, done again for hits that are on the page.

export const rrfK = 60;

/** The part of vector search in a hit; undefined for a document without text. */
const vectorOf = (x) => x.vector ?? (x.keyword && x.fusion ? { rank: 0, norm: 0 } : undefined);

/** The probability of relevance for evidence, with the scale and prior of an explanation. */
const probability = (evidence, { scale, prior }) => 1 / (1 + Math.exp(-scale * evidence - prior));

/** The parts of both retrievers in a hit's score, as the server computes them. alpha overrides the one of the answer. */
export function shares(hit, alpha) {
  const x = hit.explain || {};
  const k = x.keyword, v = vectorOf(x), f = x.fusion;
  if (k && v && f?.method === 'rrf') {
    const a = alpha ?? f.alpha;
    const part = (rank, weight) => (rank > 0 ? (2 * weight) / (rrfK + rank) : 0);
    return { words: part(k.rank, 1 - a), meaning: part(v.rank, a), alpha: a, method: 'rrf', top: 2 / (rrfK + 1) };
  }
  const a = k && v ? (alpha ?? f?.alpha ?? 0.5) : v ? 1 : 0;
  return { words: k ? (1 - a) * k.norm : 0, meaning: v ? a * v.norm : 0, alpha: a, method: 'relative', top: 1 };
}

/** The hit's score under another alpha; null where the hit does not tell enough. */
export function refused(hit, alpha) {
  const x = hit.explain;
  if (!x?.keyword || !vectorOf(x) || x.rerank || x.boost) return null;
  const s = shares(hit, alpha);
  return s.method === 'rrf' ? s.words + s.meaning : probability(s.words + s.meaning, x.fusion);
}

/** Hits in the order of another alpha; null where one of them does not tell enough. */
export function refuse(hits, alpha) {
  const scored = hits.map((hit) => ({ hit, score: refused(hit, alpha) }));
  if (scored.some((s) => s.score === null)) return null;
  return scored.sort((a, b) => b.score - a.score).map((s) => s.hit);
}
