#!/usr/bin/env python3
"""train.py DATA.npz OUT [--static 300] [--sharp 300] [--layers 1500] [--last 900] [--meaning 300] [--eval DIR]

Five stages, each leaves OUT.STAGE.pt: `static`, token vectors as a bag, from co-occurrence on with the contrastive loss; `sharp`, the same
in batches of like texts; `layers`, the layers on top of them, with graded pairs beside; `last`, on from there with a second teacher
and more graded pairs; `meaning`, the mean of three ways on from there with pairs that share no rare words, and vectors
that tell lengths. A stage whose file is there is not trained again. Steps, not minutes, set the length, so that a stopped machine changes
nothing. Set OPENBLAS_CORETYPE for the processor; matrix products run in bfloat16, which AMX and AVX-512 multiply.
"""
import argparse
import copy
import functools
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

import cooccurrence
import evaluate
import length
from corpus import Corpus, ahead
from model import HIDDEN, SINK, Encoder, bagged, padded

SHORT = (128, 0.25)  # Matryoshka: in this share of the steps the vectors are cut to so many dimensions


def contrastive(a, b, scale, same, taught=None, share=0.0):
    """In-batch negatives, both ways; `same` [n, n] marks those that are none. With two teachers where there is a second one: the
    pairs, and with this share how like two texts are by other means [n, n]."""
    if torch.rand(()) < SHORT[1]:
        a, b = F.normalize(a[:, : SHORT[0]], dim=-1), F.normalize(b[:, : SHORT[0]], dim=-1)
    s, total = ((a.bfloat16() @ b.bfloat16().T).float() * scale).masked_fill(same, -1e4), 0
    if share:
        taught = (taught * 25).masked_fill(same, -1e4)
    for way in (lambda x: x, torch.t):
        log = way(s).log_softmax(1)
        total = total - (1 - share) * log.diagonal().mean()
        if share:
            total = total - share * (log * way(taught).softmax(1)).sum(1).mean()
    return total / 2


def ranked(cos, score, scale=10.0):
    """RankNet: what two pairs in the wrong order cost, as a mean over all two pairs. (CoSENT's sum of exponentials is ruled by the few
    worst ones, which are the grader's whims: it lowered STS-B dev where this raises it.)"""
    above = (score[:, None] > score[None] + 0.04).float()
    return (F.softplus((cos[None] - cos[:, None]) * scale) * above).sum() / above.sum()


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


def some(c, o, n, hard):
    """n pairs of texts, or of passages with something said in them; this share of the batches of like ones."""
    crops = c.rng.random() < o.crops
    if c.rng.random() < hard:
        return c.hard(n, crops)
    return c.crops(n) if crops else c.pairs(n)


def bags(model, c, o, steps, rate, lengths, hard=0.0, lexical=0.0):
    """Trains the token vectors as a bag."""
    scale = torch.nn.Parameter(torch.tensor(math.log(20.0)))
    run = Run(model, [{"params": [model.word.weight], "rate": rate}, {"params": [model.last.weight, model.last.bias], "rate": 1e-3},
                      {"params": [scale], "rate": 2e-3}], steps, 60)

    def make():
        n = c.rng.choice(lengths, p=[0.4, 0.4, 0.2])
        a, b = ([r[:n] for r in rows] for rows in some(c, o, o.static_batch, hard))
        return bagged(a), bagged(b), repeats(a, b), torch.from_numpy(c.words_in_common(a, b)) if lexical else None

    batches, more = ahead(make), True
    while more:
        a, b, same, words = next(batches)
        more = run(contrastive(model.bag(a), model.bag(b), scale.exp().clamp(max=60), same, words, lexical))
        look(model, c, o, run.step)
    print("scale", scale.exp().item())


def counting(c):
    """How much each token shall count at first."""
    return torch.from_numpy(1e-3 / (1e-3 + c.frequency)).float().clamp(0.05, 0.98)


