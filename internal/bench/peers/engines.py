#!/usr/bin/env python3
"""Compares searchd with embedded vector databases: the same texts and vectors, vector and hybrid search.

usage: engines.py BIN DIR DOCUMENTS.jsonl QUERIES.txt [DOCUMENTS]

BIN holds searchd. Documents have "id" and "text". Vectors come from searchd's built-in model and are kept in DIR.
Prints for each engine the time of the import, memory, disk, recall@10 of vector search against exhaustive search,
and for 1 and 8 clients the searches per second with their median and 99th percentile, in milliseconds.
searchd is asked over HTTP, the others in their process. Needs numpy, lancedb and chromadb of PyPI; engines that
are not installed are left out. The engines run one after another, each in a process of its own.
"""
import concurrent.futures, http.client, json, os, shutil, socket, statistics, subprocess, sys, threading, time
import numpy as np

DIM, K = 384, 10


def embed(searchd, lines, to):
    if os.path.exists(to):
        return np.fromfile(to, np.float32).reshape(-1, DIM)
    with open(to + ".part", "wb") as out:
        subprocess.run([searchd, "embed", "--format", "f32"], input="".join(json.dumps({"text": t}) + "\n" for t in lines).encode(), stdout=out, stderr=subprocess.DEVNULL, check=True)
    os.rename(to + ".part", to)
    return np.fromfile(to, np.float32).reshape(-1, DIM)


def disk(path):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(path) for f in files)


