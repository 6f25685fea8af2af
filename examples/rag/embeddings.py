"""Uses searchd in the place of OpenAI's embeddings: only the base URL differs.

usage: python embeddings.py; SEARCHD_URL and SEARCHD_KEY as in rag.py
"""

import os

from openai import OpenAI

client = OpenAI(
    base_url=os.environ.get("SEARCHD_URL", "http://127.0.0.1:8080") + "/v1",
    api_key=os.environ.get("SEARCHD_KEY", "none"),
)
texts = ["a cat sleeps in the sun", "stock markets fell sharply", "a kitten takes a nap"]
vectors = [d.embedding for d in client.embeddings.create(model="embedded", input=texts).data]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b))  # the vectors have unit length


for text, vector in zip(texts[1:], vectors[1:]):
    print(f"{cosine(vectors[0], vector):.2f}  {text}")
assert cosine(vectors[0], vectors[2]) > cosine(vectors[0], vectors[1])
