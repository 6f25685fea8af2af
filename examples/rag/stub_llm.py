"""Stands in for an LLM where there is none: repeats the first source that it was given.

usage: python stub_llm.py PORT
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        first = request["messages"][-1]["content"].split("\n\n")[1].split("\n", 1)[1]
        message = {"role": "assistant", "content": first.split(". ")[0] + " [1]."}
        body = json.dumps({
            "id": "1", "object": "chat.completion", "created": 0, "model": request["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        }).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
