"""Writes small random late-interaction checkpoints with the token vectors and scores of sentence-transformers.

    pip install torch transformers sentence-transformers
    python make.py --out DIR [--seed 1]

native is what sentence-transformers saves, pylate what PyLate up to release 3 saved.
"""

import argparse
import json
import random
import string
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

sys.path.insert(0, str(Path(__file__).parent / "../families"))
import make as families


def write(folder, seed, pylate):
    from transformers import BertConfig, BertModel
    torch.manual_seed(seed)
    rng = random.Random(seed)
    tokenizer = families.wordpiece_tokenizer()
    tok = tokenizer[0]
    if pylate:
        tok.add_tokens(["[Q] ", "[D] "])
    h = 32
    model = BertModel(BertConfig(vocab_size=tok.get_vocab_size(), hidden_size=h, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                                 max_position_embeddings=300), add_pooling_layer=False)
    families.jitter(model)
    families.frame(folder, tokenizer, h, pooling="mean_tokens")
    model.save_pretrained(folder)
    families.write(folder, "tokenizer_config.json", tokenizer[1] | {"model_max_length": 300})
    modules = [("Transformer", "", "sentence_transformers.models.Transformer")]
    dense = {"in_features": h, "out_features": 16, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"}
    save = {}
    if pylate:
        modules.append(("Dense", "1_Dense", "pylate.models.Dense.Dense"))
        save = {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 24, "document_length": 120,
                "attend_to_expansion_tokens": False, "skiplist_words": list(string.punctuation), "do_query_expansion": True, "prompts": {},
                "similarity_fn_name": "MaxSim"}
        families.write(folder, "sentence_bert_config.json", {"max_seq_length": 119, "do_lower_case": False})
    else:
        modules += [("Dense", "1_Dense", "sentence_transformers.base.modules.dense.Dense"),
                    ("Mask", "2_MultiVectorMask", "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"),
                    ("Normalize", "3_Normalize", "sentence_transformers.base.modules.normalize.Normalize")]
        dense |= {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
        families.write(folder, "2_MultiVectorMask/config.json", {"skiplist_words": ["the", "-", "."], "skiplist_tasks": ["document"],
                                                                 "keep_only_token_ids": None})
        families.write(folder, "3_Normalize/config.json", {"module_input_name": "token_embeddings", "module_output_name": None})
        save = {"model_type": "MultiVectorEncoder", "prompts": {"query": "the query: ", "document": "the text: "}, "similarity_fn_name": "maxsim"}
        families.write(folder, "sentence_bert_config.json", {"max_seq_length": 200, "do_lower_case": False, "document_length": 100,
                                                             "query_expansion": {"strategy": "fixed", "attend": True, "length": 20}})
    save_file({"linear.weight": torch.randn(16, h) / h ** 0.5}, folder / "1_Dense_model.tmp")
    (folder / "1_Dense").mkdir(exist_ok=True)
    (folder / "1_Dense_model.tmp").rename(folder / "1_Dense/model.safetensors")
    families.write(folder, "1_Dense/config.json", dense)
    families.write(folder, "config_sentence_transformers.json", save)
    families.write(folder, "modules.json", [{"idx": i, "name": str(i), "path": p, "type": t} for i, (_, p, t) in enumerate(modules)])
    for name in ("1_Pooling", "2_Normalize"):
        path = folder / name
        if path.exists():
            for f in path.iterdir():
                f.unlink()
            path.rmdir()

    from sentence_transformers import MultiVectorEncoder
    st = MultiVectorEncoder(str(folder), device="cpu", model_kwargs={"attn_implementation": "eager"})
    queries = [" ".join(rng.choice(families.WORDS) for _ in range(n)) for n in (1, 4, 12, 40)]
    texts = [" ".join(rng.choice(families.WORDS + [".", ",", "the"]) for _ in range(n)) for n in (1, 5, 30, 150)]
    q, d = st.encode_query(queries), st.encode_document(texts)
    rows = lambda m: [[round(float(x), 6) for x in row] for row in m]
    (folder / "expected.json").write_text(json.dumps({
        "queries": queries, "texts": texts, "query_vectors": [rows(x) for x in q], "text_vectors": [rows(x) for x in d],
        "scores": [[float((torch.as_tensor(a) @ torch.as_tensor(b).T).max(-1).values.sum()) for b in d] for a in q]}) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--seed", type=int, default=1)
    o = p.parse_args()
    for name in ("native", "pylate"):
        write(o.out / name, o.seed, name == "pylate")
        print(name)


if __name__ == "__main__":
    main()
