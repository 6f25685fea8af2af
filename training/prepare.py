#!/usr/bin/env python3
"""prepare.py TRAIN_DIR EVAL_DIR OUT.npz [--vocab 28000]

Reads pairs and passages (TRAIN_DIR/*.jsonl.gz), drops duplicates and whatever overlaps the evaluation sets (EVAL_DIR),
learns the vocabulary, and writes token ids as flat int16 arrays with offsets. About six minutes on one core.
"""
import argparse
import collections
import glob
import gzip
import hashlib
import json
import os
import random
import re
import time

import numpy as np

import alike
import wordpiece

LIMIT_A, LIMIT_B = 62, 254  # ids kept; [CLS] and [SEP] come on top
NGRAM, COMMON = 8, 4  # a text that shares this many runs of so many ids with an evaluation text is dropped


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def key(text):
    """A text's letters and digits, hashed: two texts that differ in case, spaces and signs are one."""
    return hashlib.blake2b("".join(wordpiece.words(text)).encode(), digest_size=8).digest()


def read(folder):
    """Pairs (kind, a, b), graded pairs (a, b, score) and passages, each once."""
    pairs, graded, passages, seen = [], [], [], set()
    for path in sorted(glob.glob(folder + "/*.jsonl.gz")):
        for line in gzip.open(path, "rt", encoding="utf8"):
            r = json.loads(line)
            if "text" in r:
                t = clean(r["text"])
                if len(t) > 100 and (k := key(t)) not in seen:
                    seen.add(k)
                    passages.append((r["source"], t))
                continue
            a, b = clean(r["a"]), clean(r["b"])
            if "score" in r:
                graded.append((a, b, r["score"] / 5))
            if not a or not b or a == b or r.get("score", 5) < 4:
                continue
            if (k := key(a) + key(b)) not in seen:
                seen.add(k)
                pairs.append((r["source"] + "/" + r["kind"], a, b))
    return pairs, graded, passages


def evaluation_texts(folder):
    for path in glob.glob(folder + "/*/corpus.jsonl") + glob.glob(folder + "/*/queries.jsonl"):
        for line in open(path, encoding="utf8"):
            r = json.loads(line)
            yield r.get("title", "")
            yield r["text"]
    for path in glob.glob(folder + "/*/*.tsv"):
        if "qrels" in path:
            continue
        for line in open(path, encoding="utf8"):
            yield from line.rstrip("\n").split("\t")[1:]


def flat(rows):
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(r) for r in rows], out=offsets[1:])
    ids = np.zeros(offsets[-1], np.int16)
    for r, at in zip(rows, offsets):
        ids[at : at + len(r)] = r
    return ids, offsets


def runs(ids):
    """A hash of each run of NGRAM ids; the run begins at its place."""
    h = np.zeros(max(len(ids) - NGRAM + 1, 0), np.uint64)
    for i in range(NGRAM):
        h = h * np.uint64(0x9E3779B97F4A7C15) + ids[i : i + len(h)].astype(np.uint64) + np.uint64(1)
        h ^= h >> np.uint64(29)
    return h


def overlapping(ids, offsets, known):
    """For each text whether it shares at least COMMON runs with the evaluation texts."""
    h = runs(ids)
    at = np.searchsorted(known, h)
    hit = known[np.minimum(at, len(known) - 1)] == h
    total = np.concatenate([[0], np.cumsum(hit)])
    first = np.minimum(offsets[:-1], len(h))
    last = np.clip(offsets[1:] - NGRAM + 1, first, len(h))
    return total[last] - total[first] >= COMMON


