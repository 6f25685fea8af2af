#!/usr/bin/env python3
"""export.py CHECKPOINT.pt FOLDER [--f32]: the sentence-transformers layout.

Matrices are written as I8 with a scale for each row (`NAME.scales`, F32), vectors as F32: a quarter of the size, read by
searchd. --f32 writes the same numbers as plain F32, for sentence-transformers and for comparison: both give equal vectors.
"""
import json
import os
import struct
import sys

import numpy as np
import torch

from model import EPS, HEADS, HIDDEN, INTER, POSITIONS
from wordpiece import CLS, SEP, SPECIAL

MAX_TOKENS = 256


def tensors(state):
    """Our names to BERT's."""
    def rename(name):
        for ours, theirs in (("word.", "embeddings.word_embeddings."), ("position.", "embeddings.position_embeddings."),
                             ("segment.", "embeddings.token_type_embeddings."), ("norm.", "embeddings.LayerNorm.")):
            if name.startswith(ours):
                return theirs + name[len(ours):]
        _, layer, part, kind = name.split(".")
        parts = {"out": "attention.output.dense", "norm1": "attention.output.LayerNorm", "up": "intermediate.dense",
                 "down": "output.dense", "norm2": "output.LayerNorm"}
        return f"encoder.layer.{layer}.{parts[part]}.{kind}"

    out = {}
    for name, x in state.items():
        x = x.float().numpy()
        if ".qkv." in name:
            _, layer, _, kind = name.split(".")
            for part, y in zip(("query", "key", "value"), np.split(x, 3)):
                out[f"encoder.layer.{layer}.attention.self.{part}.{kind}"] = y
        else:
            out[rename(name)] = x
    return out


def as_bytes(x):
    """A matrix as I8 with a scale for each row."""
    scale = np.maximum(np.abs(x).max(1), 1e-12).astype(np.float32) / 127
    return np.clip(np.rint(x / scale[:, None]), -127, 127).astype(np.int8), scale


def write(path, arrays):
    types = {"int8": "I8", "float32": "F32"}
    head, at = {"__metadata__": {"format": "pt"}}, 0
    for name, x in arrays.items():
        head[name] = {"dtype": types[str(x.dtype)], "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    h = json.dumps(head, separators=(",", ":")).encode()
    h += b" " * (-len(h) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(h)) + h)
        for x in arrays.values():
            f.write(np.ascontiguousarray(x).tobytes())


def main():
    checkpoint, folder = sys.argv[1:3]
    c = torch.load(checkpoint)
    vocab, layers = c["vocab"], 1 + max(int(n.split(".")[1]) for n in c["state"] if n.startswith("layers."))
    os.makedirs(folder + "/1_Pooling", exist_ok=True)
    arrays = {}
    for name, x in tensors(c["state"]).items():
        if name == "embeddings.position_embeddings.weight":
            x = x[:MAX_TOKENS]
        if x.ndim == 1:
            arrays[name] = x.astype(np.float32)
            continue
        q, scale = as_bytes(x)
        if "--f32" in sys.argv:
            arrays[name] = q.astype(np.float32) * scale[:, None]
        else:
            arrays[name], arrays[name + ".scales"] = q, scale
    write(folder + "/model.safetensors", arrays)

    def dump(value, name, indent=1):
        with open(f"{folder}/{name}", "w", encoding="utf8") as f:
            json.dump(value, f, indent=indent, ensure_ascii=False, separators=None if indent else (",", ":"))
            f.write("\n")

    dump({"architectures": ["BertModel"], "model_type": "bert", "hidden_size": HIDDEN, "num_hidden_layers": layers, "num_attention_heads": HEADS,
          "intermediate_size": INTER, "hidden_act": "gelu", "layer_norm_eps": EPS, "max_position_embeddings": MAX_TOKENS, "type_vocab_size": 2,
          "vocab_size": len(vocab), "pad_token_id": 0, "position_embedding_type": "absolute"}, "config.json")
    special = [{"id": i, "content": s, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True} for i, s in enumerate(SPECIAL)]

    def token(n, kind=0):
        return {"SpecialToken": {"id": n, "type_id": kind}}

    def text(n, kind):
        return {"Sequence": {"id": n, "type_id": kind}}

    dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
          "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": True, "lowercase": True},
          "pre_tokenizer": {"type": "BertPreTokenizer"},
          "post_processor": {"type": "TemplateProcessing", "single": [token("[CLS]"), text("A", 0), token("[SEP]")],
                             "pair": [token("[CLS]"), text("A", 0), token("[SEP]"), text("B", 1), token("[SEP]", 1)],
                             "special_tokens": {n: {"id": n, "ids": [i], "tokens": [n]} for n, i in (("[CLS]", CLS), ("[SEP]", SEP))}},
          "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
          "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                    "vocab": {w: i for i, w in enumerate(vocab)}}}, "tokenizer.json", None)
    dump([{"idx": i, "name": str(i), "path": p, "type": "sentence_transformers.models." + t}
          for i, (p, t) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")))], "modules.json")
    dump({"word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False,
          "pooling_mode_mean_sqrt_len_tokens": False}, "1_Pooling/config.json")
    dump({"max_seq_length": MAX_TOKENS, "do_lower_case": False}, "sentence_bert_config.json")
    print(folder, sum(x.nbytes for x in arrays.values()), "bytes of weights")


if __name__ == "__main__":
    main()
