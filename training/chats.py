"""Writes what transformers renders from the chat templates of a folder: one expected.json for all of them.

    python training/chats.py generate/jinja/testdata
"""

import json
import pathlib
import sys

from transformers.utils.chat_template_utils import render_jinja_template

TOOL = {"type": "function", "function": {"name": "weather", "description": "Weather of a \"city\" <now>", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "Größe"}}, "required": ["city"]}}}

CHATS = [
    [{"role": "user", "content": "  What is BM25?  "}],
    [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Hi"}],
    [{"role": "user", "content": "One"}, {"role": "assistant", "content": " <think>\nhm\n</think>\n\nTwo "}, {"role": "user", "content": "Three\n"}],
    [{"role": "system", "content": "S"}, {"role": "user", "content": "Où?"}, {"role": "assistant", "content": "Là."}, {"role": "user", "content": "naïve 😀"},
     {"role": "assistant", "content": "last"}],
    [{"role": "user", "content": "weather?"}, {"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "weather", "arguments": {"city": "Paris", "days": [1, 2.5, None, True]}}}]},
     {"role": "tool", "content": "20 °C"}, {"role": "tool", "content": "dry"}, {"role": "assistant", "content": "Warm."}],
    [{"role": "assistant", "content": "first"}],
]


def main():
    folder = pathlib.Path(sys.argv[1])
    out = []
    for file in sorted(folder.glob("*.jinja")):
        for chat in CHATS:
            for tools in (None, [TOOL]):
                for prompt in (True, False):
                    case = dict(template=file.stem, messages=chat, tools=tools, add_generation_prompt=prompt)
                    try:
                        text, _ = render_jinja_template([chat], tools=tools, chat_template=file.read_text(), add_generation_prompt=prompt,
                                                        bos_token="<s>", eos_token="</s>")
                        case["text"] = text[0]
                    except Exception as e:  # a template that refuses the chat
                        case["error"] = str(e)
                    out.append(case)
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in out)
    (folder / "expected.json").write_text(f"[\n{lines}\n]\n")


main()