class Searchd:
    """Vectors given with documents and queries."""

    given = True

    def __init__(self, bin, dir, texts, vectors):
        self.searchd, self.data = os.path.join(bin, "searchd"), os.path.join(dir, "searchd.data")
        docs, settings = os.path.join(dir, "given.jsonl"), os.path.join(dir, "settings.json")
        with open(docs, "w") as out:
            for i, (t, v) in enumerate(zip(texts, vectors)):
                out.write('{"id":"%d","text":%s,"vector":[%s]}\n' % (i, json.dumps(t), ",".join("%.7g" % x for x in v)))
        with open(settings, "w") as out:
            json.dump({"embedder": {"source": "given", "dimension": DIM}}, out)
        began = time.time()
        subprocess.run([self.searchd, "ingest", "--data", self.data, "--settings", settings, docs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.took = time.time() - began
        self.start()

    def start(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.server = subprocess.Popen([self.searchd, "serve", "--data", self.data, "--addr", "127.0.0.1:%d" % self.port], stderr=subprocess.DEVNULL)
        self.clients = threading.local()
        while True:
            try:
                if self.send("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)

    def send(self, method, path, body=None):
        if not hasattr(self.clients, "own"):
            self.clients.own = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            self.clients.own.request(method, path, body, {"Content-Type": "application/json"})
            r = self.clients.own.getresponse()
            return r.status, r.read()
        except OSError:
            del self.clients.own
            raise

    def ask(self, **query):
        status, answer = self.send("POST", "/v1/collections/docs/search", json.dumps(query))
        if status != 200:
            raise RuntimeError(answer)
        return [h["id"] for h in json.loads(answer)["hits"]]

    def vector(self, text, v):
        return self.ask(vector=v.tolist(), limit=K)

    def hybrid(self, text, v):
        return self.ask(q=text, syntax="plain", vector=v.tolist(), limit=K)

    def memory(self):
        with open("/proc/%d/status" % self.server.pid) as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmRSS")) * 1024

    def size(self):
        return disk(self.data)

    def stop(self):
        self.server.terminate()
        self.server.wait()


class SearchdEncodes(Searchd):
    """The built-in model encodes documents and queries."""

    given = False

    def __init__(self, bin, dir, texts, vectors):
        self.searchd, self.data = os.path.join(bin, "searchd"), os.path.join(dir, "searchd-encodes.data")
        docs = os.path.join(dir, "texts.jsonl")
        with open(docs, "w") as out:
            for i, t in enumerate(texts):
                out.write(json.dumps({"id": str(i), "text": t}) + "\n")
        began = time.time()
        subprocess.run([self.searchd, "ingest", "--data", self.data, docs], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.took = time.time() - began
        self.start()

    def vector(self, text, v):
        return self.ask(q=text, syntax="plain", mode="semantic", limit=K)

    def hybrid(self, text, v):
        return self.ask(q=text, syntax="plain", limit=K)


class InProcess:
    given = True

    def memory(self):
        with open("/proc/self/status") as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmRSS")) * 1024 - self.before

    def size(self):
        return disk(self.path)

    def stop(self):
        pass


class Chroma(InProcess):
    hybrid = None

    def __init__(self, bin, dir, texts, vectors):
        import chromadb
        self.before, self.path = 0, os.path.join(dir, "chroma")
        self.before = self.memory()
        began = time.time()
        client = chromadb.PersistentClient(self.path)
        self.docs = client.create_collection("docs", metadata={"hnsw:space": "cosine"})
        for i in range(0, len(texts), 5000):
            self.docs.add(ids=[str(k) for k in range(i, min(i + 5000, len(texts)))], embeddings=vectors[i : i + 5000], documents=texts[i : i + 5000])
        self.took = time.time() - began

    def vector(self, text, v):
        return self.docs.query(query_embeddings=[v], n_results=K, include=["documents"])["ids"][0]


class LanceDB(InProcess):
    def __init__(self, bin, dir, texts, vectors):
        import lancedb, pyarrow as pa
        from lancedb.index import FTS, HnswSq
        from lancedb.rerankers import RRFReranker
        self.before, self.path = 0, os.path.join(dir, "lancedb")
        self.before = self.memory()
        began = time.time()
        rows = pa.table({"id": [str(i) for i in range(len(texts))], "text": texts, "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIM)})
        self.docs = lancedb.connect(self.path).create_table("docs", rows)
        self.docs.create_index("vector", config=HnswSq(distance_type="cosine"))
        self.docs.create_index("text", config=FTS())
        self.rrf = RRFReranker()
        self.took = time.time() - began

    def vector(self, text, v):
        return [r["id"] for r in self.docs.search(v, vector_column_name="vector").metric("cosine").nprobes(20).refine_factor(2).limit(K).to_list()]

    def hybrid(self, text, v):
        q = "".join(c if c.isalnum() else " " for c in text)
        return [r["id"] for r in self.docs.search(query_type="hybrid", vector_column_name="vector", fts_columns="text").vector(v).text(q).rerank(self.rrf).limit(K).to_list()]


ENGINES = {"searchd": Searchd, "searchd, encoding": SearchdEncodes, "Chroma": Chroma, "LanceDB": LanceDB}


def measure(ask, queries, vectors, clients, seconds=10):
    """Asks for some seconds; returns searches per second, the median and the 99th percentile in milliseconds."""
    times, end, lock, at = [], time.time() + seconds, threading.Lock(), [0]

    def work():
        while time.time() < end:
            with lock:
                i, at[0] = at[0] % len(queries), at[0] + 1
            began = time.perf_counter()
            ask(queries[i], vectors[i])
            times.append(time.perf_counter() - began)

    began = time.time()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        for f in [pool.submit(work) for _ in range(clients)]:
            f.result()
    took = time.time() - began
    times.sort()
    return "%.0f (%.1f, %.1f)" % (len(times) / took, 1000 * statistics.median(times), 1000 * times[int(0.99 * len(times))])


def one(name, bin, dir, documents, queries, n):
    texts = [json.loads(l)["text"] for l in open(documents)][:n]
    asked = [l.strip() for l in open(queries) if l.strip()]
    searchd = os.path.join(bin, "searchd")
    vectors, qs = embed(searchd, texts, os.path.join(dir, "documents.f32"))[:n], embed(searchd, asked, os.path.join(dir, "queries.f32"))
    truth = np.argsort(-(qs @ vectors.T), axis=1)[:, :K]
    try:
        e = ENGINES[name](bin, dir, texts, vectors)
    except ImportError as err:
        return print("%s: %s" % (name, err), file=sys.stderr)
    try:
        for q, v in list(zip(asked, qs))[:50]:
            e.vector(q, v)
            if e.hybrid:
                e.hybrid(q, v)
        found = [len(set(map(int, e.vector(q, v))) & set(t.tolist())) / K for q, v, t in zip(asked, qs, truth)]
        cells = [name, "%.0f s" % e.took, "%.0f MB" % (e.memory() / 1e6), "%.0f MB" % (e.size() / 1e6), "%.3f" % np.mean(found) if e.given else ""]
        for ask in (e.vector, e.hybrid):
            for clients in (1, 8):
                cells.append(measure(ask, asked, qs, clients) if ask else "")
        print("| " + " | ".join(cells) + " |", flush=True)
    finally:
        e.stop()


def main():
    if len(sys.argv) not in (5, 6, 8):
        sys.exit(__doc__)
    bin, dir, documents, queries = sys.argv[1:5]
    n = int(sys.argv[5]) if len(sys.argv) > 5 else 100_000
    if len(sys.argv) == 8:
        return one(sys.argv[7], bin, dir, documents, queries, n)
    os.makedirs(dir, exist_ok=True)
    print("| %d documents | import | memory | disk | recall@10 | vector, 1 client | 8 clients | hybrid, 1 client | 8 clients |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|" % n, flush=True)
    for name in ENGINES:
        for old in ("searchd.data", "searchd-encodes.data", "chroma", "lancedb"):
            shutil.rmtree(os.path.join(dir, old), ignore_errors=True)
        subprocess.run([sys.executable, __file__, bin, dir, documents, queries, str(n), "--only", name])


main()
