"""Writes small random checkpoints with the vectors that their reference gives.

    pip install torch transformers sentence-transformers
    python make.py --out DIR [--seed 1] [--texts 24] [NAME ...]

Families that transformers has are computed by it, through sentence-transformers. NomicBERT with
experts and NeoBERT, whose published code is not a package, are written down below from their
formulas and tensor names. The folders beside this file are the output with the default seed.
"""

import argparse
import json
import math
import random
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

VOCAB = 320
WORDS = """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which one
you were all her she there would their we him been has when who will no more if out so up said what its about than into them can
only other time new some could these two may first then do any like my now over such our man me even most made after also did
many before must through years where much your way well down should because each just those people Mr how too little state good
very make world still see own work men long here get both between life being under never day same another know while last might
us great old year off come since against go came right used take three river mountain harbour engine protein quantum Straße café
naïve 東京 москва δοκιμή 12 3.5 2024 data-base""".split()


def texts(rng, count):
    """Texts of 1 to about 600 tokens."""
    lengths = [1, 2, 3, 5, 600, 450] + [int(math.exp(rng.uniform(0, math.log(500)))) for _ in range(count)]
    return [" ".join(rng.choice(WORDS) for _ in range(n)) for n in lengths[:count]]


def corpus():
    rng = random.Random(7)
    return [" ".join(rng.choice(WORDS) for _ in range(40)) for _ in range(200)]


