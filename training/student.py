"""The student: BERT with few layers, begun from layers of a teacher with a part of its vocabulary and of its feed-forward units."""
import json

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file

EPS, CLS, SEP = 1e-12, 2, 3


class Layer(nn.Module):
    def __init__(self, hidden, inter, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, inter), nn.Linear(inter, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden, EPS), nn.LayerNorm(hidden, EPS)

    def forward(self, x, batch):
        h, parts = x.shape[1], []
        for qkv, (index, mask, back) in zip(self.qkv(x).split(batch.sizes), batch.parts):
            b, s = index.shape
            q, k, v = qkv[index].view(b, s, 3, self.heads, h // self.heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            parts.append(y.transpose(1, 2).reshape(b * s, h)[back])
        x = self.norm1(x + self.out(torch.cat(parts)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Batch:
    """Texts one after another without padding, the shortest first. Attention runs over parts of similar length."""

    def __init__(self, rows, longest=254, part=16):
        rows = [r[:longest] for r in rows]
        self.order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        sizes = [len(rows[i]) + 2 for i in self.order]
        flat = np.concatenate([x for i in self.order for x in ((CLS,), rows[i], (SEP,))]).astype(np.int64)
        self.ids = torch.from_numpy(flat)
        self.positions = torch.from_numpy(np.concatenate([np.arange(n) for n in sizes]))
        self.text = torch.from_numpy(np.repeat(np.arange(len(rows)), sizes))
        self.lengths = torch.tensor(sizes, dtype=torch.float)
        self.back = torch.empty(len(rows), dtype=torch.long)
        self.back[torch.tensor(self.order)] = torch.arange(len(rows))
        self.sizes, self.parts = [], []
        for at in range(0, len(sizes), part):
            n = np.array(sizes[at: at + part])
            ends = np.cumsum(n)
            column = np.arange(n.max())
            inside = column[None] < n[:, None]
            index = np.where(inside, (ends - n)[:, None] + column, 0)
            self.sizes.append(int(ends[-1]))
            self.parts.append((torch.from_numpy(index), torch.from_numpy(inside)[:, None, None, :], torch.from_numpy(np.flatnonzero(inside))))

    def pooled(self, states):
        """Unit vectors of the texts, in their first order: the means of their token states."""
        sums = torch.zeros(len(self.lengths), states.shape[1]).index_add(0, self.text, states.float())
        return F.normalize(sums / self.lengths[:, None], dim=-1)[self.back]


class Encoder(nn.Module):
    def __init__(self, vocab, hidden=384, layers=3, inter=1152, heads=12, positions=256):
        super().__init__()
        self.shape = dict(vocab=vocab, hidden=hidden, layers=layers, inter=inter, heads=heads, positions=positions)
        self.word, self.position, self.segment = nn.Embedding(vocab, hidden), nn.Embedding(positions, hidden), nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, EPS)
        self.layers = nn.ModuleList([Layer(hidden, inter, heads) for _ in range(layers)])

    def states(self, batch, ids=None):
        """Token states after the last layer, [tokens, H]; ids replaces the batch's."""
        x = self.norm(self.word(batch.ids if ids is None else ids) + self.position(batch.positions) + self.segment.weight[0])
        for layer in self.layers:
            x = layer(x, batch)
        return x


def teacher(folder):
    """A BERT in the sentence-transformers layout as an Encoder."""
    c, w = json.load(open(folder + "/config.json")), load_file(folder + "/model.safetensors")
    m = Encoder(c["vocab_size"], c["hidden_size"], c["num_hidden_layers"], c["intermediate_size"], c["num_attention_heads"],
                c["max_position_embeddings"])
    state = {"word.weight": w["embeddings.word_embeddings.weight"], "position.weight": w["embeddings.position_embeddings.weight"],
             "segment.weight": w["embeddings.token_type_embeddings.weight"]}
    for kind in ("weight", "bias"):
        state["norm." + kind] = w["embeddings.LayerNorm." + kind]
        for i in range(c["num_hidden_layers"]):
            at, to = f"encoder.layer.{i}.", f"layers.{i}."
            state[to + "qkv." + kind] = torch.cat([w[at + f"attention.self.{p}.{kind}"] for p in ("query", "key", "value")])
            for ours, theirs in (("out", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"),
                                 ("up", "intermediate.dense"), ("down", "output.dense"), ("norm2", "output.LayerNorm")):
                state[to + ours + "." + kind] = w[at + theirs + "." + kind]
    m.load_state_dict(state)
    return m.eval()


@torch.no_grad()
def begin(student, teacher, ids, which, sample):
    """Copies the rows ids of the teacher's token table and its layers `which`, of whose feed-forward units those stay that are most
    active on sample, a Batch."""
    student.word.weight.copy_(teacher.word.weight[ids])
    student.position.weight.copy_(teacher.position.weight[: len(student.position.weight)])
    student.segment.weight.copy_(teacher.segment.weight)
    student.norm.load_state_dict(teacher.norm.state_dict())
    said = {}
    hooks = [teacher.layers[i].up.register_forward_hook(lambda _, __, y, i=i: said.__setitem__(i, F.gelu(y).abs().mean(0)))
             for i in which]
    teacher.states(sample, ids[sample.ids])
    for h in hooks:
        h.remove()
    for own, i in zip(student.layers, which):
        theirs = teacher.layers[i]
        for name in ("qkv", "out", "norm1", "norm2"):
            getattr(own, name).load_state_dict(getattr(theirs, name).state_dict())
        units = (said[i] * theirs.down.weight.norm(dim=0)).topk(len(own.up.bias)).indices.sort().values
        own.up.weight.copy_(theirs.up.weight[units])
        own.up.bias.copy_(theirs.up.bias[units])
        own.down.weight.copy_(theirs.down.weight[:, units])
        own.down.bias.copy_(theirs.down.bias)