def static(model, c, o):
    model.start(cooccurrence.vectors(c, HIDDEN - SINK, o.seed), counting(c))
    bags(model, c, o, o.static, o.static_rate, [64, 128, 254])


def sharp(model, c, o):
    """Static again, with batches of like texts, where only the exact words tell one from another."""
    grouped(model, c)
    bags(model, c, o, o.sharp, o.sharp_rate, [40, 64, 112], hard=0.6, lexical=o.lexical)


def grouped(model, c):
    if not c.groups:
        with torch.no_grad():
            c.cluster(lambda rows: model.bag(bagged(rows)).numpy())
        print(len(c.groups), "groups of pairs,", len(c.pool_groups), "of passages", flush=True)


def encode(model, rows, drop):
    """Vectors of rows, in parts of similar length, so that little is padded."""
    order = np.argsort([len(r) for r in rows], kind="stable")
    parts = np.array_split(order, max(1, len(rows) // 128))
    with torch.autocast("cpu", torch.bfloat16):
        out = torch.cat([model(padded([rows[i] for i in p]), drop).float() for p in parts])
    back = np.empty(len(rows), np.int64)
    back[order] = np.arange(len(rows))
    return out[torch.from_numpy(back)]


def layered(model, c, o, steps, rate, word_rate, share, teach, graded, hidden=0.0, drop=0.0, average=0.995):
    """Trains everything: pairs with a second teacher, and graded pairs beside them, which see this much dropout. In `hidden` of the
    batches the second text loses what the first one says in the same words, and there is no second teacher."""
    grouped(model, c)
    rest = [p for n, p in model.named_parameters() if n != "word.weight"]
    run = Run(model, [{"params": rest, "rate": rate}, {"params": [model.word.weight], "rate": word_rate}], steps, 100, average=average)

    def make():
        n, cut = (o.batch // 2, 126) if c.rng.random() < 0.2 else (o.batch, 62)
        a, b = some(c, o, n, 0.5)
        a = [r[:30] for r in a]
        if hide := c.rng.random() < hidden:
            b = [c.without_shared(x, y[: cut + 20]) for x, y in zip(a, b)]
        b = [r[:cut] for r in b]
        return a, b, None if hide else torch.from_numpy(teach(a, b)), repeats(a, b), graded()

    batches, more = ahead(make), True
    while more:
        a, b, taught, same, (x, y, score) = next(batches)
        a, b = encode(model, a + b, 0.0).split([len(a), len(b)])
        x, y = encode(model, x + y, drop).split([len(x), len(y)])
        more = run(contrastive(a, b, o.scale, same, taught, 0.0 if taught is None else share) + o.graded * ranked((x * y).sum(-1), torch.from_numpy(score)))
        look(model, c, o, run.step, layers=True)
    run.finish()


def layers(model, c, o):
    layered(model, c, o, o.layers, o.rate, o.word_rate, 0.7 * o.lexical, c.words_in_common, lambda: c.rated(o.batch // 2))


def last(model, c, o):
    """On from there, with a bag that began elsewhere and so errs elsewhere as a teacher beside the words, and with pairs whose likeness
    follows from how they were made. What comes out lies between the weights before and after."""
    before = copy.deepcopy(model.state_dict())
    second = Encoder(len(c.vocab))
    path = f"{o.out}.second.pt"
    if os.path.exists(path):
        second.load_state_dict(torch.load(path)["state"])
    else:
        second.start(torch.randn(len(c.vocab), HIDDEN - SINK, generator=torch.Generator().manual_seed(o.seed)), counting(c))
        bags(second, c, o, o.static, o.second_rate, [64, 128, 254])
        torch.save({"vocab": c.vocab, "state": second.state_dict()}, path)
    second.requires_grad_(False)

    def teach(a, b):
        return 0.46 * (second.bag(bagged(a)) @ second.bag(bagged(b)).T).numpy() + 0.5 * c.words_in_common(a, b)

    layered(model, c, o, o.last, 4e-4, 6e-4, o.lexical, teach, c.rated_or_made)
    model.load_state_dict({k: before[k].lerp(v, o.share_of_last) for k, v in model.state_dict().items()})


def meaning(model, c, o):
    """Three times on from there in another way, half of the batches without the words that two texts share; the mean of what comes out
    and what went in, as vectors that tell how long a text is."""
    before = copy.deepcopy(model.state_dict())
    total = copy.deepcopy(before)
    ways = [(0.0, {}), (0.1, {"lost": 0.12}), (0.1, {"lost": 0.12, "cut_out": 16, "less": 0.3})]
    for drop, how in ways:
        model.load_state_dict(before)
        layered(model, c, o, o.meaning, 4e-4, 6e-4, 0.7 * o.lexical, c.words_in_common, functools.partial(c.rated_made_or_cut, **how), 0.5, drop, 0.99)
        total = {k: v + model.state_dict()[k] for k, v in total.items()}
    model.load_state_dict({k: v / (1 + len(ways)) for k, v in total.items()})
    length.tell(model, [c.row(c.b, i)[:62] for ix in c.by_kind.values() for i in c.rng.choice(ix, min(60, len(ix)), replace=False)])


def look(model, c, o, step=0, layers=False):
    """A part of a stage, kept and measured; without a step, its end."""
    if o.eval and step % o.every == 0:
        torch.save({"vocab": c.vocab, "state": model.state_dict()}, f"{o.out}.part.pt")
        model.eval()
        evaluate.report((lambda rows: encode(model, rows, 0.0)) if layers else (lambda rows: model.bag(bagged(rows))), c.vocab, o.eval)
        model.train()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("out")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--static", type=int, default=300)
    p.add_argument("--static-batch", type=int, default=2048)
    p.add_argument("--static-rate", type=float, default=0.02)
    p.add_argument("--crops", type=float, default=0.35, help="share of the batches that are made of passages alone")
    p.add_argument("--sharp", type=int, default=300)
    p.add_argument("--sharp-rate", type=float, default=0.012)
    p.add_argument("--lexical", type=float, default=0.35, help="share of the second teacher; in `layers` 0.7 of it")
    p.add_argument("--layers", type=int, default=1500)
    p.add_argument("--last", type=int, default=900)
    p.add_argument("--meaning", type=int, default=300, help="steps of each of its three ways")
    p.add_argument("--share-of-last", type=float, default=0.6, help="what of the weights is those after the stage `last`, the rest those before it")
    p.add_argument("--second-rate", type=float, default=0.05)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--rate", type=float, default=6e-4)
    p.add_argument("--word-rate", type=float, default=1e-3)
    p.add_argument("--scale", type=float, default=22.0)
    p.add_argument("--graded", type=float, default=1.0, help="weight of the graded pairs beside the contrastive loss")
    p.add_argument("--eval")
    p.add_argument("--every", type=int, default=500)
    p.add_argument("--until", choices=["static", "sharp", "layers", "last", "meaning"], default="meaning")
    o = p.parse_args()
    torch.set_flush_denormal(True)
    torch.set_num_threads(o.threads)
    torch.manual_seed(o.seed)
    c = Corpus(o.data, o.seed)
    model = Encoder(len(c.vocab))
    for name, stage in (("static", static), ("sharp", sharp), ("layers", layers), ("last", last), ("meaning", meaning)):
        path = f"{o.out}.{name}.pt"
        if os.path.exists(path):
            model.load_state_dict(torch.load(path)["state"])
        else:
            print("stage", name, flush=True)
            stage(model, c, o)
            torch.save({"vocab": c.vocab, "state": model.state_dict()}, path)
            look(model, c, o, layers=name in ("layers", "last", "meaning"))
        if name == o.until:
            break


if __name__ == "__main__":
    main()
