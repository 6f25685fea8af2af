#!/usr/bin/env python3
"""train.py DATA.npz OUT [--static 4000] [--layers 6000] [--graded 600] [--eval DIR]

Four stages, each leaves OUT.STAGE.pt: `static`, token vectors as a bag with the contrastive loss; `sharp`, the same in batches of
like texts; `layers`, the layers
on top of them, first with masked words, then with the contrastive loss; `graded`, pairs with similarities and a rank loss.
A stage whose file is there is not trained again. Steps, not minutes, set the length, so that a stopped machine changes nothing.
Set OPENBLAS_CORETYPE for the processor; matrix products run in bfloat16, which AMX multiplies.
"""
import argparse
import copy
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

import evaluate
from corpus import Corpus, ahead
from model import HIDDEN, SINK, Encoder, bagged, padded

SHORT = (128, 0.25)  # Matryoshka: in this share of the steps the vectors are cut to so many dimensions


def contrastive(a, b, scale, same):
    """In-batch negatives, both ways; `same` [n, n] marks those that are none."""
    if torch.rand(()) < SHORT[1]:
        a, b = F.normalize(a[:, : SHORT[0]], dim=-1), F.normalize(b[:, : SHORT[0]], dim=-1)
    s = ((a.bfloat16() @ b.bfloat16().T).float() * scale).masked_fill(same, -1e4)
    at = torch.arange(len(a))
    return (F.cross_entropy(s, at) + F.cross_entropy(s.T, at)) / 2


def ranked(cos, score, scale=20.0):
    """CoSENT: each two pairs in the wrong order cost."""
    gap = (cos[None] - cos[:, None])[score[:, None] > score[None] + 0.04] * scale
    return torch.logsumexp(torch.cat([torch.zeros(1), gap]), 0)


def repeats(a, b):
    """Where another row of the batch has the same text on either side."""
    def number(rows):
        return np.unique([hash(r.tobytes()) for r in rows], return_inverse=True)[1]
    x, y = number(a), number(b)
    same = (x[:, None] == x) | (y[:, None] == y)
    np.fill_diagonal(same, False)
    return torch.from_numpy(same)


class Run:
    """Steps of one stage: rate, clipping, moving average of the weights, a line now and then."""

    def __init__(self, model, groups, steps, warmup, average=0.0):
        self.model, self.steps, self.warmup, self.began = model, steps, warmup, time.time()
        self.opt = torch.optim.AdamW([dict(g, lr=g["rate"]) for g in groups], betas=(0.9, 0.98), weight_decay=0.0)
        self.step, self.shown = 0, None
        self.mean = copy.deepcopy(model.state_dict()) if average else None
        self.average = average

    def __call__(self, loss):
        part = self.step / self.steps
        rate = min(1, (self.step + 1) / self.warmup) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * part)))
        for g in self.opt.param_groups:
            g["lr"] = g["rate"] * rate
        self.opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.step += 1
        self.shown = loss.item() if self.shown is None else 0.98 * self.shown + 0.02 * loss.item()
        if self.mean is not None:
            for k, v in self.model.state_dict().items():
                self.mean[k].lerp_(v, 1 - min(self.average, self.step / (self.step + 10)))
        if self.step % 50 == 0:
            took = time.time() - self.began
            print(f"step {self.step} loss {self.shown:.4f} {took:.0f} s {took / self.step:.3f} s/step", flush=True)
        return self.step < self.steps

    def finish(self):
        if self.mean is not None:
            self.model.load_state_dict(self.mean)


def static(model, c, o):
    scale = torch.nn.Parameter(torch.tensor(math.log(20.0)))
    g = torch.Generator().manual_seed(0)
    weight = torch.from_numpy(1e-3 / (1e-3 + c.frequency)).float().clamp(0.05, 0.98)
    model.start(torch.randn(len(c.vocab), HIDDEN - SINK, generator=g), weight)
    table, last = model.word.weight, [model.last.weight, model.last.bias]
    run = Run(model, [{"params": [table], "rate": o.static_rate}, {"params": last, "rate": 1e-3}, {"params": [scale], "rate": 2e-3}], o.static, 100)

    def make():
        a, b = c.crops(o.static_batch) if c.rng.random() < o.crops else c.pairs(o.static_batch)
        n = c.rng.choice([64, 128, 254], p=[0.4, 0.4, 0.2])
        a, b = [r[:n] for r in a], [r[:n] for r in b]
        return bagged(a), bagged(b), repeats(a, b)

    batches = ahead(make)
    while True:
        a, b, same = next(batches)
        if not run(contrastive(model.bag(a), model.bag(b), scale.exp().clamp(max=60), same)):
            break
        if o.eval and run.step % o.every == 0:
            torch.save({"vocab": c.vocab, "state": model.state_dict()}, f"{o.out}.part.pt")
            evaluate.report(lambda rows: model.bag(bagged(rows)), c.vocab, o.eval)
    print("scale", scale.exp().item())


