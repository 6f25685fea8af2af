"""Token vectors from which tokens stand near each other: what a word means, before any pair says what is alike.

Positive pointwise mutual information of a token and its neighbours, in a window of six with nearer ones counting more, common
tokens thinned and contexts smoothed (Levy, Goldberg and Dagan 2015), and its leading singular vectors by a randomised
decomposition (Halko, Martinsson and Tropp 2011). A dense table [vocab, vocab] of float32: 3 GB for 28,000 tokens, 90 seconds on one core.
"""
import numpy as np
import torch

WINDOW, THIN, SMOOTH, EXTRA, ROUNDS, BLOCK = 6, 1e-4, 0.75, 72, 3, 2000


def counts(corpus, rng):
    """How often each token stands near each other one, [vocab, vocab], symmetric."""
    n = len(corpus.vocab)
    sides = [corpus.a, corpus.b, corpus.t]
    seen = sum(np.bincount(ids, minlength=n) for ids, _ in sides)
    keep = np.minimum(1, np.sqrt(THIN / np.maximum(seen / seen.sum(), 1e-12)))
    table = np.zeros(n * n, np.float32)
    for ids, offsets in sides:
        text = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        kept = rng.random(len(ids)) < keep[ids]
        ids, text = ids[kept].astype(np.int64), text[kept]
        for k in range(1, WINDOW + 1):
            near = text[k:] == text[:-k]
            cell, times = np.unique(ids[:-k][near] * n + ids[k:][near], return_counts=True)
            table[cell] += times.astype(np.float32) * ((WINDOW - k + 1) / WINDOW)
    table = table.reshape(n, n)
    for i in range(0, n, BLOCK):
        for j in range(i, n, BLOCK):
            both = table[i : i + BLOCK, j : j + BLOCK] + table[j : j + BLOCK, i : i + BLOCK].T
            table[i : i + BLOCK, j : j + BLOCK], table[j : j + BLOCK, i : i + BLOCK] = both, both.T
    return table


def vectors(corpus, dims, seed=0):
    """Unit vectors of the tokens, [vocab, dims]."""
    table = counts(corpus, np.random.default_rng(seed))
    total = table.sum(1) + 1e-6
    context = total**SMOOTH / (total**SMOOTH).sum()
    for i in range(0, len(table), BLOCK):  # in place: the table is the largest thing there is
        part = table[i : i + BLOCK]
        part[:] = np.log(np.maximum(part / total[i : i + BLOCK, None] / context, 1))
    table = torch.from_numpy(table)
    basis = torch.randn(len(table), dims + EXTRA, generator=torch.Generator().manual_seed(seed))
    basis = torch.linalg.qr(table @ basis)[0]
    for _ in range(1, ROUNDS):
        basis = torch.linalg.qr(table.T @ (table @ basis))[0]
    left, size, _ = torch.linalg.svd(table @ basis, full_matrices=False)
    return torch.nn.functional.normalize((left * size.sqrt())[:, :dims], dim=1)
