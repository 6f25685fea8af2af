#!/usr/bin/env python3
"""texts.py TRAIN TEACHER OUT [--pairs N] [--seed S]: choose the training texts and the vocabulary.

TRAIN is a folder of gzipped JSON lines: pairs {"kind","source","a","b"[,"score"]} and passages {"kind":"text","source","text"}.
Writes OUT/texts.jsonl (what the teachers read, one JSON string a line; text 2i and text 2i+1 are a pair: what is asked and the
passage) and OUT/texts.npz (the same texts as token ids of the student, some with typing errors, and the vocabulary).
"""
import argparse
import collections
import glob
import gzip
import json
import os
import random
import re

import numpy as np
from tokenizers import Tokenizer, models

# Shares of the kinds of pairs. Sizes do not match worth: dictionaries would swamp the rest.
SHARES = {
    "simplewiki/title-lead": 10, "simplewiki/heading-paragraph": 12, "simplewiki/synthetic-question": 7, "simplewiki/text": 12,
    "enwiki_part/title-lead": 1, "enwiki_part/text": 6, "arxiv/title-abstract": 14, "scitldr/summary": 3, "scitldr/title-abstract": 2,
    "docs_cpp/heading-paragraph": 4, "docs_powershell/heading-paragraph": 2, "docs_peps/heading-paragraph": 3,
    "docs_owasp/heading-paragraph": 2, "tldr/command": 3, "tldr/term-def": 1, "factbook/heading-paragraph": 1, "speeches/text": 2,
    "medquad/question-answer": 6, "opentriviaqa/question-answer": 4, "squad_part/question-answer": 6,
    "wordnet/term-def": 5, "wordnet/def-example": 6, "wordnet/synonym": 1, "wordset/def-example": 4, "simpledict/term-def": 1,
    "wiki_split/paraphrase": 8, "bible_parallel/paraphrase": 2, "graded-stsb_train/sts": 3,
}
SIZE = 28_400  # of the vocabulary


