"""The encoder, BERT's with another start, so that training can begin without layers and go on with them.

A bag of tokens wants its common words to count less. LayerNorm gives every token the same length, so the length of what
counts is moved: SINK dimensions take what a token does not want to say, and the scale of the last LayerNorm silences
them. Layers whose outputs begin near zero change nothing (a LayerNorm of a normed row is that row), so the encoder with
layers begins where the one without them ended.
"""
import math

import numpy as np
import scipy.sparse
import torch
import torch.nn as nn
import torch.nn.functional as F

from wordpiece import CLS, SEP

VOCAB, HIDDEN, LAYERS, HEADS, INTER, POSITIONS = 28_000, 384, 3, 6, 512, 512
EPS = 1e-12
SINK = 16


ENDS = np.array([CLS, SEP], np.int16)


class Mix(torch.autograd.Function):
    """counts · table for a sparse matrix of SciPy's, several times as fast as embedding_bag and its gradient."""

    @staticmethod
    def forward(ctx, table, counts):
        ctx.counts = counts
        return torch.from_numpy(counts @ table.detach().numpy())

    @staticmethod
    def backward(ctx, grad):
        return torch.from_numpy(ctx.counts.T @ np.ascontiguousarray(grad.numpy())), None


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, INTER), nn.Linear(INTER, HIDDEN)
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN, EPS), nn.LayerNorm(HIDDEN, EPS)
        for m, std in ((self.qkv, 0.04), (self.up, 0.04), (self.out, 0.002), (self.down, 0.002)):
            nn.init.normal_(m.weight, std=std)
            nn.init.zeros_(m.bias)

    def forward(self, x, bias, drop):
        b, s, _ = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        w = (q @ k.transpose(-1, -2) * (1 / math.sqrt(HIDDEN // HEADS)) + bias).softmax(-1)
        y = (w.to(v.dtype) @ v).transpose(1, 2).reshape(b, s, HIDDEN)
        x = self.norm1(x + F.dropout(self.out(y), drop, self.training).float())
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), drop, self.training).float())


class Encoder(nn.Module):
    def __init__(self, vocab=VOCAB, layers=LAYERS):
        super().__init__()
        self.word, self.position, self.segment = nn.Embedding(vocab, HIDDEN), nn.Embedding(POSITIONS, HIDDEN), nn.Embedding(2, HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN, EPS)
        self.layers = nn.ModuleList([Layer() for _ in range(layers)])
        nn.init.zeros_(self.position.weight)
        nn.init.zeros_(self.segment.weight)
        with torch.no_grad():
            self.last.weight[-SINK:] = 0.03

    @property
    def last(self):
        return self.layers[-1].norm2

    def start(self, vectors, weight):
        """Begins with the directions vectors [vocab, HIDDEN-SINK], of which weight [vocab], in (0, 1], shall count."""
        with torch.no_grad():
            u = F.normalize(vectors - vectors.mean(1, keepdim=True), dim=1) * weight[:, None]
            sign = torch.ones(SINK)
            sign[1::2] = -1
            self.word.weight[:, :-SINK] = u
            self.word.weight[:, -SINK:] = sign * ((1 - weight**2).clamp(min=0) / SINK).sqrt()[:, None]
            self.word.weight.mul_(math.sqrt(HIDDEN))

    def bag(self, counts):
        """Vectors of texts without layers: the mean of their tokens. counts [texts, vocabulary] is sparse."""
        table = F.layer_norm(self.word.weight, (HIDDEN,), eps=EPS) * self.last.weight + self.last.bias
        return F.normalize(Mix.apply(table, counts), dim=-1)

    def states(self, ids, drop=0.0):
        """Token states after the last layer; ids [texts, tokens], 0 where a text has ended."""
        x = self.norm(self.word(ids) + self.position.weight[: ids.shape[1]] + self.segment.weight[0])
        bias = (ids == 0)[:, None, None, :].float() * -1e4
        for layer in self.layers:
            x = layer(x, bias, drop)
        return x

    def forward(self, ids, drop=0.0):
        x, m = self.states(ids, drop), (ids != 0)[..., None].float()
        return F.normalize((x * m).sum(1) / m.sum(1), dim=-1)


def padded(rows):
    """Rows of ids as one tensor, with [CLS] and [SEP]."""
    out = torch.zeros(len(rows), max(map(len, rows)) + 2, dtype=torch.long)
    for i, r in enumerate(rows):
        out[i, 0], out[i, len(r) + 1] = CLS, SEP
        out[i, 1 : len(r) + 1] = torch.from_numpy(r.astype("int64"))
    return out


def bagged(rows):
    """How much of each text each token is, with [CLS] and [SEP]: a sparse matrix [texts, vocabulary]."""
    sizes = np.array([len(r) + 2 for r in rows])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    ids = np.concatenate([x for r in rows for x in (r, ENDS)]).astype(np.int32)
    return scipy.sparse.csr_matrix((np.repeat(1 / sizes, sizes).astype(np.float32), ids, offsets), (len(rows), VOCAB))
