#!/usr/bin/env python3
"""distill.py DATA MINILM OUT.pt [options]: train the student.

DATA is what texts.py wrote, with the teachers' vectors beside it: shards/t.NN.minilm.f32 and shards/t.NN.bge.f32, raw rows of 384
numbers in the order of texts.jsonl. The first --states steps teach the student the states and vectors of MiniLM, which runs beside it,
so that they need no shards; the other steps teach it the vectors and the similarities of both teachers. A run is continued from OUT.pt
where it exists (a checkpoint every ten minutes).
"""
import argparse
import glob
import math
import os
import time

import numpy as np
import torch
import torch.nn.functional as F

from student import Batch, Encoder, begin, teacher

p = argparse.ArgumentParser()
p.add_argument("data")
p.add_argument("minilm")
p.add_argument("out")
p.add_argument("--steps", type=int, default=3000)
p.add_argument("--states", type=int, default=600)
p.add_argument("--batch", type=int, default=128, help="pairs")
p.add_argument("--rate", type=float, default=6e-4)
p.add_argument("--word-rate", type=float, default=3e-4)
p.add_argument("--inter", type=int, default=1152)
p.add_argument("--layers", default="0,2,5")
p.add_argument("--bge", type=float, default=0.5, help="share of bge in the similarities")
p.add_argument("--hard", type=float, default=0.1, help="share of the pairs themselves in the contrastive loss")
p.add_argument("--temperature", type=float, default=0.05)
p.add_argument("--seed", type=int, default=0)
p.add_argument("--minutes", type=float, default=1e9, help="end of the schedule where it comes before --steps")
p.add_argument("--stop", type=int, help="end after this step of the schedule, to be continued")
p.add_argument("--save", type=float, default=600, help="seconds between checkpoints")
p.add_argument("--start", help="checkpoint to begin from, with a new schedule")
o = p.parse_args()
torch.manual_seed(o.seed)
torch.set_flush_denormal(True)

d = np.load(o.data + "/texts.npz")
ends = d["ends"]
ids, starts = d["ids"], np.concatenate([[0], ends[:-1]])
row = lambda i: ids[starts[i]: ends[i]]


def labels(name):
    files = sorted(glob.glob(f"{o.data}/shards/t.*.{name}.f32"))
    return np.concatenate([np.fromfile(f, np.float32).reshape(-1, 384) for f in files]) if files else None


