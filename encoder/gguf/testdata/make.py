"""Writes small random GGUF files with the vectors that transformers gives for the weights in them.

    pip install torch transformers sentence-transformers gguf
    python make.py --out DIR [--seed 1] [--texts 8]

Each model is drawn as in ../../testdata/families/make.py. Its matrices are first rounded to the type of
the file, so that the expected vectors hold for every type within 2e-5.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType as T
from gguf import GGUFWriter, PoolingType, TokenType
from gguf.quants import dequantize, quantize
from safetensors.torch import load_file

sys.path.insert(0, str(Path(__file__).parent / "../../testdata/families"))
import make as families


def quantize_q4_k(w):
    """Blocks of 256 numbers in eight parts, each with a scale and a minimum of 6 bits."""
    parts = w.reshape(-1, 8, 32).astype(np.float64)
    least = np.minimum(parts.min(-1), 0)
    step = (parts.max(-1) - least) / 15
    d, dmin = (np.float16(x.max(-1, keepdims=True) / 63) for x in (step, -least))
    scale, low = (np.clip(np.rint(x / np.maximum(y.astype(np.float64), 1e-12)), 0, 63).astype(np.uint8) for x, y in ((step, d), (-least, dmin)))
    real_step, real_low = d.astype(np.float64) * scale, dmin.astype(np.float64) * low
    q = np.clip(np.rint((parts + real_low[..., None]) / np.maximum(real_step, 1e-12)[..., None]), 0, 15).astype(np.uint8)
    packed = np.concatenate([scale[:, :4] | scale[:, 4:] >> 4 << 6, low[:, :4] | low[:, 4:] >> 4 << 6, scale[:, 4:] & 15 | (low[:, 4:] & 15) << 4], -1)
    nibbles = (q[:, 0::2] | q[:, 1::2] << 4).reshape(len(q), -1)
    blocks = np.concatenate([d.view(np.uint8), dmin.view(np.uint8), packed, nibbles], -1)
    return blocks.reshape(*w.shape[:-1], -1)


def rounded(w, kind):
    """The bytes of w in a type, and the numbers that they mean."""
    w = np.ascontiguousarray(w, dtype=np.float32)
    raw = quantize_q4_k(w) if kind == T.Q4_K else quantize(w, kind)
    return raw, dequantize(raw, kind).reshape(w.shape).astype(np.float32)


def vocabulary(w, tokenizer, kind, pre=None):
    t = tokenizer[0]
    data = json.loads(t.to_str())
    size = t.get_vocab_size()
    tokens, types, scores = [""] * size, [TokenType.NORMAL] * size, [0.0] * size
    model = data["model"]
    if isinstance(model["vocab"], dict):
        for token, i in model["vocab"].items():
            tokens[i], scores[i] = token, -float(i)
    else:
        for i, (token, score) in enumerate(model["vocab"]):
            tokens[i], scores[i] = token, score
    for a in data["added_tokens"]:
        tokens[a["id"]] = a["content"]
        types[a["id"]] = TokenType.UNKNOWN if a["content"] in ("<unk>",) else TokenType.CONTROL
    if kind == "bert":
        tokens = [x if x.startswith("[") and x.endswith("]") else x[2:] if x.startswith("##") else "\u2581" + x for x in tokens]
    if kind == "llama":
        types = [TokenType.BYTE if x.startswith("<0x") else y for x, y in zip(tokens, types)]
    w.add_tokenizer_model(kind)
    if pre:
        w.add_tokenizer_pre(pre)
    w.add_token_list(tokens)
    w.add_token_types(types)
    if kind in ("llama", "t5"):
        w.add_token_scores(scores)
    if kind == "gpt2":
        w.add_token_merges([" ".join(m) for m in model["merges"]])
    named = {"[CLS]": w.add_bos_token_id, "[SEP]": w.add_sep_token_id, "[UNK]": w.add_unk_token_id, "<s>": w.add_bos_token_id,
             "</s>": w.add_eos_token_id, "<unk>": w.add_unk_token_id, "<bos>": w.add_bos_token_id, "<eos>": w.add_eos_token_id,
             "<|begin_of_text|>": w.add_bos_token_id, "<|end_of_text|>": w.add_eos_token_id}
    for token, add in named.items():
        if token in tokens:
            add(tokens.index(token))
    if kind != "bert":
        w.add_add_bos_token(True)
        w.add_add_eos_token(True)
    if kind == "llama":
        w.add_add_space_prefix(False)


def merges_of_scores(tokenizer):
    """Gives a BPE tokenizer the merges that SentencePiece's scores mean: what a GGUF file can say."""
    t, settings = tokenizer
    data = json.loads(t.to_str())
    vocab = data["model"]["vocab"]
    special = {a["content"] for a in data["added_tokens"]}
    merges = [(i, vocab[x[:k]], vocab[x[k:]], x[:k], x[k:]) for x, i in vocab.items() if x not in special for k in range(1, len(x))
              if x[:k] in vocab and x[k:] in vocab]
    data["model"]["merges"] = [[m[3], m[4]] for m in sorted(merges)]
    return families.Tokenizer.from_str(json.dumps(data)), settings


