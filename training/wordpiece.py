"""WordPiece as BERT writes it: cutting text into words, learning a vocabulary, words to ids."""
import collections
import heapq
import re
import unicodedata

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, UNK, CLS, SEP, MASK = range(5)

# BertNormalizer (lower case, accents stripped) and BertPreTokenizer: runs of letters and digits, each sign alone.
_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_CJK = re.compile(r"([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_DROPPED = {"Mn", "Cc", "Cf"}


def words(text):
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", _CJK.sub(r" \1 ", text))
        text = "".join(c for c in text if c in "\t\n\r" or unicodedata.category(c) not in _DROPPED)
    return _WORD.findall(text)


def learn(counts, size, pieces, letters=600):
    """A vocabulary of `size`: special tokens, letters, `pieces` parts of words by byte-pair merges, and then the commonest
    whole words. WordPiece takes the longest match, so a word of the vocabulary stays whole, and names are kept apart
    from each other; the parts serve what is rarer."""
    items = [(w, c) for w, c in counts.most_common(150_000) if len(w) <= 24]
    vocab = list(SPECIAL)
    have = set(vocab)

    def add(token):
        if token not in have:
            have.add(token)
            vocab.append(token)

    seen = collections.Counter()
    for w, c in items:
        seen[w[0]] += c
        for ch in w[1:]:
            seen["##" + ch] += c
    for token, _ in seen.most_common(letters):
        add(token)
    for token in _merges(items, pieces):
        add(token)
    for w, _ in items:
        if len(vocab) >= size:
            break
        add(w)
    return vocab


def _merges(items, n):
    """The n most useful byte-pair merges, each as the token that it makes."""
    split = [[w[0]] + ["##" + ch for ch in w[1:]] for w, _ in items]
    count = [c for _, c in items]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, s in enumerate(split):
        for p in zip(s, s[1:]):
            pairs[p] += count[i]
            where[p].add(i)
    heap = [(-c, p) for p, c in pairs.items()]
    heapq.heapify(heap)
    made = []
    while heap and len(made) < n:
        c, p = heapq.heappop(heap)
        if pairs[p] != -c:
            if pairs[p] > 0:
                heapq.heappush(heap, (-pairs[p], p))
            continue
        joined = p[0] + p[1].removeprefix("##")
        made.append(joined)
        touched = set()
        for i in list(where[p]):
            s, out, j = split[i], [], 0
            while j < len(s):
                if j + 1 < len(s) and (s[j], s[j + 1]) == p:
                    out.append(joined)
                    j += 2
                else:
                    out.append(s[j])
                    j += 1
            if len(out) == len(s):
                continue
            for q in zip(s, s[1:]):
                pairs[q] -= count[i]
                touched.add(q)
            for q in zip(out, out[1:]):
                pairs[q] += count[i]
                where[q].add(i)
                touched.add(q)
            split[i] = out
        pairs[p] = 0
        for q in touched:
            if pairs[q] > 0:
                heapq.heappush(heap, (-pairs[q], q))
    return made


class Tokenizer:
    """Texts to ids, without [CLS] and [SEP]. Words that were seen are kept."""

    def __init__(self, vocab):
        self.ids = {w: i for i, w in enumerate(vocab)}
        self.cache = {}

    def word(self, w):
        got = self.cache.get(w)
        if got is None:
            got, i = [], 0
            while i < len(w):
                j = len(w)
                while j > i and (w[i:j] if i == 0 else "##" + w[i:j]) not in self.ids:
                    j -= 1
                if j == i:
                    got = [UNK]
                    break
                got.append(self.ids[w[i:j] if i == 0 else "##" + w[i:j]])
                i = j
            got = tuple(got) if len(w) <= 100 else (UNK,)
            self.cache[w] = got
        return got

    def __call__(self, text, limit):
        out = []
        for w in words(text[: limit * 14]):
            out += self.word(w)
            if len(out) >= limit:
                return out[:limit]
        return out
