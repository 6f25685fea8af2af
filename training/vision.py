"""Makes small random checkpoints that encode pictures, with what transformers computes from them.

    python training/vision.py --seed 1 --out encoder/testdata/vision [--only clip,vit]

The folder pictures holds files in all formats and decoded the same as PNG, as transformers' load_image reads them.
Each other folder holds a checkpoint in float16 and expected.json: the value of each sample after normalisation and the
texts with their ids. pixels.bin holds the samples [pictures, 3, height, width] before normalisation, and
expected/model.safetensors the embeddings of pictures and texts and the states of the first pictures' patches. Another
seed gives other weights and pictures.
"""

import argparse
import io
import json
import pathlib
import random
import shutil
import struct
import zlib

import numpy
import tokenizers
import torch
import transformers
from decoders import CORPUS, FOREIGN, unigram
from PIL import Image, ImageOps
from safetensors.torch import save_file
from tokenizers import models, pre_tokenizers, trainers
from transformers.image_utils import load_image


def scene(rng, w, h, channels=3):
    """A picture with gradients, edges and noise."""
    y, x = numpy.mgrid[0:h, 0:w]
    planes = []
    for _ in range(channels):
        p = 128 + 90 * numpy.sin(rng.uniform(0, 6) + x * rng.uniform(0.05, 0.4) + y * rng.uniform(0.05, 0.4))
        p += 100 * ((x * rng.uniform(-1, 1) + y * rng.uniform(-1, 1)) > rng.uniform(-w, w) / 4)
        planes.append(p + rng.normal(0, 12, (h, w)))
    return numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8)


