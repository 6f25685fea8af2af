"""Batches of pairs of texts, from what prepare.py wrote."""
import queue
import threading

import numpy as np
import scipy.sparse

# How much each kind of pair counts. Sizes do not match worth: dictionaries would swamp the rest.
WEIGHTS = {
    "simplewiki/title-lead": 13, "simplewiki/heading-paragraph": 14, "simplewiki/synthetic-question": 7, "enwiki_part/title-lead": 1,
    "arxiv/title-abstract": 16, "scitldr/summary": 3, "scitldr/title-abstract": 2,
    "docs_cpp/heading-paragraph": 5, "docs_powershell/heading-paragraph": 3, "docs_peps/heading-paragraph": 4,
    "docs_owasp/heading-paragraph": 2, "tldr/command": 2, "tldr/term-def": 1, "factbook/heading-paragraph": 1,
    "medquad/question-answer": 7, "opentriviaqa/question-answer": 4, "squad_part/question-answer": 7,
    "wordnet/term-def": 8, "wordnet/def-example": 4, "wordnet/hypernym-gloss": 2, "wordnet/synonym": 2,
    "wordset/term-def": 4, "wordset/def-example": 2, "simpledict/term-def": 2, "simpledict/def-example": 1,
    "wiki_split/paraphrase": 4, "bible_parallel/paraphrase": 2, "graded-stsb_train/sts": 1.5,
}
CROPPED = {"simplewiki": 40, "enwiki_part": 12, "arxiv": 18, "scitldr": 3, "docs_cpp": 6, "docs_powershell": 3, "docs_peps": 4,
           "docs_owasp": 2, "medquad": 6, "speeches": 4, "squad_part": 2}
# How many of a batch of graded pairs come from where: people (STS-B), what alike.py made, and pairs of one meaning with the likeness they get.
GRADED = {"people": 88, "definition": 36, "disturbed": 16}
ALIKE = {"wiki_split/paraphrase": (16, 0.98), "bible_parallel/paraphrase": (16, 0.95)}

CUT_OUT = (8, 0.9)  # how many of either are cut, and how alike a definition is to itself without a piece
LOST, LESS = 0.1, 0.15  # see Corpus.rated
# How often a word is said as what stands beside it in pairs of this kind, and as what stands before it; see Corpus.other_words.
SAID_AS = {"wordnet/synonym": (3, 3), "wordnet/hypernym-gloss": (1, 0.3), "wordnet/term-def": (1, 0), "wordset/term-def": (1, 0),
           "simpledict/term-def": (1, 0)}
LONGEST_SAYING = (9, 14)  # words, ids
COMMON_TOKENS = 150  # the first of the vocabulary are signs, letters and the commonest words, which are left as they are


