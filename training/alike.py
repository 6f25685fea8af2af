"""Pairs whose likeness follows from how they came about, graded as people grade such pairs, in [0, 1].

STS-B train is small and mostly captions, headlines and forum posts. Sentences that say the same in long, clumsy words, as two translations
do, hardly occur in it, nor do definitions of which one says more. Both are at hand: verses in two translations and sentences that were split
(see corpus.ALIKE), sentences of the corpus whose small words are disturbed as a poor translation disturbs them, dictionaries that
define one sense twice, and senses of one word that share it alone.
"""
import collections
import re

SENSES = [(0.7, 0.75), (0.4, 0.67), (0.2, 0.60)]  # share of the words in common, likeness
OTHER_SENSE, OTHER_SENSES = 0.25, 12_000
DISTURBED = 0.95
SMALL = """a an the of to in on at for by with from as that which is are was were be been this these it its and or has have had will
would""".split()
_UNCOUNTED = set("a an the of to or and in is that for by with as on".split())


def _words(text):
    return set(re.findall(r"[a-z]+", text.lower())) - _UNCOUNTED


def definitions(pairs, rng):
    """(a, b, likeness): definitions of one term from two dictionaries that share words, and of two senses from one."""
    terms = collections.defaultdict(lambda: collections.defaultdict(set))
    for kind, term, text in pairs:
        source, what = kind.split("/")
        if what == "term-def":
            terms[term.lower()][source].add(text)
    out, several = [], []
    for by_source in terms.values():
        sources = sorted(s for s in by_source if s in ("simpledict", "wordnet", "wordset"))
        for i, x in enumerate(sources):
            for y in sources[i + 1 :]:
                for a in sorted(by_source[x]):
                    common, b = max((len(_words(a) & _words(b)) / max(1, len(_words(a) | _words(b))), b) for b in by_source[y])
                    if common < 0.99:  # else they are one
                        out += [(a, b, likeness) for least, likeness in SENSES if common >= least][:1]
        if len(by_source.get("wordnet", ())) > 1:
            several.append(sorted(by_source["wordnet"]))
    out += [(*rng.sample(texts, 2), OTHER_SENSE) for texts in rng.sample(several, min(OTHER_SENSES, len(several)))]
    rng.shuffle(out)
    return out


def disturbed(pairs, passages, rng, most=6000):
    """(sentence, the same disturbed, likeness) of speeches and encyclopaedias, up to four of a passage and `most` passages of a source."""
    synonyms = collections.defaultdict(set)
    for kind, a, b in pairs:
        if kind == "wordnet/synonym" and " " not in a + b:
            synonyms[a.lower()].add(b.lower())
            synonyms[b.lower()].add(a.lower())
    synonyms = {w: sorted(s) for w, s in synonyms.items()}
    left, out = {"speeches": most, "enwiki_part": most, "simplewiki": most}, []
    for source, text in passages:
        if left.get(source, 0) == 0:
            continue
        left[source] -= 1
        sentences = [s for s in re.split(r"(?<=[.!?])\s+", text) if 6 <= len(s.split()) <= 30]
        out += [(s, _disturb(s, synonyms, rng), DISTURBED) for s in rng.sample(sentences, min(4, len(sentences)))]
    return out


def _disturb(sentence, synonyms, rng):
    out = []
    for word in sentence.split():
        low = word.lower().strip(",.;")
        if low in SMALL:
            chance = rng.random()
            if chance < 0.25:
                continue
            if chance < 0.45:
                word = rng.choice(SMALL)
        elif low in synonyms and rng.random() < 0.25:
            word = rng.choice(synonyms[low])
        elif rng.random() < 0.03:
            continue
        out.append(word)
        if rng.random() < 0.06:
            out.append(rng.choice(SMALL))
    for _ in range(max(1, len(out) // 8)):  # neighbours change places
        if len(out) > 4:
            at, n = rng.randrange(len(out) - 3), rng.choice((1, 2))
            out[at : at + 2 * n] = out[at + n : at + 2 * n] + out[at : at + n]
    if rng.random() < 0.25:  # and halves
        out = out[len(out) // 2 :] + [","] + out[: len(out) // 2]
    return " ".join(out)