def rgb16(rng, w, h):
    """A PNG of 16 bits a channel, which Pillow does not write."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = rng.integers(0, 1 << 16, (h, w, 3)).astype(">u2")
    raw = b"".join(b"\0" + r.tobytes() for r in rows)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 16, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def partial_gif(rng):
    """A GIF whose first frame covers a part of the canvas."""
    b = io.BytesIO()
    Image.fromarray(scene(rng, 20, 14)).quantize(16).save(b, "GIF")
    data = bytearray(b.getvalue())
    data[6:10] = struct.pack("<HH", 31, 22)
    at = 13 + 3 * (2 << (data[10] & 7))
    while data[at] != 0x2C:
        at += 2
        while data[at]:
            at += data[at] + 1
        at += 1
    data[at + 1:at + 5] = struct.pack("<HH", 5, 3)
    return bytes(data)


def pictures(seed, folder):
    rng = numpy.random.default_rng(seed)
    files = {}

    def add(name, image, form, **options):
        b = io.BytesIO()
        image.save(b, form, **options)
        files[name] = b.getvalue()

    def rgb(w, h):
        return Image.fromarray(scene(rng, w, h))

    for name, subsampling in (("444", 0), ("422", 1), ("420", 2)):
        add(f"{name}.jpg", rgb(37, 23), "JPEG", subsampling=subsampling, quality=85)
    add("even.jpg", rgb(48, 40), "JPEG", quality=60)
    add("narrow.jpg", rgb(4, 30), "JPEG", quality=80)
    add("column.jpg", rgb(3, 19), "JPEG", quality=80)
    add("progressive.jpg", rgb(41, 35), "JPEG", progressive=True)
    add("grey.jpg", rgb(29, 31).convert("L"), "JPEG")
    add("cmyk.jpg", rgb(26, 18).convert("CMYK"), "JPEG", quality=90)
    for i in range(2, 9):
        exif = Image.Exif()
        exif[0x112] = i
        add(f"turned{i}.jpg", rgb(23, 14), "JPEG", quality=90, exif=exif)
    exif = Image.Exif()
    exif[0x112], exif[0x10E], exif[0x132] = 6, "Boats at the quay", "2019:05:04 03:02:01"
    exif.get_ifd(0x8769)[0x9003] = "2018:12:31 23:59:58"
    add("exif.png", rgb(21, 12), "PNG", exif=exif)
    add("exif.webp", rgb(22, 13), "WEBP", exif=exif, lossless=True)
    add("dot.png", rgb(1, 1), "PNG")
    add("tall.png", rgb(2, 300), "PNG")
    add("wide.png", rgb(400, 3), "PNG")
    add("large.png", rgb(150, 97).quantize(12), "PNG")
    add("square.png", rgb(32, 32), "PNG")
    add("grey.png", rgb(31, 17).convert("L"), "PNG")
    add("bilevel.png", rgb(35, 18).convert("1"), "PNG")
    add("palette.png", rgb(33, 27).quantize(7), "PNG")
    add("clear.png", rgb(30, 20).quantize(9), "PNG", transparency=3)
    add("alpha.png", Image.fromarray(scene(rng, 27, 33, 4)), "PNG")
    add("greyalpha.png", Image.merge("LA", (rgb(19, 24).convert("L"), rgb(19, 24).convert("L"))), "PNG")
    add("key.png", rgb(18, 18), "PNG", transparency=(10, 20, 30))
    add("grey16.png", Image.fromarray(rng.integers(0, 1 << 16, (15, 21)).astype(numpy.uint16)), "PNG")
    files["rgb16.png"] = rgb16(rng, 14, 17)
    add("plain.gif", rgb(40, 21), "GIF")
    add("clear.gif", rgb(25, 26).quantize(20), "GIF", transparency=2)
    add("moving.gif", rgb(24, 20), "GIF", save_all=True, append_images=[rgb(24, 20)], duration=50)
    files["partial.gif"] = partial_gif(rng)
    add("lossy.webp", rgb(37, 29), "WEBP", quality=70)
    add("even.webp", rgb(40, 32), "WEBP", quality=40)
    add("lossless.webp", rgb(35, 21), "WEBP", lossless=True)
    add("alpha.webp", Image.fromarray(scene(rng, 28, 23, 4)), "WEBP", quality=80)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "decoded").mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
        shown = load_image(str(folder / name))
        shown.info.clear()
        shown.save(folder / "decoded" / f"{name}.png", optimize=True)
    return sorted(files)


def clip_tokenizer():
    t = transformers.CLIPTokenizer()
    end = "</w>"
    trained = tokenizers.Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix=end))
    trained.normalizer, trained.pre_tokenizer = t.backend_tokenizer.normalizer, t.backend_tokenizer.pre_tokenizer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator([CORPUS] + FOREIGN, trainers.BpeTrainer(
        vocab_size=620, initial_alphabet=alphabet, special_tokens=sorted(c + end for c in alphabet), end_of_word_suffix=end, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    vocab = dict(sorted(model["vocab"].items(), key=lambda e: e[1]))
    for special in ("<|startoftext|>", "<|endoftext|>"):
        vocab[special] = len(vocab)
    return transformers.CLIPTokenizer(vocab=vocab, merges=[tuple(m) for m in model["merges"]], model_max_length=40)


def siglip_tokenizer():
    return transformers.PreTrainedTokenizerFast(tokenizer_object=unigram(), clean_up_tokenization_spaces=False, model_max_length=24,
                                                eos_token="</s>", pad_token="</s>", unk_token="<unk>")


def families():
    T = transformers
    small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
    clip_text = dict(small, hidden_size=24, max_position_embeddings=40)
    return {
        "vit": (None, T.ViTImageProcessorPil(size={"height": 32, "width": 32}),
                lambda tok: T.ViTModel(T.ViTConfig(image_size=32, patch_size=8, **small))),
        "clip": (clip_tokenizer, T.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 28, "width": 28}),
                 lambda tok: T.CLIPModel(T.CLIPConfig(projection_dim=20, vision_config=dict(image_size=28, patch_size=7, **small), text_config=dict(
                     vocab_size=len(tok), bos_token_id=tok.bos_token_id, eos_token_id=tok.eos_token_id, pad_token_id=tok.pad_token_id, **clip_text)))),
        "siglip": (siglip_tokenizer, T.SiglipImageProcessorPil(size={"height": 24, "width": 24}),
                   lambda tok: T.SiglipModel(T.SiglipConfig(vision_config=dict(image_size=24, patch_size=6, **small), text_config=dict(
                       vocab_size=len(tok), max_position_embeddings=24, pad_token_id=1, eos_token_id=1, bos_token_id=3, **small)))),
    }


def randomize(model, generator):
    """Draws weights with which the states differ clearly, and rounds them to float16."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            x = torch.randn(p.shape, generator=generator)
            if "embed" in name or "probe" in name or "token" in name:
                x *= 0.5 / (p[0].numel() ** 0.5 if p.dim() == 4 else 1)
            elif p.dim() >= 2:
                x *= 1.4 / max(p.shape) ** 0.5
            elif name.endswith("bias"):
                x *= 0.1
            else:
                x = x * 0.1 + 1
            p.copy_(x.half().float())