def taught(a, b, scale, lexical, same, share):
    """The contrastive loss with two teachers: the pairs, and with this share how like the words of two texts are."""
    if torch.rand(()) < SHORT[1]:
        a, b = F.normalize(a[:, : SHORT[0]], dim=-1), F.normalize(b[:, : SHORT[0]], dim=-1)
    s, t, total = ((a.bfloat16() @ b.bfloat16().T).float() * scale).masked_fill(same, -1e4), (lexical * 25).masked_fill(same, -1e4), 0
    for s, t in ((s, t), (s.T, t.T)):
        log = s.log_softmax(1)
        total = total - (1 - share) * log.diagonal().mean() - share * (log * t.softmax(1)).sum(1).mean()
    return total / 2


def sharp(model, c, o):
    """Static again, with batches of like texts, where only the exact words tell one from another."""
    grouped(model, c)
    print(len(c.groups), "groups of pairs,", len(c.pool_groups), "of passages", flush=True)
    scale = torch.nn.Parameter(torch.tensor(math.log(25.0)))
    run = Run(model, [{"params": [model.word.weight], "rate": o.sharp_rate}, {"params": [model.last.weight, model.last.bias], "rate": 5e-4},
                      {"params": [scale], "rate": 1e-3}], o.sharp, 50)

    def make():
        crops = c.rng.random() < o.crops
        if c.rng.random() < 0.6:
            a, b = c.hard(o.static_batch, crops)
        else:
            a, b = c.crops(o.static_batch) if crops else c.pairs(o.static_batch)
        n = c.rng.choice([40, 64, 112], p=[0.3, 0.4, 0.3])
        a, b = [r[:n] for r in a], [r[:n] for r in b]
        return bagged(a), bagged(b), torch.from_numpy(c.words_in_common(a, b)), repeats(a, b)

    batches, more = ahead(make), True
    while more:
        a, b, lexical, same = next(batches)
        more = run(taught(model.bag(a), model.bag(b), scale.exp().clamp(max=60), lexical, same, o.lexical))
        if o.eval and run.step % o.every == 0:
            torch.save({"vocab": c.vocab, "state": model.state_dict()}, f"{o.out}.part.pt")
            evaluate.report(lambda rows: model.bag(bagged(rows)), c.vocab, o.eval)
    print("scale", scale.exp().item())


