#!/usr/bin/env python3
"""export.py STUDENT DATA TEACHER FOLDER [--f32]: write the sentence-transformers layout.

The DROPPED pieces that are rarest in the training texts (DATA/texts.npz) are left out. STUDENT is what distill.py saved (OUT.pt.mean), TEACHER the folder whose tokenizer it shares. Matrices are written as I8 with a
scale for each row (`NAME.scales`, F32), vectors as F32: a quarter of the size, read by searchd. --f32 writes the same numbers as
plain F32, for sentence-transformers and for comparison.
"""
import json
import os
import sys

import numpy as np
import torch
from safetensors.numpy import save_file

from student import CLS, EPS, SEP

DROPPED = 400


def tensors(state):
    """Our names to BERT's."""
    out = {}
    top = {"word": "word_embeddings", "position": "position_embeddings", "segment": "token_type_embeddings", "norm": "LayerNorm"}
    parts = {"out": "attention.output.dense", "norm1": "attention.output.LayerNorm", "up": "intermediate.dense", "down": "output.dense",
             "norm2": "output.LayerNorm"}
    for name, x in state.items():
        x, path = x.float().numpy(), name.split(".")
        if path[0] != "layers":
            out[f"embeddings.{top[path[0]]}.{path[1]}"] = x
        elif path[2] == "qkv":
            for part, y in zip(("query", "key", "value"), np.split(x, 3)):
                out[f"encoder.layer.{path[1]}.attention.self.{part}.{path[3]}"] = y
        else:
            out[f"encoder.layer.{path[1]}.{parts[path[2]]}.{path[3]}"] = x
    return out


def main():
    student, data, teacher, folder = sys.argv[1:5]
    c = torch.load(student, weights_only=False)
    vocab, shape = [str(w) for w in c["vocab"]], c["shape"]
    count = np.bincount(np.load(data + "/texts.npz")["ids"], minlength=len(vocab))
    count[[i for i, w in enumerate(vocab) if i < 5 or len(w.removeprefix("##")) == 1]] = count.max()
    kept = np.sort(np.argsort(-count, kind="stable")[: len(vocab) - DROPPED])
    vocab = [vocab[i] for i in kept]
    c["state"]["word.weight"] = c["state"]["word.weight"][torch.from_numpy(kept)]
    os.makedirs(folder + "/1_Pooling", exist_ok=True)
    arrays = {}
    for name, x in tensors(c["state"]).items():
        if x.ndim == 1:
            arrays[name] = x
            continue
        scale = np.maximum(np.abs(x).max(1), 1e-12).astype(np.float32) / 127
        q = np.clip(np.rint(x / scale[:, None]), -127, 127).astype(np.int8)
        if "--f32" in sys.argv:
            arrays[name] = q.astype(np.float32) * scale[:, None]
        else:
            arrays[name], arrays[name + ".scales"] = q, scale
    save_file({n: np.ascontiguousarray(x) for n, x in arrays.items()}, folder + "/model.safetensors", metadata={"format": "pt"})

    def dump(value, name, indent=1):
        with open(f"{folder}/{name}", "w", encoding="utf8") as f:
            json.dump(value, f, indent=indent, ensure_ascii=False, separators=None if indent else (",", ":"))
            f.write("\n")

    dump({"architectures": ["BertModel"], "model_type": "bert", "hidden_size": shape["hidden"], "num_hidden_layers": shape["layers"],
          "num_attention_heads": shape["heads"], "intermediate_size": shape["inter"], "hidden_act": "gelu", "layer_norm_eps": EPS,
          "max_position_embeddings": shape["positions"], "type_vocab_size": 2, "vocab_size": len(vocab), "pad_token_id": 0,
          "position_embedding_type": "absolute"}, "config.json")
    tokenizer = json.load(open(teacher + "/tokenizer.json", encoding="utf8"))
    number = {w: i for i, w in enumerate(vocab)}
    tokenizer["truncation"] = tokenizer["padding"] = None
    tokenizer["model"]["vocab"] = number
    for t in tokenizer["added_tokens"]:
        t["id"] = number[t["content"]]
    for name, i in (("[CLS]", CLS), ("[SEP]", SEP)):
        tokenizer["post_processor"]["special_tokens"][name]["ids"] = [i]
    dump(tokenizer, "tokenizer.json", None)
    dump([{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t}
          for i, (p, t) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")))], "modules.json")
    dump({"word_embedding_dimension": shape["hidden"], "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
          "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}, "1_Pooling/config.json")
    dump({"max_seq_length": shape["positions"], "do_lower_case": False}, "sentence_bert_config.json")
    print(folder, sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(folder) for f in fs), "bytes")


if __name__ == "__main__":
    main()