def texts(rng):
    words = CORPUS.split()
    return ["", "a photo of a cat", "A photo of the Harbour, at dusk!"] + FOREIGN + [" ".join(rng.choices(words, k=k)) for k in (1, 2, 3, 5, 8, 12, 60)]


def make(name, tokenizer, processor, build, seed, folder, names, source):
    rng = random.Random(f"{seed} {name}")
    generator = torch.Generator().manual_seed(seed * 1000 + sum(map(ord, name)))
    tok = tokenizer and tokenizer()
    model = build(tok).eval()
    randomize(model, generator)
    shutil.rmtree(folder, ignore_errors=True)
    model.half().save_pretrained(folder)
    if tok:
        tok.save_pretrained(folder)
    processor.save_pretrained(folder)
    model = type(model).from_pretrained(folder, dtype=torch.float32).eval()
    upright = lambda n: ImageOps.exif_transpose(Image.open(source / n))
    given = [upright(n) if processor.do_convert_rgb else load_image(str(source / n)) for n in names]
    values = processor(given, return_tensors="pt")["pixel_values"]
    level = torch.arange(256, dtype=torch.uint8).view(1, 1, 256).expand(3, 1, 256)
    table = processor(level.numpy(), do_resize=False, do_center_crop=False, do_convert_rgb=False, input_data_format="channels_first",
                      return_tensors="pt")["pixel_values"][0, :, 0]
    pixels = torch.stack([torch.searchsorted(table[c], values[:, c].contiguous()) for c in range(3)], 1)
    assert all(torch.equal(table[c][pixels[:, c]], values[:, c]) for c in range(3))
    (folder / "pixels.bin").write_bytes(pixels.to(torch.uint8).numpy().tobytes())
    expected, record = {}, dict(pictures=names, table=table.tolist())
    with torch.no_grad():
        if name == "vit":
            states = model(values).last_hidden_state
            expected["pictures"] = states[:, 0]
        else:
            out = model.get_image_features(values)
            expected["pictures"], states = out.pooler_output, out.last_hidden_state
            if name == "clip":
                states = model.vision_model.post_layernorm(states)
            embeddings, record["texts"] = [], []
            padding = dict(padding="max_length") if name == "siglip" else {}
            for text in texts(rng):
                given = tok(text, truncation=True, return_tensors="pt", **padding)
                embeddings.append(model.get_text_features(input_ids=given["input_ids"]).pooler_output[0])
                record["texts"].append(dict(text=text, ids=given["input_ids"][0].tolist()))
            expected["texts"] = torch.stack(embeddings)
    expected["states"] = states[:4]
    (folder / "expected").mkdir()
    save_file({k: v.contiguous() for k, v in expected.items()}, folder / "expected" / "model.safetensors")
    (folder / "expected.json").write_text(json.dumps(record, ensure_ascii=False) + "\n")
    print(name, sum(f.stat().st_size for f in folder.rglob("*.*")) // 1024, "KiB")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--out", type=pathlib.Path, required=True)
    a.add_argument("--only", default="")
    a = a.parse_args()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    names = pictures(a.seed, a.out / "pictures")
    for name, (tokenizer, processor, build) in families().items():
        if not a.only or name in a.only.split(","):
            make(name, tokenizer, processor, build, a.seed, a.out / name, names, a.out / "pictures")


if __name__ == "__main__":
    main()
