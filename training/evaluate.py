#!/usr/bin/env python3
"""evaluate.py CHECKPOINT.pt EVAL_DIR [--static]: a quick look while training; what counts is `searchd eval`.

nDCG@10 by the best passage of each document, Spearman of sentence pairs.
"""
import collections
import csv
import glob
import json
import math
import os
import re
import sys

import numpy as np
import torch

import wordpiece

PASSAGE = 64  # tokens
ASIDE = ("negconstraint",)  # a stress test, kept out of the means
_rows = {}


def load(vocab, root):
    """The evaluation sets as ids; kept, for training asks again."""
    if root in _rows:
        return _rows[root]
    tok, out = wordpiece.Tokenizer(vocab), []

    def ids(text):
        return np.array(tok(text, 254), np.int64)

    def passages(doc):
        title, text = tok(doc.get("title", ""), 40), tok(doc["text"], 4000)
        n = -(-len(text) // max(1, -(-len(text) // PASSAGE))) or 1
        return [np.array(title + text[at : at + n], np.int64) for at in range(0, max(1, len(text)), n)]

    for d in sorted(glob.glob(root + "/*")):
        name = os.path.basename(d)
        if os.path.exists(d + "/corpus.jsonl"):
            docs = [json.loads(line) for line in open(d + "/corpus.jsonl", encoding="utf8")]
            queries = [json.loads(line) for line in open(d + "/queries.jsonl", encoding="utf8")]
            wanted = collections.defaultdict(dict)
            for q, x, s in list(csv.reader(open(d + "/qrels/test.tsv"), delimiter="\t"))[1:]:
                if float(s) > 0:
                    wanted[q][x] = float(s)
            queries = [q for q in queries if q["_id"] in wanted]
            bm25 = json.load(open(d + "/info.json")).get("bm25_ndcg10") or 0
            parts = [passages(x) for x in docs]
            first = np.cumsum([0] + [len(p) for p in parts[:-1]])
            out.append((name, "retrieval", [x["_id"] for x in docs], [r for p in parts for r in p], first,
                        [wanted[q["_id"]] for q in queries], [ids(q["text"]) for q in queries], bm25))
        elif name.startswith("sts"):
            f = d + "/test_nostsbtrain.tsv"
            rows = [line.rstrip("\n").split("\t") for line in open(f if os.path.exists(f) else d + "/test.tsv", encoding="utf8")]
            rows = [r for r in rows if len(r) >= 3 and re.fullmatch(r"[\d.]+", r[0])]
            out.append((name, "pairs", [ids(r[1]) for r in rows], [ids(r[2]) for r in rows], [float(r[0]) for r in rows]))
    _rows[root] = out
    return out


def ndcg(order, names, wanted):
    got = sum(wanted.get(names[i], 0) / math.log2(r + 2) for r, i in enumerate(order))
    best = sum(s / math.log2(r + 2) for r, s in enumerate(sorted(wanted.values(), reverse=True)[:10]))
    return got / best


def report(encode, vocab, root):
    from scipy.stats import spearmanr

    def vectors(rows):
        with torch.no_grad():
            return torch.cat([encode(rows[i : i + 1024]) for i in range(0, len(rows), 1024)]).numpy()

    line, ours, theirs = [], [], []
    for name, what, *s in load(vocab, root):
        if what == "pairs":
            a, b, score = s
            line.append(f"{name} {spearmanr((vectors(a) * vectors(b)).sum(1), score).correlation:.3f}")
            continue
        names, docs, first, wanted, queries, bm25 = s
        sims = np.maximum.reduceat(vectors(queries) @ vectors(docs).T, first, axis=1)
        got = np.mean([ndcg(np.argsort(-row)[:10], names, w) for row, w in zip(sims, wanted)])
        line.append(f"{name} {got:.3f} ({bm25:.3f})")
        if name not in ASIDE:
            ours.append(got)
            theirs.append(bm25)
    print(f"  nDCG@10 {np.mean(ours):.4f}, of BM25's {np.mean(ours) / np.mean(theirs):.3f} | " + ", ".join(line), flush=True)


def main():
    from model import Encoder, bagged
    from train import encode

    c = torch.load(sys.argv[1])
    m = Encoder(len(c["vocab"]))
    m.load_state_dict(c["state"])
    m.eval()
    torch.set_flush_denormal(True)
    report((lambda rows: m.bag(bagged(rows))) if "--static" in sys.argv else (lambda rows: encode(m, rows, 0.0)), c["vocab"], sys.argv[2])


if __name__ == "__main__":
    main()