LLAMA = {"embed_tokens": "token_embd", "norm": "output_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "input_layernorm": "attn_norm",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
GEMMA = LLAMA | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                 "post_feedforward_layernorm": "post_ffw_norm"}
BERT = {"embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm", "attention.self.query": "attn_q",
        "attention.self.key": "attn_k", "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
        "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down",
        "output.LayerNorm": "layer_output_norm"}
NOMIC = {"embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types", "emb_ln": "token_embd_norm",
         "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output", "mixer.Wqkv": "attn_qkv", "mixer.out_proj": "attn_output",
         "norm1": "attn_output_norm", "norm2": "layer_output_norm", "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate", "mlp.fc1": "ffn_up",
         "mlp.fc2": "ffn_down", "mlp.router.layer": "ffn_gate_inp"}


def renamed(name, table):
    base, kind = name.rsplit(".", 1)
    parts = base.split(".")
    for at, part in enumerate(parts):
        if part.isdigit():
            return f"blk.{part}.{table['.'.join(parts[at + 1:])]}.{kind}"
    return f"{table[base]}.{kind}"


def gemma(kind, rng, texts):
    from transformers import Gemma3TextConfig, Gemma3TextModel
    tok = merges_of_scores(families.bpe_tokenizer())
    c = Gemma3TextConfig(vocab_size=tok[0].get_vocab_size(), hidden_size=32, intermediate_size=64, num_hidden_layers=6, num_attention_heads=2,
                         num_key_value_heads=1, head_dim=16, max_position_embeddings=640, sliding_window=64, query_pre_attn_scalar=16,
                         use_bidirectional_attention=True)

    def meta(w):
        w.add_key_length(16)
        w.add_head_count_kv(1)
        w.add_layer_norm_rms_eps(1e-6)
        w.add_rope_freq_base(1e6)
        w.add_sliding_window(64)
        vocabulary(w, tok, "llama")

    return Gemma3TextModel(c), tok, "gemma-embedding", GEMMA, meta, dict(pooling="mean_tokens", dense=[(32, 64), (64, 32)])


def llama_like(arch, model, config, tok, pre, pooling, **extra):
    def meta(w):
        w.add_head_count_kv(config.num_key_value_heads)
        w.add_layer_norm_rms_eps(config.rms_norm_eps)
        w.add_rope_freq_base(config.rope_parameters["rope_theta"])
        for name, value in extra.items():
            getattr(w, "add_" + name)(value)
        vocabulary(w, tok, "gpt2", pre)

    return model(config), tok, arch, LLAMA, meta, dict(pooling=pooling)


SMALL = dict(vocab_size=families.VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=640, pad_token_id=1, bos_token_id=0, eos_token_id=1)


def eurobert(kind, rng, texts):
    from transformers import EuroBertConfig, EuroBertModel
    return llama_like("eurobert", EuroBertModel, EuroBertConfig(**SMALL, rope_theta=250000.0), families.byte_tokenizer(), "gpt-2", "mean_tokens",
                      causal_attention=False)


def qwen3(kind, rng, texts):
    from transformers import Qwen3Config, Qwen3Model
    return llama_like("qwen3", Qwen3Model, Qwen3Config(**SMALL, head_dim=12), families.byte_tokenizer(), "gpt-2", "lasttoken",
                      key_length=12)


def llama(kind, rng, texts):
    from transformers import LlamaConfig, LlamaModel
    return llama_like("llama", LlamaModel, LlamaConfig(**SMALL), families.byte_tokenizer(), "gpt-2", "mean_tokens",
                      causal_attention=True)


