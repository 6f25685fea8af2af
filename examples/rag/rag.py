"""Answers a question from your documents: searchd finds the passages, an LLM writes the answer.

usage: python rag.py "How large should an emergency fund be?"

SEARCHD_URL       the server, http://127.0.0.1:8080 unless set
SEARCHD_KEY       its API key, where it wants one
OPENAI_BASE_URL   any server with OpenAI's API (Ollama, vLLM, llama.cpp, OpenAI); OPENAI_API_KEY
LLM               the model's name there
"""

import json
import os
import sys
import urllib.request

from openai import OpenAI

SERVER = os.environ.get("SEARCHD_URL", "http://127.0.0.1:8080")
PROMPT = """Answer the question from the sources below and from nothing else. Put the number of the
source behind each statement, like [1]. If the sources do not answer it, say so."""


def search(question: str, limit: int = 4) -> list[dict]:
    """Returns the best passages with the ids of their documents."""
    body = {"q": question, "syntax": "plain", "limit": limit, "passages": 2, "return_fields": ["title"]}
    request = urllib.request.Request(
        SERVER + "/v1/collections/docs/search",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "X-Api-Key": os.environ.get("SEARCHD_KEY", "")},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        hits = json.load(response)["hits"]
    return [{"id": h["id"], "title": h["document"].get("title", h["id"]), "text": p["text"]} for h in hits for p in h["passages"]]


def answer(question: str) -> str:
    sources = search(question)
    context = "\n\n".join(f"[{i}] {s['title']} ({s['id']})\n{s['text']}" for i, s in enumerate(sources, 1))
    reply = OpenAI(api_key=os.environ.get("OPENAI_API_KEY", "none")).chat.completions.create(
        model=os.environ.get("LLM", "gpt-4o-mini"),
        messages=[
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": f"Sources:\n\n{context}\n\nQuestion: {question}"},
        ],
        temperature=0,
    )
    listed = "\n".join(f"[{i}] {s['id']}" for i, s in enumerate(sources, 1))
    return f"{reply.choices[0].message.content}\n\n{listed}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(answer(sys.argv[1]))