class Corpus:
    def __init__(self, path, seed=0):
        d = np.load(path)
        self.vocab = [str(w) for w in d["vocab"]]
        self.rng = np.random.default_rng(seed)
        self.a = (d["a_ids"], d["a_off"])
        self.b = (d["b_ids"], d["b_off"])
        kinds = [str(k) for k in d["kinds"]]
        self.by_kind = {k: np.flatnonzero(d["kind"] == i) for i, k in enumerate(kinds)}
        self.kinds = [k for k in kinds if WEIGHTS.get(k) and len(self.by_kind[k])]
        self.share = np.array([WEIGHTS[k] for k in self.kinds])
        self.share = self.share / self.share.sum()
        self.graded = ((d["ga_ids"], d["ga_off"]), (d["gb_ids"], d["gb_off"]), d["score"])
        self.graded_by = {k: np.flatnonzero(d["origin"] == i) for i, k in enumerate(GRADED)}
        # Passages: the plain ones and the long sides of pairs. (0, i) is a passage, (1, i) the second side of pair i.
        self.t = (d["t_ids"], d["t_off"])
        sources = [str(s) for s in d["sources"]]
        pools = {s: [(0, i) for i in np.flatnonzero(d["source"] == n)] for n, s in enumerate(sources)}
        long = np.diff(d["b_off"]) >= 40
        for k, ix in self.by_kind.items():
            pools.setdefault(k.split("/")[0], []).extend((1, i) for i in ix[long[ix]])
        names = [s for s in CROPPED if pools.get(s)]
        self.pools = [np.array(pools[s]) for s in names]
        self.pool_share = np.array([CROPPED[s] for s in names], float)
        self.pool_share /= self.pool_share.sum()
        n = np.bincount(self.b[0], minlength=len(self.vocab)) + np.bincount(self.t[0], minlength=len(self.vocab)) + 1.0
        self.frequency = n / n.sum()
        self.rarity = np.sqrt(1e-3 / (1e-3 + self.frequency)) * np.minimum(1, 3e-5 / self.frequency) ** 0.3
        self.groups = []  # see cluster
        self.continues = np.array([w.startswith("##") for w in self.vocab])
        self.letters = np.array([len(w.replace("##", "")) + (not w.startswith("##")) for w in self.vocab], float)
        self.said_as = self.other_words()
        self.terms = np.concatenate([ix for k, ix in self.by_kind.items() if k.endswith("term-def")])

    @staticmethod
    def row(side, i):
        ids, off = side
        return ids[off[i] : off[i + 1]]

    def pairs(self, n):
        """n pairs: half of the batches from one kind, where the others are harder to tell apart."""
        if self.rng.random() < 0.5:
            own = self.by_kind[self.rng.choice(self.kinds, p=self.share)]
            ix = self.rng.choice(own, min(n, len(own)), replace=False)
        else:
            ix = np.concatenate([self.rng.choice(self.by_kind[k], min(m, len(self.by_kind[k])), replace=False)
                                 for k, m in zip(self.kinds, self.rng.multinomial(n, self.share))])
        return [self.row(self.a, i) for i in ix], [self.row(self.b, i) for i in ix]

    def crops(self, n):
        """n passages, each with something said in it: a span, some of its rarer words, or another span."""
        a, b = [], []
        for p, m in enumerate(self.rng.multinomial(n, self.pool_share)):
            pool = self.pools[p]
            for which, i in pool[self.rng.integers(len(pool), size=m)]:
                row = self.row(self.t if which == 0 else self.b, i)
                x, y = self.crop(row)
                a.append(x)
                b.append(y)
        return a, b

    def other_words(self):
        """{token: (rows of ids, probabilities)}: what a word may be said as instead, by the dictionaries: a synonym, a word that is wider or
        narrower, a short definition. Of words that are one token; a plural is said as its singular is."""
        colon, plain = self.vocab.index(":"), np.array([w.isalpha() for w in self.vocab])
        sayings = {}

        def say(word, saying, weight):
            if len(word) != 1 or not plain[word[0]] or word[0] < COMMON_TOKENS or not 0 < len(saying) <= LONGEST_SAYING[1]:
                return
            if weight and word[0] not in saying and (~self.continues[saying]).sum() <= LONGEST_SAYING[0]:
                of = sayings.setdefault(int(word[0]), {})
                of[saying.tobytes()] = of.get(saying.tobytes(), 0) + weight

        for kind, (forth, back) in SAID_AS.items():
            for i in self.by_kind.get(kind, ()):
                a, b = self.row(self.a, i), self.row(self.b, i)
                if kind.endswith("gloss"):  # a term, a colon and its definition on either side
                    a, b = (r[: np.flatnonzero(r == colon)[0]] if colon in r else r[:0] for r in (a, b))
                say(a, b, forth)
                say(b, a, back)
        number = {w: i for i, w in enumerate(self.vocab)}
        for i, w in enumerate(self.vocab):
            if i not in sayings and plain[i] and w.endswith("s"):
                one = next((number.get(x) for x in (w[:-1], w[:-2]) if number.get(x) in sayings), None)
                if one:
                    sayings[i] = sayings[one]
        return {i: ([np.frombuffer(r, np.int16) for r in of], np.array(list(of.values())) / sum(of.values())) for i, of in sayings.items()}

    def reworded(self, n, share=0.7):
        """n passages, each with some of its rarer words, most of which are said in other words."""
        a, b = [], [r[:128] for r in self.crops(n)[1]]
        for row in b:
            words = self._rarer(row, int(self.rng.integers(3, 9)))
            for at, w in enumerate(words):
                if len(w) == 1 and int(w[0]) in self.said_as and self.rng.random() < share:
                    sayings, p = self.said_as[int(w[0])]
                    words[at] = sayings[self.rng.choice(len(sayings), p=p)]
            a.append(np.concatenate(words) if words else row)
        return a, b

    def cluster(self, vectors, k=256, sample=20_000, rounds=8):
        """Sorts the pairs and the passages into k groups of like vectors, for batches whose members are hard to tell apart.
        vectors encodes rows of ids."""
        def all_of(side):
            n = len(side[1]) - 1
            return np.concatenate([vectors([self.row(side, i)[:128] for i in range(at, min(at + 4096, n))]) for at in range(0, n, 4096)])

        pairs, plain = all_of(self.b), all_of(self.t)
        x = pairs[self.rng.choice(len(pairs), sample, replace=False)]
        middle = x[:k].copy()
        for _ in range(rounds):
            near = (x @ middle.T).argmax(1)
            for j in range(k):
                if (near == j).any():
                    middle[j] = x[near == j].mean(0)
            middle /= np.linalg.norm(middle, axis=1, keepdims=True)
        weight = np.zeros(len(pairs))
        for kind, share in zip(self.kinds, self.share):
            weight[self.by_kind[kind]] = share / len(self.by_kind[kind])
        near = np.concatenate([(pairs[at : at + 50_000] @ middle.T).argmax(1) for at in range(0, len(pairs), 50_000)])
        self.groups = [(ix, weight[ix]) for ix in (np.flatnonzero((near == j) & (weight > 0)) for j in range(k)) if len(ix) >= 600]
        pool = np.concatenate(self.pools)
        weight = np.concatenate([np.full(len(p), s / len(p)) for p, s in zip(self.pools, self.pool_share)])
        near = np.where(pool[:, 0] == 1, near[np.where(pool[:, 0] == 1, pool[:, 1], 0)],
                        (plain @ middle.T).argmax(1)[np.where(pool[:, 0] == 0, pool[:, 1], 0)])
        self.pool_groups = [(pool[ix], weight[ix]) for ix in (np.flatnonzero(near == j) for j in range(k)) if len(ix) >= 300]

    def hard(self, n, crops):
        """n pairs, or passages with something said in them, out of two groups."""
        groups, a, b = self.pool_groups if crops else self.groups, [], []
        size = np.array([w.sum() for _, w in groups])
        for g in self.rng.choice(len(groups), 2, replace=False, p=size / size.sum()):
            ix, w = groups[g]
            for i in ix[self.rng.choice(len(ix), min(n // 2, int(len(ix) * 0.8)), replace=False, p=w / w.sum())]:
                if crops:
                    x, y = self.crop(self.row(self.t if i[0] == 0 else self.b, i[1]))
                else:
                    x, y = self.row(self.a, i), self.row(self.b, i)
                a.append(x)
                b.append(y)
        return a, b

    def words_in_common(self, a, b):
        """Cosines of TF-IDF vectors, [len(a), len(b)]: what an exact comparison of words says."""
        idf = np.maximum(np.log(1 / self.frequency) - 3, 0.05).astype(np.float32)

        def weigh(rows):
            ends = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
            m = scipy.sparse.csr_matrix((np.ones(ends[-1], np.float32), np.concatenate(rows).astype(np.int32), ends), (len(rows), len(idf)))
            m.sum_duplicates()
            m.data = np.log1p(m.data) * idf[m.indices]
            norm = np.sqrt(np.asarray(m.multiply(m).sum(1)).ravel())
            return scipy.sparse.diags(1 / np.maximum(norm, 1e-6)).astype(np.float32) @ m

        return (weigh(a) @ weigh(b).T).toarray()

    def crop(self, row):
        rng = self.rng
        if len(row) > (n := int(rng.integers(40, 112))):  # a passage as the engine cuts it
            at = int(rng.integers(0, len(row) - n + 1))
            row = row[at : at + n]
        n = len(row)
        how = rng.random()
        if how < 0.35:  # some of its words, the rare ones rather, in their order
            if (~self.continues[row]).sum() < 4:
                return row[: n // 2 + 1], row
            return np.concatenate(self._rarer(row, int(rng.integers(2, 9)))), row
        if how < 0.75:  # a span, half of the time cut out of the passage
            m = int(rng.integers(4, min(28, n // 2) + 1)) if n > 10 else n // 2 + 1
            at = int(rng.integers(0, n - m + 1))
            rest = row if rng.random() < 0.5 else np.concatenate([row[:at], row[at + m :]])
            return row[at : at + m], rest
        m, k = (int(n * rng.uniform(0.2, 0.6)) + 1 for _ in range(2))
        at, to = int(rng.integers(0, n - m + 1)), int(rng.integers(0, n - k + 1))
        return row[at : at + m], row[to : to + k]

    def rated(self, cut=44):
        """Pairs from everywhere that likeness is known from, in the numbers of GRADED and ALIKE. Each word of what people graded is lost
        with a probability of LOST (else a few thousand pairs are known by heart). With as many disturbed sentences and as many definitions
        more as CUT_OUT says, out of which a piece is cut; and what was not graded by people is the less alike the more one text says than
        the other: by LESS where it is e times as long."""
        x, y, score = self._rated(np.concatenate([self.rng.choice(self.graded_by[k], n, replace=False) for k, n in GRADED.items()]), cut)
        n = GRADED["people"]
        x[:n], y[:n] = [self._loses(r, LOST) for r in x[:n]], [self._loses(r, LOST) for r in y[:n]]
        for kind, (many, likeness) in ALIKE.items():
            ix = self.rng.choice(self.by_kind[kind], many, replace=False)
            x += [self.row(self.a, i)[:cut] for i in ix]
            y += [self.row(self.b, i)[:cut] for i in ix]
            score = np.append(score, np.full(many, likeness, np.float32))
        many, likeness = CUT_OUT
        sentences, others, alike = self._rated(self.rng.choice(self.graded_by["disturbed"], many, replace=False), cut)
        definitions = [self.row(self.b, i)[:cut] for i in self.rng.choice(self.terms, many, replace=False)]
        x, y = x + sentences + definitions, y + [self._cut_out(r) for r in others + definitions]
        score = np.concatenate([score, alike, np.full(many, likeness, np.float32)])
        longer = [abs(np.log(self.letters[a].sum() / self.letters[b].sum())) for a, b in zip(x[n:], y[n:])]
        score[n:] -= LESS * np.minimum(longer, 1.2)
        return x, y, score

    def drops(self, row, share):
        """row without this share of its tokens."""
        left = row[self.rng.random(len(row)) >= share] if share else row
        return left if len(left) else row

    def _words(self, row):
        return np.split(row, np.flatnonzero(~self.continues[row])[1:])

    def _rarer(self, row, n):
        """n words of row, or all it has, the rare ones rather, in their order."""
        starts = np.flatnonzero(~self.continues[row])
        ends = np.append(starts[1:], len(row))
        chosen = np.argsort(-np.log(self.rarity[row[starts]]) - self.rng.gumbel(size=len(starts)))[:n]
        return [row[starts[k] : ends[k]] for k in np.sort(chosen)]

    def _loses(self, row, share):
        """row without this share of its words, seven times of ten."""
        if self.rng.random() < 0.3:
            return row
        left = [w for w in self._words(row) if self.rng.random() > share]
        return np.concatenate(left) if left else row

    def _cut_out(self, row):
        """row without a piece of at most 65 % of its words, rather its end or its beginning."""
        words = self._words(row)
        n = int(len(words) * self.rng.uniform(0, 0.65))
        where = self.rng.random()
        at = 0 if where < 0.25 else len(words) - n if where < 0.6 else int(self.rng.integers(0, len(words) - n + 1))
        return np.concatenate(words[:at] + words[at + n :])

    def without_shared(self, a, b):
        """b without most of the rarer words that it shares with a, so that only their meaning is left to find it by."""
        shared = np.intersect1d(a, b)
        shared = shared[self.frequency[shared] < np.exp(-7)]
        left = ~np.isin(b, shared[self.rng.random(len(shared)) < 0.85])
        for i in range(1, len(b)):
            left[i] &= left[i - 1] or not self.continues[b[i]]
        return b[left] if left.sum() >= 6 else b

    def _rated(self, ix, cut=None):
        a, b, s = self.graded
        return [self.row(a, i)[:cut] for i in ix], [self.row(b, i)[:cut] for i in ix], s[ix]


def ahead(make, depth=4):
    """Calls make in a thread, `depth` results ahead."""
    q = queue.Queue(depth)

    def run():
        while True:
            q.put(make())

    threading.Thread(target=run, daemon=True).start()
    while True:
        yield q.get()