def bert(kind, rng, texts):
    from transformers import BertConfig, BertModel
    tok, wide = families.wordpiece_tokenizer(), kind == T.Q4_K
    h, inner, layers = (256, 256, 1) if wide else (32, 64, 2)
    c = BertConfig(vocab_size=tok[0].get_vocab_size(), hidden_size=h, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=4,
                   max_position_embeddings=640)

    def meta(w):
        w.add_layer_norm_eps(1e-12)
        w.add_causal_attention(False)
        vocabulary(w, tok, "bert")

    return BertModel(c, add_pooling_layer=False), tok, "bert", BERT, meta, dict(pooling="cls_token")


def nomic(kind, rng, texts):
    from transformers import NomicBertConfig, NomicBertModel
    tok = families.wordpiece_tokenizer()
    c = NomicBertConfig(vocab_size=tok[0].get_vocab_size(), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                        max_position_embeddings=640)

    def meta(w):
        w.add_layer_norm_eps(1e-12)
        w.add_rope_freq_base(1000.0)
        vocabulary(w, tok, "bert")

    return NomicBertModel(c), tok, "nomic-bert", NOMIC, meta, dict(pooling="mean_tokens")


def jina_v3(kind, rng, texts):
    from transformers import JinaEmbeddingsV3Config, JinaEmbeddingsV3Model
    tok = families.unigram_tokenizer()
    c = JinaEmbeddingsV3Config(vocab_size=tok[0].get_vocab_size(), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                               num_attention_heads=4, max_position_embeddings=640)

    def meta(w):
        w.add_layer_norm_eps(1e-5)
        w.add_rope_freq_base(20000.0)
        vocabulary(w, tok, "t5")

    return JinaEmbeddingsV3Model(c, add_pooling_layer=False), tok, "jina-bert-v3", NOMIC, meta, dict(pooling="mean_tokens")