def bpe_tokenizer():
    """As Gemma has it: blanks become ▁, unknown characters become bytes."""
    special = ["<pad>", "<eos>", "<bos>", "<unk>"]
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    t = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.train_from_iterator([c.replace("東京", "") for c in corpus()],
                          trainers.BpeTrainer(vocab_size=VOCAB + 80, special_tokens=special + bytes_))
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    t.post_processor = processors.TemplateProcessing("<bos> $A <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)])
    return t, {"tokenizer_class": "GemmaTokenizer", "add_bos_token": True, "add_eos_token": True, "bos_token": "<bos>",
               "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}


def byte_tokenizer():
    """As EuroBERT has it: Llama 3's bytes, between a begin and an end token."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=["<|begin_of_text|>", "<|end_of_text|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.TemplateProcessing("<|begin_of_text|> $A <|end_of_text|>",
                                                     special_tokens=[("<|begin_of_text|>", 0), ("<|end_of_text|>", 1)])
    return t, {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>",
               "pad_token": "<|end_of_text|>"}


def unigram_tokenizer():
    """As XLM-RoBERTa has it."""
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(
        vocab_size=VOCAB, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>"))
    t.decoder = decoders.Metaspace()
    t.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t, {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
               "unk_token": "<unk>", "model_input_names": ["input_ids", "attention_mask"]}


def wordpiece_tokenizer():
    """As BERT has it."""
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(
        vocab_size=VOCAB, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t, {"tokenizer_class": "PreTrainedTokenizerFast", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]",
               "unk_token": "[UNK]", "mask_token": "[MASK]", "model_input_names": ["input_ids", "attention_mask"]}


def jitter(model):
    """Draws every tensor, norms and biases included: what is left at its initial value is not tested."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.9 / math.sqrt(p.shape[-1]) if p.dim() > 1 else 0.2) + (1 if p.dim() == 1 and p.mean() > 0.5 else 0))


def write(folder, name, data):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def frame(folder, tokenizer, hidden, pooling="mean", dense=()):
    """Writes all but the transformer in the layout of sentence-transformers."""
    t, settings = tokenizer
    folder.mkdir(parents=True, exist_ok=True)
    t.save(str(folder / "tokenizer.json"), pretty=False)
    write(folder, "tokenizer_config.json", {"model_max_length": 640} | settings)
    write(folder, "sentence_bert_config.json", {"max_seq_length": 640, "do_lower_case": False})
    modules = [("Transformer", ""), ("Pooling", "1_Pooling")]
    write(folder, "1_Pooling/config.json", {"word_embedding_dimension": hidden, f"pooling_mode_{pooling}": True} |
          ({} if pooling == "mean_tokens" else {"pooling_mode_mean_tokens": False}))
    for i, (n_in, n_out) in enumerate(dense):
        at = f"{i + 2}_Dense"
        write(folder, f"{at}/config.json", {"in_features": n_in, "out_features": n_out, "bias": False,
                                            "activation_function": "torch.nn.modules.linear.Identity"})
        save_file({"linear.weight": torch.randn(n_out, n_in) / math.sqrt(n_in)}, folder / at / "model.safetensors")
        modules.append(("Dense", at))
    modules.append(("Normalize", f"{len(modules)}_Normalize"))
    write(folder, "modules.json", [{"idx": i, "name": str(i), "path": p, "type": f"sentence_transformers.models.{c}"}
                                   for i, (c, p) in enumerate(modules)])


def expect(folder, rng, count, vectors, tokenizer):
    tok, entries = tokenizer[0], []
    for text in texts(rng, count):
        ids = tok.encode(text).ids
        ids = ids if len(ids) <= 640 else ids[:639] + ids[-1:]
        entries.append({"text": text, "ids": ids, "embedding": [round(float(x), 7) for x in vectors(text, ids)]})
    (folder / "expected.json").write_text("[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries) + "\n]\n")


def by_library(folder, model, tokenizer, rng, count, hidden, **layout):
    """Expects what sentence-transformers gives for a model of transformers."""
    jitter(model)
    model.save_pretrained(folder)
    frame(folder, tokenizer, hidden, **layout)
    from sentence_transformers import SentenceTransformer
    st = SentenceTransformer(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})

    def vector(text, ids):
        got = st.tokenize([text])["input_ids"][0].tolist()
        assert got == ids, (text, got, ids)
        return st.encode([text], normalize_embeddings=True)[0]

    expect(folder, rng, count, vector, tokenizer)


def by_formula(folder, config, weights, states, tokenizer, rng, count, hidden):
    """Expects the normalised mean of states(weights, ids)."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "config.json", config)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    frame(folder, tokenizer, hidden, pooling="mean_tokens")

    def vector(text, ids):
        with torch.no_grad():
            v = states(weights, torch.tensor(ids)).mean(0)
            return (v / v.norm()).tolist()

    expect(folder, rng, count, vector, tokenizer)


def draw(shapes):
    return {name: torch.randn(s) * (0.9 / math.sqrt(s[-1])) if len(s) > 1 else torch.randn(s) * 0.2 + (1 if name.endswith("norm.weight")
            or "norm1.weight" in name or "norm2.weight" in name or "ln.weight" in name else 0) for name, s in shapes.items()}


def attend(q, k, v, heads):
    """q, k, v [L, H] to softmax(q·kᵀ/√d)·v."""
    q, k, v = (x.view(len(x), heads, -1).transpose(0, 1) for x in (q, k, v))
    return ((q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).softmax(-1) @ v).transpose(0, 1).flatten(1)


def gemma(folder, rng, count):
    """EmbeddingGemma: Gemma 3 with attention to both sides, a short window, two Dense modules."""
    from transformers import Gemma3TextConfig, Gemma3TextModel
    tokenizer = bpe_tokenizer()
    config = Gemma3TextConfig(vocab_size=tokenizer[0].get_vocab_size() + 3, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
                              num_attention_heads=4, num_key_value_heads=2, head_dim=12, max_position_embeddings=2048, sliding_window=64,
                              query_pre_attn_scalar=20, use_bidirectional_attention=True,
                              layer_types=["sliding_attention", "sliding_attention", "full_attention"])
    by_library(folder, Gemma3TextModel(config), tokenizer, rng, count, 32, pooling="mean_tokens", dense=[(32, 64), (64, 24)])
    write(folder, "config_sentence_transformers.json", {
        "prompts": {"query": "task: search result | query: ", "document": "title: none | text: "}, "default_prompt_name": None,
        "similarity_fn_name": "cosine"})


def eurobert(folder, rng, count):
    from transformers import EuroBertConfig, EuroBertModel
    tokenizer = byte_tokenizer()
    config = EuroBertConfig(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
                            num_key_value_heads=2, max_position_embeddings=2048, pad_token_id=1, bos_token_id=0, eos_token_id=1,
                            rope_theta=250000.0)
    by_library(folder, EuroBertModel(config), tokenizer, rng, count, 32, pooling="mean_tokens")


def nomic_moe(folder, rng, count):
    """NomicBERT v2: every second feed-forward is a mixture of 4 experts, of which 2 are taken."""
    h, heads, inner, layers, experts, top = 32, 4, 40, 4, 4, 2
    tokenizer = unigram_tokenizer()
    vocab = (tokenizer[0].get_vocab_size() + 63) // 64 * 64
    config = {"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "vocab_size": tokenizer[0].get_vocab_size(), "n_embd": h,
              "n_head": heads, "n_inner": inner, "n_layer": layers, "n_positions": 2048, "type_vocab_size": 1, "activation_function": "gelu",
              "layer_norm_epsilon": 1e-05, "pad_vocab_size_multiple": 64, "prenorm": False, "causal": False, "use_rms_norm": False,
              "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True, "rotary_emb_base": 10000, "rotary_emb_fraction": 1.0,
              "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None, "scale_attn_weights": True,
              "parallel_block": False, "max_trained_positions": 2048, "num_experts": experts, "moe_every_n_layers": 2, "moe_top_k": top,
              "moe_normalize_expert_weights": False, "expert_choice_router": False, "num_shared_experts": 0, "moe_impl": "megablocks"}
    shapes = {"embeddings.word_embeddings.weight": (vocab, h), "embeddings.token_type_embeddings.weight": (1, h), "emb_ln.weight": (h,),
              "emb_ln.bias": (h,)}
    for i in range(layers):
        p = f"encoder.layers.{i}."
        shapes |= {p + "attn.Wqkv.weight": (3 * h, h), p + "attn.Wqkv.bias": (3 * h,), p + "attn.out_proj.weight": (h, h),
                   p + "attn.out_proj.bias": (h,), p + "norm1.weight": (h,), p + "norm1.bias": (h,), p + "norm2.weight": (h,),
                   p + "norm2.bias": (h,)}
        if i % 2 == 1:
            shapes |= {p + "mlp.router.layer.weight": (experts, h), p + "mlp.experts.mlp.w1": (experts * inner, h),
                       p + "mlp.experts.mlp.w2": (experts * inner, h), p + "mlp.experts.bias": (h,)}
        else:
            shapes |= {p + "mlp.fc1.weight": (inner, h), p + "mlp.fc1.bias": (inner,), p + "mlp.fc2.weight": (h, inner),
                       p + "mlp.fc2.bias": (h,)}

    def states(w, ids):
        f = torch.nn.functional
        norm = lambda x, name: f.layer_norm(x, (h,), w[name + ".weight"], w[name + ".bias"], 1e-5)
        linear = lambda x, name: x @ w[name + ".weight"].T + w[name + ".bias"]
        d = h // heads
        angle = torch.outer(torch.arange(len(ids)).float(), 10000 ** (-torch.arange(0, d, 2).float() / d))
        cos, sin = (torch.cat((g, g), -1)[:, None] for g in (angle.cos(), angle.sin()))

        def turn(x):
            x = x.view(len(ids), heads, d)
            return (x * cos + torch.cat((-x[..., d // 2:], x[..., :d // 2]), -1) * sin).flatten(1)

        x = norm(w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0], "emb_ln")
        for i in range(layers):
            p = f"encoder.layers.{i}."
            q, k, v = linear(x, p + "attn.Wqkv").chunk(3, -1)
            x = norm(x + linear(attend(turn(q), turn(k), v, heads), p + "attn.out_proj"), p + "norm1")
            if i % 2 == 0:
                y = linear(f.gelu(linear(x, p + "mlp.fc1")), p + "mlp.fc2")
            else:
                weight, chosen = (x @ w[p + "mlp.router.layer.weight"].T).softmax(-1).topk(top)
                w1, w2 = (w[p + f"mlp.experts.mlp.{n}"].view(experts, inner, h) for n in ("w1", "w2"))
                y = torch.stack([sum(weight[t, j] * (f.gelu(x[t] @ w1[e].T) @ w2[e]) for j, e in enumerate(chosen[t].tolist()))
                                 for t in range(len(ids))]) + w[p + "mlp.experts.bias"]
            x = norm(x + y, p + "norm2")
        return x

    by_formula(folder, config, draw(shapes), states, tokenizer, rng, count, h)


def nomic(folder, rng, count):
    """NomicBERT v1.5 as transformers saves it: names of its own in the config, the old ones in the file."""
    from transformers import NomicBertConfig, NomicBertModel
    tokenizer = wordpiece_tokenizer()
    config = NomicBertConfig(vocab_size=tokenizer[0].get_vocab_size(), hidden_size=32, intermediate_size=40, num_hidden_layers=2,
                             num_attention_heads=4, max_position_embeddings=2048)
    by_library(folder, NomicBertModel(config), tokenizer, rng, count, 32, pooling="mean_tokens")


def jina_v3(folder, rng, count):
    """jina-embeddings-v3 with adapters for three tasks, which transformers computes with the changes merged into the weights."""
    import tempfile
    from safetensors.torch import load_file
    from transformers import JinaEmbeddingsV3Config, JinaEmbeddingsV3Model
    tokenizer, rank, tasks = unigram_tokenizer(), 3, ["retrieval.query", "retrieval.passage", "text-matching"]
    h = 24
    config = JinaEmbeddingsV3Config(vocab_size=tokenizer[0].get_vocab_size(), hidden_size=h, intermediate_size=40, num_hidden_layers=2,
                                    num_attention_heads=4, max_position_embeddings=2048)
    plain = JinaEmbeddingsV3Model(config, add_pooling_layer=False)
    jitter(plain)
    with tempfile.TemporaryDirectory() as at:
        plain.save_pretrained(at)
        weights = load_file(at + "/model.safetensors")
        merged, stored = [dict(weights) for _ in tasks], {}
        for name, w in weights.items():
            if w.dim() == 1:
                stored["roberta." + name] = w
                continue
            base, table = "roberta." + name.removesuffix(".weight"), "embeddings" in name
            n_out, n_in = w.shape
            a = torch.randn(len(tasks), *((n_out, rank) if table else (rank, n_in))) / 3
            b = torch.randn(len(tasks), *((rank, n_in) if table else (n_out, rank))) / 3
            stored |= {base + ".parametrizations.weight.original": w, base + ".parametrizations.weight.0.lora_A": a,
                       base + ".parametrizations.weight.0.lora_B": b}
            for t in range(len(tasks)):
                merged[t][name] = w + (a[t] @ b[t] if table else b[t] @ a[t]) * (2 / rank)
        models = {None: plain.eval()}
        for task, w in zip(tasks, merged):
            models[task] = JinaEmbeddingsV3Model(config, add_pooling_layer=False)
            models[task].save_pretrained(f"{at}/{task}")
            save_file(w, f"{at}/{task}/model.safetensors", metadata={"format": "pt"})
            models[task] = JinaEmbeddingsV3Model.from_pretrained(f"{at}/{task}", add_pooling_layer=False, attn_implementation="eager").eval()
    frame(folder, tokenizer, h, pooling="mean_tokens")
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    write(folder, "config.json", {
        "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "position_embedding_type": "rotary", "rotary_emb_base": 20000.0,
        "lora_adaptations": tasks, "lora_alpha": 2, "lora_rank": rank, "load_trained_adapters": True} |
        {k: getattr(config, k) for k in ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                                         "max_position_embeddings", "type_vocab_size", "layer_norm_eps", "hidden_act", "pad_token_id")})
    prompts = {"retrieval.query": "Represent the query: ", "retrieval.passage": "Represent the document: ", "text-matching": ""}
    write(folder, "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})
    entries = []
    for i, text in enumerate(texts(rng, count)):
        task = [*tasks, None][i % 4]
        ids = tokenizer[0].encode(prompts.get(task, "") + text).ids
        ids = ids if len(ids) <= 640 else ids[:639] + ids[-1:]
        with torch.no_grad():
            v = models[task](torch.tensor([ids])).last_hidden_state[0].mean(0)
        entries.append({"text": text, "prompt": task or "@none", "ids": ids, "embedding": [round(x, 7) for x in (v / v.norm()).tolist()]})
    (folder / "expected.json").write_text("[\n" + ",\n".join(json.dumps(e, ensure_ascii=False) for e in entries) + "\n]\n")


def neobert(folder, rng, count):
    h, heads, layers = 32, 4, 3
    inner = (2 * 60 // 3 + 7) // 8 * 8
    tokenizer = wordpiece_tokenizer()
    vocab = tokenizer[0].get_vocab_size()
    config = {"model_type": "neobert", "architectures": ["NeoBERTLMHead"], "vocab_size": vocab, "hidden_size": h, "num_attention_heads": heads,
              "num_hidden_layers": layers, "intermediate_size": 60, "norm_eps": 1e-05, "max_length": 4096, "pad_token_id": 0,
              "hidden_act": "SwiGLU", "embedding_init_range": 0.02, "decoder_init_range": 0.02}
    shapes = {"model.encoder.weight": (vocab, h), "model.layer_norm.weight": (h,), "decoder.weight": (vocab, h), "decoder.bias": (vocab,)}
    for i in range(layers):
        p = f"model.transformer_encoder.{i}."
        shapes |= {p + "qkv.weight": (3 * h, h), p + "wo.weight": (h, h), p + "ffn.w12.weight": (2 * inner, h), p + "ffn.w3.weight": (h, inner),
                   p + "attention_norm.weight": (h,), p + "ffn_norm.weight": (h,)}

    def states(w, ids):
        norm = lambda x, name: torch.nn.functional.rms_norm(x, (h,), w[f"model.{name}.weight"], 1e-5)
        d = h // heads
        angle = torch.outer(torch.arange(len(ids)).float(), 1 / 10000 ** (torch.arange(0, d, 2).float() / d))
        turns = torch.polar(torch.ones_like(angle), angle)[:, None]  # [L, 1, D/2]

        def turn(x):
            pairs = torch.view_as_complex(x.reshape(len(ids), heads, d // 2, 2))
            return torch.view_as_real(pairs * turns).flatten(1)

        x = w["model.encoder.weight"][ids]
        for i in range(layers):
            p = f"transformer_encoder.{i}."
            q, k, v = (norm(x, p + "attention_norm") @ w[f"model.{p}qkv.weight"].T).view(len(ids), heads, 3 * d).chunk(3, -1)
            x = x + attend(turn(q), turn(k), v.flatten(1), heads) @ w[f"model.{p}wo.weight"].T
            gate, up = (norm(x, p + "ffn_norm") @ w[f"model.{p}ffn.w12.weight"].T).chunk(2, -1)
            x = x + (torch.nn.functional.silu(gate) * up) @ w[f"model.{p}ffn.w3.weight"].T
        return norm(x, "layer_norm")

    by_formula(folder, config, draw(shapes), states, tokenizer, rng, count, h)


FAMILIES = {"embeddinggemma": gemma, "eurobert": eurobert, "nomic": nomic, "nomic-moe": nomic_moe, "jina-v3": jina_v3, "neobert": neobert}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="families, of " + ", ".join(FAMILIES))
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--texts", type=int, default=20)
    o = p.parse_args()
    for name in o.names or FAMILIES:
        torch.manual_seed(o.seed)
        FAMILIES[name](o.out / name, random.Random(o.seed), o.texts)
        print(name)


if __name__ == "__main__":
    main()