def encode(model, rows, drop):
    """Vectors of rows, in parts of similar length, so that little is padded."""
    order = np.argsort([len(r) for r in rows], kind="stable")
    parts = np.array_split(order, max(1, len(rows) // 128))
    with torch.autocast("cpu", torch.bfloat16):
        out = torch.cat([model(padded([rows[i] for i in p]), drop).float() for p in parts])
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return out[torch.from_numpy(back)]


def masked(model, c, rows, head):
    """Masked words: 20 % of the tokens, told from their states by the word table."""
    ids = padded(rows)
    pick = (torch.rand(ids.shape) < 0.2) & (ids > 4)
    seen = torch.where(pick & (torch.rand(ids.shape) < 0.85), torch.full_like(ids, 4), ids)
    with torch.autocast("cpu", torch.bfloat16):
        x = head(model.states(seen, 0.0)[pick])
        logits = x @ F.layer_norm(model.word.weight, (HIDDEN,)).T
    return F.cross_entropy(logits.float() * 0.3, ids[pick])


def some(c, o, n):
    """A batch of n for the layers: half of them of like texts, cut to what the layers see."""
    crops = c.rng.random() < o.crops
    if c.rng.random() < 0.5:
        a, b = c.hard(n, crops)
    else:
        a, b = c.crops(n) if crops else c.pairs(n)
    a, b = [r[: o.cut_a] for r in a], [r[: o.cut_b] for r in b]
    return a, b, torch.from_numpy(c.words_in_common(a, b)), repeats(a, b)


def grouped(model, c):
    if not c.groups:
        with torch.no_grad():
            c.cluster(lambda rows: model.bag(bagged(rows)).numpy())


def layers(model, c, o):
    grouped(model, c)
    rest = [p for n, p in model.named_parameters() if n != "word.weight"]
    if o.masked:
        head = torch.nn.Sequential(torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.GELU(), torch.nn.LayerNorm(HIDDEN))
        run = Run(model, [{"params": rest, "rate": 5e-4}, {"params": head.parameters(), "rate": 1e-3}], o.masked, 200)
        batches = ahead(lambda: sorted((r[:126] for r in c.crops(256)[1]), key=len))
        more = True
        while more:
            rows = next(batches)
            for at in range(0, len(rows), 64):
                more = run(masked(model, c, rows[at : at + 64], head))
                if not more:
                    break
        torch.save({"vocab": c.vocab, "state": model.state_dict()}, o.out + ".masked.pt")
    model.word.weight.requires_grad_(False)  # the words are learned; what the layers add is how they go together
    run = Run(model, [{"params": rest, "rate": o.rate}], o.layers, 100, average=0.99)
    batches, more = ahead(lambda: some(c, o, o.batch)), True
    while more:
        a, b, lexical, same = next(batches)
        more = run(taught(encode(model, a, o.drop), encode(model, b, o.drop), o.scale, lexical, same, o.lexical))
        if o.eval and run.step % o.every == 0:
            torch.save({"vocab": c.vocab, "state": model.state_dict()}, f"{o.out}.part.pt")
            model.eval()
            evaluate.report(lambda rows: encode(model, rows, 0.0), c.vocab, o.eval)
            model.train()
    run.finish()


def graded(model, c, o):
    grouped(model, c)
    model.word.weight.requires_grad_(True)
    run = Run(model, [{"params": model.parameters(), "rate": o.graded_rate}], o.graded, 50, average=0.99)
    batches, more = ahead(lambda: some(c, o, o.batch)), True
    while more:
        if c.rng.random() < 0.6:
            a, b, s = c.rated(128)
            more = run(ranked((encode(model, a, 0.1) * encode(model, b, 0.1)).sum(-1), torch.from_numpy(s)))
        else:
            a, b, lexical, same = next(batches)
            more = run(taught(encode(model, a, o.drop), encode(model, b, o.drop), o.scale, lexical, same, o.lexical))
    run.finish()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("out")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--static", type=int, default=1000)
    p.add_argument("--static-batch", type=int, default=2048)
    p.add_argument("--static-rate", type=float, default=0.05)
    p.add_argument("--crops", type=float, default=0.35, help="share of the batches that are made of passages alone")
    p.add_argument("--sharp", type=int, default=1600)
    p.add_argument("--sharp-rate", type=float, default=0.03)
    p.add_argument("--lexical", type=float, default=0.4, help="share of the lexical teacher in the stage `sharp`")
    p.add_argument("--masked", type=int, default=3000)
    p.add_argument("--layers", type=int, default=6000)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rate", type=float, default=3e-4)
    p.add_argument("--scale", type=float, default=25.0)
    p.add_argument("--drop", type=float, default=0.0)
    p.add_argument("--cut-a", type=int, default=30)
    p.add_argument("--cut-b", type=int, default=62)
    p.add_argument("--graded", type=int, default=600)
    p.add_argument("--graded-rate", type=float, default=5e-5)
    p.add_argument("--eval")
    p.add_argument("--every", type=int, default=500)
    p.add_argument("--until", choices=["static", "sharp", "layers", "graded"], default="graded")
    o = p.parse_args()
    torch.set_flush_denormal(True)
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    c = Corpus(o.data, o.seed)
    model = Encoder(len(c.vocab))
    for name, stage in (("static", static), ("sharp", sharp), ("layers", layers), ("graded", graded)):
        path = f"{o.out}.{name}.pt"
        if os.path.exists(path):
            model.load_state_dict(torch.load(path)["state"])
        else:
            print("stage", name, flush=True)
            stage(model, c, o)
            torch.save({"vocab": c.vocab, "state": model.state_dict()}, path)
            if o.eval:
                model.eval()
                f = (lambda rows: model.bag(bagged(rows))) if name in ("static", "sharp") else (lambda rows: encode(model, rows, 0.0))
                evaluate.report(f, c.vocab, o.eval)
                model.train()
        if name == o.until:
            break


if __name__ == "__main__":
    main()