def turned(w, heads):
    """The order of rows that llama.cpp wants for Llama: dimensions that turn together are neighbours."""
    return w.reshape(heads, 2, len(w) // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def write(out, name, kind, make, rng, texts):
    model, tok, arch, table, meta, layout = make(kind, rng, texts)
    config = model.config
    families.jitter(model)
    raws = {}
    with torch.no_grad():
        for key, p in model.named_parameters():
            if p.dim() == 2 and p.shape[-1] % (256 if kind == T.Q4_K else 32) == 0 and "token_type" not in key:
                raws[key], w = rounded(p.numpy(), kind)
                p.copy_(torch.from_numpy(w))
    real = families.jitter
    families.jitter = lambda m: None
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        families.by_library(folder, model, tok, rng, texts, config.hidden_size, **layout)
        shutil.copy(folder / "expected.json", out / f"{name}.json")
        stored = load_file(folder / "model.safetensors")
        dense = [load_file(folder / f"{i}_Dense/model.safetensors")["linear.weight"] for i in (2, 3)
                 if (folder / f"{i}_Dense").exists()]
    families.jitter = real
    w = GGUFWriter(str(out / f"{name}.gguf"), arch)
    w.add_name(name)
    w.add_context_length(config.max_position_embeddings)
    w.add_embedding_length(config.hidden_size)
    w.add_block_count(config.num_hidden_layers)
    w.add_feed_forward_length(config.intermediate_size)
    w.add_head_count(config.num_attention_heads)
    w.add_pooling_type({"mean_tokens": PoolingType.MEAN, "cls_token": PoolingType.CLS, "lasttoken": PoolingType.LAST}[layout["pooling"]])
    meta(w)
    for key, value in stored.items():
        x = value.numpy()
        if arch == "gemma-embedding" and key.endswith("norm.weight"):
            x = x + 1
        if arch == "llama" and key.rsplit(".", 2)[-2] in ("q_proj", "k_proj"):
            x = turned(x, config.num_attention_heads if "q_proj" in key else config.num_key_value_heads)
        if x.shape[0] == 1:
            x = x.squeeze(0)
        to = renamed(key, table)
        if key in raws and kind != T.F32:
            w.add_tensor(to, raws[key], raw_dtype=kind)
        else:
            w.add_tensor(to, np.ascontiguousarray(x))
    for i, x in enumerate(dense):
        w.add_tensor(f"dense_{i + 2}.weight", x.numpy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def write_experts(out, name, kind, rng, texts):
    """NomicBERT v2, without the bias of its mixtures, which a GGUF file does not have."""
    draw = families.draw
    families.draw = lambda shapes: {k: w * 0 if k.endswith("experts.bias") else w for k, w in draw(shapes).items()}
    with tempfile.TemporaryDirectory() as at:
        families.nomic_moe(Path(at), rng, texts)
        shutil.copy(at + "/expected.json", out / f"{name}.json")
        stored, config = load_file(at + "/model.safetensors"), json.loads(Path(at, "config.json").read_text())
        tokenizer = families.Tokenizer.from_file(at + "/tokenizer.json")  # two trainings may differ
    families.draw = draw
    w = GGUFWriter(str(out / f"{name}.gguf"), "nomic-bert-moe")
    w.add_context_length(640)
    w.add_embedding_length(config["n_embd"])
    w.add_block_count(config["n_layer"])
    w.add_feed_forward_length(config["n_inner"])
    w.add_head_count(config["n_head"])
    w.add_pooling_type(PoolingType.MEAN)
    w.add_layer_norm_eps(1e-5)
    w.add_rope_freq_base(10000.0)
    w.add_expert_count(config["num_experts"])
    w.add_expert_used_count(config["moe_top_k"])
    w.add_moe_every_n_layers(2)
    vocabulary(w, (tokenizer, {}), "t5")
    for key, value in stored.items():
        x, layer = value.numpy(), key.split(".")[2] if key.startswith("encoder") else ""
        shape = (config["num_experts"], config["n_inner"], config["n_embd"])
        if key.endswith("experts.bias"):
            continue
        if key.endswith("w1"):
            w.add_tensor(f"blk.{layer}.ffn_up_exps.weight", x.reshape(shape))
        elif key.endswith("w2"):
            w.add_tensor(f"blk.{layer}.ffn_down_exps.weight", np.ascontiguousarray(x.reshape(shape).swapaxes(1, 2)))
        else:
            w.add_tensor(renamed(key, NOMIC), x.squeeze(0) if x.shape[0] == 1 else x)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def blocks(out, rng):
    """Random blocks of every type with the numbers that they mean."""
    entries = []
    state = np.random.default_rng(rng.randrange(1 << 30))
    for kind, size in ((T.Q4_0, 18), (T.Q4_1, 20), (T.Q5_0, 22), (T.Q5_1, 24), (T.Q8_0, 34), (T.Q4_K, 144), (T.Q5_K, 176), (T.Q6_K, 210), (T.BF16, 2), (T.F16, 2)):
        for _ in range(2):
            b = state.integers(0, 256, size, dtype=np.uint8)
            halves = {T.Q4_1: (0, 2), T.Q5_1: (0, 2), T.Q4_K: (0, 2), T.Q5_K: (0, 2), T.Q6_K: (208,), T.BF16: ()}.get(kind, (0,))
            for at in halves:
                b[at:at + 2] = np.frombuffer(np.float16(state.normal()).tobytes(), np.uint8)
            if kind == T.BF16:
                b = np.frombuffer(np.float32(state.normal()).tobytes(), np.uint8)[2:].copy()
            entries.append({"type": kind.name, "bytes": b.tobytes().hex(), "numbers": [float(x) for x in dequantize(b[None], kind).reshape(-1)]})
    (out / "blocks.json").write_text(json.dumps(entries) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME")
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--texts", type=int, default=8)
    o = p.parse_args()
    o.out.mkdir(parents=True, exist_ok=True)
    blocks(o.out, random.Random(o.seed))
    for name, kind, make in [("gemma-q8_0", T.Q8_0, gemma), ("eurobert-f16", T.F16, eurobert), ("qwen3-q8_0", T.Q8_0, qwen3),
                             ("llama-f32", T.F32, llama), ("bert-q4_k", T.Q4_K, bert), ("bert-f16", T.F16, bert), ("nomic-q8_0", T.Q8_0, nomic),
                             ("jina-v3-q8_0", T.Q8_0, jina_v3), ("nomic-moe-f32", T.F32, None)]:
        if o.names and name not in o.names:
            continue
        torch.manual_seed(o.seed)
        if make:
            write(o.out, name, kind, make, random.Random(o.seed), o.texts)
        else:
            write_experts(o.out, name, kind, random.Random(o.seed), o.texts)
        print(name)


if __name__ == "__main__":
    main()
