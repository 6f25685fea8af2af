"""Makes small random checkpoints that generate text, with what transformers computes from them.

    python training/decoders.py --seed 1 --out encoder/testdata/decoders [--only gpt2,t5]

Each folder holds a checkpoint in float16, the file expected/model.safetensors (logits [prompts, V] and states
[prompts, H] after the last token of each prompt) and generation.json: prompts, ids and settings of
greedy and beam search with the ids that they give. Another seed gives other weights and prompts.
"""

import argparse
import json
import pathlib
import pydoc_data.topics
import random
import re
import shutil

import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

LENGTHS = [1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24, 26, 28, 30, 32, 33, 34,
           36, 40, 44, 48, 56, 64, 72, 80, 100, 120, 150, 200, 250, 300]
POSITIONS = 400

CORPUS = " ".join(pydoc_data.topics.topics[k] for k in sorted(pydoc_data.topics.topics)[:12])
CORPUS = re.sub(r"\s+", " ", CORPUS)
FOREIGN = ["Où est la bibliothèque ?", "Die Straße führt über den Fluß.", "東京は日本の首都です。", "Привет, мир!", "naïve café 😀 déjà vu",
           "x = [1, 2, 3]\nprint(x)", "  two  blanks ", "it's n't fine , is it ?"]


def byte_level(end):
    t = tokenizers.Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator([CORPUS] + FOREIGN, trainers.BpeTrainer(
        vocab_size=340, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    if end:
        t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def byte_fallback():
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    t = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.train_from_iterator(CORPUS.split(), trainers.BpeTrainer(vocab_size=440, special_tokens=special, limit_alphabet=80, show_progress=False))
    # the bytes are tokens of the model, not special ones
    data = json.loads(t.to_str())
    data["added_tokens"] = data["added_tokens"][:3]
    t = tokenizers.Tokenizer.from_str(json.dumps(data))
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t


def unigram():
    t = tokenizers.Tokenizer(models.Unigram())
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    t.train_from_iterator([CORPUS] + FOREIGN, trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<pad>", "</s>", "<unk>", "<s>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t


def families():
    T = transformers
    plain = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=POSITIONS)
    bart = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=2, encoder_ffn_dim=64,
                decoder_ffn_dim=48, max_position_embeddings=POSITIONS)
    t5 = dict(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_decoder_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    ends = dict(bos_token_id=0, pad_token_id=1, eos_token_id=2)
    return {
        "gpt2": (byte_level(False), T.GPT2LMHeadModel, lambda v: T.GPT2Config(
            vocab_size=v, n_embd=32, n_layer=2, n_head=4, n_positions=POSITIONS, **ends)),
        "gpt_neox": (byte_level(False), T.GPTNeoXForCausalLM, lambda v: T.GPTNeoXConfig(vocab_size=v, **plain, **ends)),
        "llama": (byte_fallback(), T.LlamaForCausalLM, lambda v: T.LlamaConfig(
            vocab_size=v, num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0, rope_parameters={
                "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64}, **plain)),
        "mistral": (byte_fallback(), T.MistralForCausalLM, lambda v: T.MistralConfig(
            vocab_size=v, num_key_value_heads=2, sliding_window=16, bos_token_id=1, eos_token_id=2, pad_token_id=0, **plain)),
        "qwen2": (byte_level(False), T.Qwen2ForCausalLM, lambda v: T.Qwen2Config(
            vocab_size=v, num_key_value_heads=1, use_sliding_window=True, sliding_window=24, max_window_layers=1, tie_word_embeddings=True, **plain, **ends)),
        "qwen3": (byte_level(False), T.Qwen3ForCausalLM, lambda v: T.Qwen3Config(
            vocab_size=v, num_key_value_heads=2, head_dim=16, **plain, **ends)),
        "gemma": (byte_fallback(), T.GemmaForCausalLM, lambda v: T.GemmaConfig(
            vocab_size=v, num_key_value_heads=1, head_dim=16, bos_token_id=1, eos_token_id=2, pad_token_id=0, **plain)),
        "t5": (unigram(), T.T5ForConditionalGeneration, lambda v: T.T5Config(vocab_size=v, feed_forward_proj="relu", **t5)),
        "flan-t5": (unigram(), T.T5ForConditionalGeneration, lambda v: T.T5Config(
            vocab_size=v, feed_forward_proj="gated-gelu", tie_word_embeddings=False, **t5)),
        "mt5": (unigram(), T.MT5ForConditionalGeneration, lambda v: T.MT5Config(vocab_size=v, **t5)),
        "bart": (byte_level(True), T.BartForConditionalGeneration, lambda v: T.BartConfig(
            vocab_size=v, decoder_start_token_id=2, forced_bos_token_id=0, forced_eos_token_id=2, **ends, **bart)),
        "mbart": (unigram(), T.MBartForConditionalGeneration, lambda v: T.MBartConfig(
            vocab_size=v, scale_embedding=True, bos_token_id=3, pad_token_id=0, eos_token_id=1, decoder_start_token_id=5, forced_bos_token_id=7,
            forced_eos_token_id=1, **bart)),
        "pegasus": (unigram(), T.PegasusForConditionalGeneration, lambda v: T.PegasusConfig(
            vocab_size=v, scale_embedding=True, activation_function="relu", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
            forced_eos_token_id=1, **bart)),
        "marian": (unigram(), T.MarianMTModel, lambda v: T.MarianConfig(
            vocab_size=v, scale_embedding=True, activation_function="swish", pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
            forced_eos_token_id=1, **bart)),
    }


def randomize(model, family, generator):
    """Draws weights with which the logits differ clearly, and rounds them to float16."""
    with torch.no_grad():
        for name, p in list(model.named_parameters()) + [b for b in model.named_buffers() if "final_logits_bias" in b[0]]:
            if "embed_positions" in name and family in ("pegasus", "marian"):
                continue
            x = torch.randn(p.shape, generator=generator)
            if p.dim() == 2 and ("embed" in name or "shared" in name or "wte" in name or "wpe" in name or "lm_head" in name or "bias" in name):
                x *= 0.15 if getattr(model.config, "scale_embedding", family == "gemma") else 0.5
            elif p.dim() == 2:
                x *= 1.4 / max(p.shape) ** 0.5
            elif name.endswith("bias"):
                x *= 0.1
            else:
                x = x * 0.1 + (0 if family == "gemma" else 1)
            p.copy_(x.half().float())


def prompts(tok, rng):
    words = CORPUS.split()
    for i, length in enumerate(LENGTHS):
        text = rng.choice(FOREIGN) if i % 4 == 3 else ""
        while len(tok(text)["input_ids"]) < length:
            more = (text + " " + rng.choice(words)).strip() if text else rng.choice(words)
            if len(tok(more)["input_ids"]) > 300:
                break
            text = more
        yield text or "a"


def settings(i, rng, ends):
    """The settings of greedy and of beam search for prompt i, as generate takes them."""
    greedy = dict(max_new_tokens=16)
    beam = dict(max_new_tokens=12, num_beams=2 + i % 4, length_penalty=[1.0, 0.6, 2.0, 0.0, -1.0][i % 5], early_stopping=[False, True, "never"][i % 3])
    if i % 2:
        greedy["eos_token_id"] = beam["eos_token_id"] = ends + sorted(rng.sample(range(10, 290), 20))
    if i % 5 == 2:
        greedy["repetition_penalty"] = 1.4
    if i % 7 == 3:
        greedy["no_repeat_ngram_size"] = 2
        beam["no_repeat_ngram_size"] = 3
    if i % 6 == 4:
        greedy["min_new_tokens"] = 6
        beam["repetition_penalty"] = 1.2
    if i % 8 == 6:
        greedy["bad_words_ids"] = [[a] for a in rng.sample(range(10, 290), 40)]
        beam["num_return_sequences"] = 2
    return greedy, beam


def warped(model, logits, ids):
    """What sampling may draw: ids and probabilities after repetition penalty, temperature, top-k, top-p and min-p."""
    from transformers import generation as G
    out = []
    for temperature, top_k, top_p, min_p, penalty in [(1.0, 0, 1.0, 0.0, 1.0), (0.7, 20, 1.0, 0.0, 1.0), (1.3, 0, 0.6, 0.0, 1.2), (0.5, 50, 0.9, 0.05, 1.1)]:
        steps = G.LogitsProcessorList()
        if penalty != 1:
            steps.append(G.RepetitionPenaltyLogitsProcessor(penalty))
        if temperature != 1:
            steps.append(G.TemperatureLogitsWarper(temperature))
        if top_k:
            steps.append(G.TopKLogitsWarper(top_k))
        if top_p < 1:
            steps.append(G.TopPLogitsWarper(top_p))
        if min_p:
            steps.append(G.MinPLogitsWarper(min_p))
        p = torch.softmax(steps(torch.tensor([ids]), logits[None].clone())[0], -1)
        kept = torch.nonzero(p).flatten().tolist()
        out.append(dict(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, repetition_penalty=penalty, ids=kept,
                        probabilities=[round(float(p[k]), 6) for k in kept]))
    return out


def ended(ids, ends, first):
    """Cuts the padding behind the end of a sequence."""
    for i, x in enumerate(ids[first:], first):
        if x in ends:
            return ids[: i + 1]
    return ids


def make(name, tokenizer, cls, config, seed, folder):
    rng = random.Random(f"{seed} {name}")
    generator = torch.Generator().manual_seed(seed * 1000 + sum(map(ord, name)))
    config = config(tokenizer.get_vocab_size())
    special = {k: tokenizer.id_to_token(v) for k, v in (("bos_token", getattr(config, "bos_token_id", None)), ("pad_token", config.pad_token_id),
               ("eos_token", config.eos_token_id)) if isinstance(v, int)}
    tok = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **special)
    model = cls(config).eval()
    randomize(model, config.model_type, generator)
    shutil.rmtree(folder, ignore_errors=True)
    tok.save_pretrained(folder)
    model.half().save_pretrained(folder)
    model = cls.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.use_cache = True
    ends = config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    cases, logits, states = [], [], []
    with torch.no_grad():
        for i, text in enumerate(prompts(tok, rng)):
            ids = tok(text)["input_ids"]
            x = torch.tensor([ids])
            given = dict(input_ids=x, attention_mask=torch.ones_like(x))
            extra = {}
            if config.is_encoder_decoder:
                extra["decoder_input_ids"] = torch.tensor([[config.decoder_start_token_id, 11, 12, 13][: 1 + i % 4]])
            out = model(**given, **extra, output_hidden_states=True)
            hidden = out.decoder_hidden_states if config.is_encoder_decoder else out.hidden_states
            logits.append(out.logits[0, -1])
            states.append(hidden[-1][0, -1])
            greedy, beam = settings(i, rng, ends)
            skip, first = (0, 1) if config.is_encoder_decoder else (len(ids), 0)
            g = model.generate(**given, do_sample=False, num_beams=1, **greedy)[0].tolist()
            b = model.generate(**given, do_sample=False, return_dict_in_generate=True, output_scores=True, **beam)
            case = dict(text=text, ids=ids, greedy=greedy, beam=beam, greedy_ids=g[skip:], greedy_text=tok.decode(g[max(skip, first):], skip_special_tokens=True),
                        beam_ids=[ended(s.tolist()[skip:], beam.get("eos_token_id", ends), first) for s in b.sequences], beam_scores=[round(float(s), 5) for s in b.sequences_scores])
            if config.is_encoder_decoder:
                case["decoder_ids"] = extra["decoder_input_ids"][0].tolist()
            if i in (5, 20):
                case["sampling"] = warped(model, logits[-1], case.get("decoder_ids", ids))
            if i < 12:  # the log-likelihood of each token of a continuation
                answer = rng.choices(range(10, 290), k=5)
                if config.is_encoder_decoder:
                    all_ids = [config.decoder_start_token_id] + answer
                    l = model(**given, decoder_input_ids=torch.tensor([all_ids])).logits[0, :-1]
                else:
                    l = model(torch.tensor([ids + answer])).logits[0, len(ids) - 1:-1]
                l = torch.log_softmax(l, -1)
                case["answer"] = answer
                case["log_likelihood"] = [round(float(l[j, a]), 5) for j, a in enumerate(answer)]
            cases.append(case)
    (folder / "expected").mkdir()
    save_file({"logits": torch.stack(logits), "states": torch.stack(states)}, folder / "expected" / "model.safetensors")
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    (folder / "generation.json").write_text(f"[\n{lines}\n]\n")
    print(name, sum(f.stat().st_size for f in folder.rglob("*.*")) // 1024, "KiB", len({tuple(c["greedy_ids"]) for c in cases}), "outputs")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--out", type=pathlib.Path, required=True)
    a.add_argument("--only", default="")
    a = a.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    for name, (tokenizer, cls, config) in families().items():
        if not a.only or name in a.only.split(","):
            make(name, tokenizer, cls, config, a.seed, a.out / name)


if __name__ == "__main__":
    main()