def read(folder):
    kinds = collections.defaultdict(list)
    for path in sorted(glob.glob(folder + "/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf8") as f:
            for line in f:
                r = json.loads(line)
                key = r["source"] + "/" + r["kind"]
                if key not in SHARES and r["source"] not in ("graded-stsb_train",):
                    key = os.path.basename(path).split("-")[0].split(".")[0] + "/" + r["kind"]
                kinds[key].append((r["text"],) if r["kind"] == "text" else (r["a"], r["b"]))
    return kinds


def cut(rng, text):
    """A passage of 8 to 150 words, log-uniform; it begins at a sentence two times of three."""
    words = text.split()
    n = int(8 * (150 / 8) ** rng.random())
    if len(words) <= n:
        return text
    starts = [0] + [i + 1 for i, w in enumerate(words) if w[-1] in ".?!"]
    at = rng.choice([s for s in starts if s + n <= len(words)] or [0]) if rng.random() < 0.67 else rng.randrange(len(words) - n)
    return " ".join(words[at:at + n])


def asked(rng, passage, rare):
    """What somebody might type who looks for the passage: some of its rarer words, or a sentence of it."""
    words = passage.split()
    if rng.random() < 0.5:
        sentences = [s for s in re.split(r"(?<=[.?!])\s+", passage) if len(s.split()) > 3]
        if sentences:
            return rng.choice(sentences)
    n = rng.randint(1, 6)
    ranked = sorted(range(len(words)), key=lambda i: rare[words[i].strip(".,;:()\"'").lower()] + 3 * rng.random(), reverse=True)
    return " ".join(words[i].strip(".,;:()\"'") for i in sorted(ranked[:n])) or passage[:40]


def mistyped(rng, text):
    """One or two typing errors: letters exchanged, lost or doubled."""
    for _ in range(rng.randint(1, 2)):
        at = [i for i in range(1, len(text) - 2) if text[i - 1:i + 2].isalpha()]
        if not at:
            return text
        i = rng.choice(at)
        text = text[:i] + rng.choice([text[i + 1] + text[i], "", text[i] * 2]) + text[i + (2 if rng.random() < 0.4 else 1):]
    return text


def vocabulary(tokenizer, texts):
    """The most frequent pieces of the teacher's vocabulary, all single characters of them among these; and their ids there."""
    vocab = tokenizer.get_vocab()
    count = np.zeros(len(vocab), np.int64)
    for at in range(0, len(texts), 10_000):
        for e in tokenizer.encode_batch(texts[at:at + 10_000], add_special_tokens=False):
            np.add.at(count, e.ids, 1)
    by_id = sorted(vocab, key=vocab.get)
    special = [w for w in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")]
    ascii_single = {w for w in by_id if len(w.removeprefix("##")) == 1 and ord(w.removeprefix("##")) < 0x250}
    plain = [w for w in by_id if not w.startswith("[") or w == "["]
    # Frequency decides; of equals the one with the lower id, for the teacher's vocabulary is ordered by frequency too.
    ranked = sorted(plain, key=lambda w: (w not in ascii_single, -count[vocab[w]], vocab[w]))
    keep = set(ranked[:SIZE - len(special)])
    words = special + [w for w in by_id if w in keep]
    return words, np.array([vocab[w] for w in words]), count


def main():
    p = argparse.ArgumentParser()
    p.add_argument("train")
    p.add_argument("teacher")
    p.add_argument("out")
    p.add_argument("--pairs", type=int, default=150_000)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    rng = random.Random(o.seed)
    os.makedirs(o.out, exist_ok=True)
    kinds = read(o.train)
    names = [k for k in SHARES if kinds.get(k)]
    print({k: len(kinds[k]) for k in names}, "not used:", {k: len(v) for k, v in kinds.items() if k not in SHARES})
    words = collections.Counter(w.strip(".,;:()\"'").lower() for k in names for r in kinds[k][::7] for w in r[-1].split())
    rare = collections.defaultdict(lambda: 12.0, {w: -np.log((n + 1) / 1e6) for w, n in words.items()})

    total = sum(SHARES[k] for k in names)
    pairs = []
    for k in names:
        want = round(o.pairs * SHARES[k] / total)
        rows = kinds[k]
        chosen = rng.sample(rows, want) if want <= len(rows) else rows + rng.choices(rows, k=min(want - len(rows), len(rows)))
        for r in chosen:
            passage = cut(rng, r[-1])
            pairs.append((r[0][:600] if len(r) == 2 and rng.random() < 0.85 else asked(rng, passage, rare), passage))
    rng.shuffle(pairs)
    texts = [" ".join(t.split()) for pair in pairs for t in pair]

    teacher = Tokenizer.from_file(o.teacher + "/tokenizer.json")
    teacher.no_padding()
    teacher.no_truncation()
    vocab, ids, _ = vocabulary(teacher, texts + [" ".join(r[-1].split())[:400] for k in names for r in kinds[k][::5]])
    student = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocab)}, unk_token="[UNK]", continuing_subword_prefix="##"))
    student.normalizer, student.pre_tokenizer = teacher.normalizer, teacher.pre_tokenizer
    typed = [mistyped(rng, t) if rng.random() < (0.08 if i % 2 == 0 else 0.02) else t for i, t in enumerate(texts)]
    encoded = [np.array(e.ids[:200], np.int16) for at in range(0, len(typed), 10_000)
               for e in student.encode_batch(typed[at:at + 10_000], add_special_tokens=False)]
    np.savez(o.out + "/texts.npz", ids=np.concatenate(encoded), ends=np.cumsum([len(r) for r in encoded]), vocab=np.array(vocab), teacher=ids)
    with open(o.out + "/texts.jsonl", "w", encoding="utf8") as f:
        for t in texts:
            f.write(json.dumps(t, ensure_ascii=False) + "\n")
    sizes = np.array([len(r) for r in encoded])
    unknown = sum((r == 1).sum() for r in encoded) / sizes.sum()
    print(len(texts), "texts", sizes.sum(), "tokens, mean", sizes[::2].mean(), sizes[1::2].mean(), "unknown", unknown)


if __name__ == "__main__":
    main()