def mixture(m, b, share):
    """Unit vectors of 384 numbers whose products are the weighted sum of both teachers' (bge's without the mean of all, which
    spreads its cosines), turned so that they lie as near to MiniLM's vectors as a rotation can bring them."""
    b = b - b.mean(0)
    b /= np.linalg.norm(b, axis=1, keepdims=True)
    x = np.concatenate([math.sqrt(1 - share) * m, math.sqrt(share) * b], 1)
    s = x[:: max(1, len(x) // 60_000)]
    _, v = np.linalg.eigh((s.T @ s).astype(np.float64))
    v = v[:, -384:].astype(np.float32)
    u, _, w = np.linalg.svd((s @ v).T @ m[:: max(1, len(x) // 60_000)])
    t = x @ (v @ (u @ w))
    return t / np.linalg.norm(t, axis=1, keepdims=True)


stop = o.stop or o.steps
pairs, target = len(ends) // 2, None
if stop > o.states:
    m, b = labels("minilm"), labels("bge")
    n = min(len(m), len(b))
    target = torch.from_numpy(mixture(m[:n], b[:n], o.bge))
    print(n, "texts with vectors; cosine of target and MiniLM", float((target * torch.from_numpy(m[:n])).sum(1).mean()), flush=True)
    del m, b
    pairs = n // 2

full = teacher(o.minilm)  # begins the student, and shows it token states at first
to_teacher = torch.from_numpy(d["teacher"])
model = Encoder(len(d["vocab"]), inter=o.inter, layers=len(o.layers.split(",")))
rng = np.random.default_rng(o.seed)
step, began = 0, time.time()
saved = torch.load(o.out) if os.path.exists(o.out) else None
if saved:
    model.load_state_dict(saved["state"])
elif o.start:
    model.load_state_dict(torch.load(o.start, weights_only=False)["state"])
else:
    begin(model, full, to_teacher, [int(i) for i in o.layers.split(",")], Batch([row(i) for i in rng.integers(0, 2 * pairs, 128)]))
full = full.to(torch.bfloat16).requires_grad_(False)
rest = [q for name, q in model.named_parameters() if name != "word.weight"]
opt = torch.optim.AdamW([dict(params=rest, base=o.rate), dict(params=[model.word.weight], base=o.word_rate)], lr=o.rate, betas=(0.9, 0.98),
                        weight_decay=0.0, fused=True)
mean = {k: v.clone() for k, v in model.state_dict().items()}
if saved:
    opt.load_state_dict(saved["opt"])
    step, mean, began = saved["step"], saved["mean"], time.time() - saved["spent"]
    rng = np.random.default_rng(o.seed + step)


def encode(rows, states):
    """Vectors of rows; with `states` also the teacher's, and how far the token states are from its."""
    x = Batch(rows)
    with torch.autocast("cpu", torch.bfloat16):
        y = model.states(x)
    off, t = torch.zeros(()), None
    if states:
        with torch.no_grad():
            z = full.states(x, to_teacher[x.ids]).float()
        off, t = (1 - F.cosine_similarity(y.float(), z, dim=-1)).mean(), x.pooled(z)
    return x.pooled(y), t, off


def save(path, what):
    torch.save(what, path + ".part")
    os.replace(path + ".part", path)


def keep():
    """Saves what a later run needs to go on, and the averaged weights for export.py."""
    save(o.out, {"step": step, "spent": time.time() - began, "state": model.state_dict(), "mean": mean, "opt": opt.state_dict()})
    save(o.out + ".mean", {"vocab": [str(w) for w in d["vocab"]], "shape": model.shape, "state": mean, "step": step})


last, shown = time.time(), None
order = rng.permutation(pairs)
at = 0
while step < stop and time.time() - began < 60 * o.minutes:
    if at + o.batch > len(order):
        order, at = rng.permutation(pairs), 0
    chosen = order[at: at + o.batch]
    at += o.batch
    which = np.concatenate([2 * chosen, 2 * chosen + 1])
    states = step < o.states
    v, t, off = encode([row(i) for i in which], states)
    if t is None:
        t = target[torch.from_numpy(which)]
    a, c, ta, tc = v[: o.batch], v[o.batch:], t[: o.batch], t[o.batch:]
    near = (1 - (v * t).sum(1)).mean()
    like = ((v @ v.T - t @ t.T) ** 2).mean()
    soft = torch.zeros(())
    for x, y in ((a @ c.T, ta @ tc.T), (c @ a.T, tc @ ta.T), (a @ v.T, ta @ t.T)):
        want = (y / o.temperature).softmax(1)
        log = (x / o.temperature).log_softmax(1)
        soft = soft + (want * (want.clamp(min=1e-9).log() - log)).sum(1).mean()
    hard = F.cross_entropy(a @ c.T / o.temperature, torch.arange(o.batch))
    loss = 3 * near + 5 * like + 0.2 * soft + o.hard * hard + (1.0 * off if states else 0)
    part = min(1, max(step / o.steps, (time.time() - began) / (60 * o.minutes)))
    rate = min(1, (step + 1) / 100) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * part)))
    for g in opt.param_groups:
        g["lr"] = g["base"] * rate
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    step += 1
    for k, x in model.state_dict().items():
        mean[k].lerp_(x, 1 - min(0.99, step / (step + 10)))
    now = np.array([x.item() for x in (near, like * 100, soft, hard, off)])
    shown = now if shown is None else 0.95 * shown + 0.05 * now
    if step % 25 == 0:
        print(step, "near %.4f like %.4f soft %.4f hard %.4f states %.4f" % tuple(shown), "%.0f s" % (time.time() - began), flush=True)
    if time.time() - last > o.save:
        keep()
        last = time.time()
keep()