def main():
    p = argparse.ArgumentParser()
    p.add_argument("train")
    p.add_argument("evaluation")
    p.add_argument("out")
    p.add_argument("--vocab", type=int, default=28_000)
    p.add_argument("--pieces", type=int, default=7_000)
    o = p.parse_args()
    began = time.time()

    def say(*what):
        print(f"{time.time() - began:5.0f} s", *what, flush=True)

    rng = random.Random(0)
    pairs, graded, passages = read(o.train)
    rng.shuffle(pairs)
    rng.shuffle(passages)
    say(len(pairs), "pairs,", len(graded), "graded,", len(passages), "passages")

    counts = collections.Counter()
    for kind, a, b in pairs:
        if not kind.startswith(("wordnet", "wordset", "simpledict")):  # a dictionary has each word once, however rare
            counts.update(wordpiece.words(a))
        counts.update(wordpiece.words(b[:800]))
    for _, t in passages:
        counts.update(wordpiece.words(t[:1200]))
    say(len(counts), "different words")
    vocab = wordpiece.learn(counts, o.vocab, o.pieces)
    say(len(vocab), "tokens in the vocabulary")

    tok = wordpiece.Tokenizer(vocab)
    a_ids, a_off = flat([tok(a, LIMIT_A) for _, a, _ in pairs])
    b_ids, b_off = flat([tok(b, LIMIT_B) for _, _, b in pairs])
    t_ids, t_off = flat([tok(t, LIMIT_B) for _, t in passages])
    say(len(a_ids), len(b_ids), len(t_ids), "ids of queries, of documents, of passages")

    e_ids, e_off = [], []
    for t in evaluation_texts(o.evaluation):
        r = tok(t, 4000)
        if len(r) >= NGRAM:
            e_ids.append(runs(np.array(r, np.int16)))
    known = np.unique(np.concatenate(e_ids))
    bad = overlapping(a_ids, a_off, known) | overlapping(b_ids, b_off, known)
    bad_t = overlapping(t_ids, t_off, known)
    say("overlap with evaluation texts:", int(bad.sum()), "pairs,", int(bad_t.sum()), "passages dropped")

    def keep(ids, off, bad):
        return flat([ids[off[i] : off[i + 1]] for i in np.flatnonzero(~bad)])

    a_ids, a_off = keep(a_ids, a_off, bad)
    b_ids, b_off = keep(b_ids, b_off, bad)
    t_ids, t_off = keep(t_ids, t_off, bad_t)
    kinds = sorted({k for k, _, _ in pairs})
    number = {k: i for i, k in enumerate(kinds)}
    sources = sorted({s for s, _ in passages})
    made = [(*g, 0) for g in graded] + [(*g, 1) for g in alike.definitions(pairs, rng)] + [(*g, 2) for g in alike.disturbed(pairs, passages, rng)]
    ga, ga_off = flat([tok(a, LIMIT_B) for a, _, _, _ in made])
    gb, gb_off = flat([tok(b, LIMIT_B) for _, b, _, _ in made])
    origin, score = np.array([k for *_, k in made], np.int8), np.array([s for _, _, s, _ in made], np.float32)
    bad_g = (overlapping(ga, ga_off, known) | overlapping(gb, gb_off, known)) & (origin > 0)
    (ga, ga_off), (gb, gb_off), origin, score = keep(ga, ga_off, bad_g), keep(gb, gb_off, bad_g), origin[~bad_g], score[~bad_g]
    say(np.bincount(origin), "graded by people, definitions, disturbed sentences;", int(bad_g.sum()), "dropped")
    np.savez(
        o.out, vocab=np.array(vocab), kinds=np.array(kinds), sources=np.array(sources),
        a_ids=a_ids, a_off=a_off, b_ids=b_ids, b_off=b_off, kind=np.array([number[k] for k, _, _ in pairs], np.int16)[~bad],
        t_ids=t_ids, t_off=t_off, source=np.array([sources.index(s) for s, _ in passages], np.int16)[~bad_t],
        ga_ids=ga, ga_off=ga_off, gb_ids=gb, gb_off=gb_off, score=score, origin=origin,
    )
    say(o.out, os.path.getsize(o.out) >> 20, "MiB")


if __name__ == "__main__":
    main()
