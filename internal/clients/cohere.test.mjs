// Cohere's own client, as it is published, against a running searchd at SEARCHD_URL that was given a cross-encoder.
import assert from "node:assert/strict";
import { test } from "node:test";
import cohere from "cohere-ai";

const { CohereClient, CohereClientV2, CohereError } = cohere;
const environment = process.env.SEARCHD_URL;
const v2 = new CohereClientV2({ token: "any", environment });
const v1 = new CohereClient({ token: "any", environment });

const query = "How do I mend a flat tyre?";
const documents = ["Patch the inner tube of the bicycle.", "The moon has phases.", "Sew a button on.", "Knead the dough."];

// ranked checks what every answer must hold.
function ranked(got, n) {
  assert.equal(got.results.length, n);
  const seen = new Set();
  got.results.forEach((r, i) => {
    assert.ok(Number.isInteger(r.index) && r.index >= 0 && r.index < documents.length && !seen.has(r.index));
    seen.add(r.index);
    assert.ok(r.relevanceScore >= 0 && r.relevanceScore <= 1, `score ${r.relevanceScore}`);
    assert.ok(i === 0 || r.relevanceScore <= got.results[i - 1].relevanceScore, "not best first");
  });
  assert.ok(got.id);
}

test("v2 rerank: all documents, best first", async () => {
  const got = await v2.rerank({ model: "rerank-v3.5", query, documents });
  ranked(got, 4);
  assert.equal(got.meta.apiVersion.version, "2");
  assert.equal(got.meta.billedUnits.searchUnits, 1);
});

test("v2 rerank: topN and maxTokensPerDoc", async () => {
  const all = await v2.rerank({ model: "rerank-v3.5", query, documents });
  const two = await v2.rerank({ model: "rerank-v3.5", query, documents, topN: 2, maxTokensPerDoc: 512 });
  ranked(two, 2);
  assert.deepEqual(two.results, all.results.slice(0, 2));
});

test("v2 rerank: the order of the documents changes no score", async () => {
  const there = await v2.rerank({ model: "rerank-v3.5", query, documents });
  const back = await v2.rerank({ model: "rerank-v3.5", query, documents: documents.toReversed?.() ?? [...documents].reverse() });
  const score = new Map(back.results.map((r) => [documents.length - 1 - r.index, r.relevanceScore]));
  for (const r of there.results) assert.ok(Math.abs(score.get(r.index) - r.relevanceScore) < 1e-5);
});

test("v1 rerank: objects with a text, and their text back", async () => {
  const got = await v1.rerank({ query, documents: documents.map((text) => ({ text })), returnDocuments: true, topN: 3 });
  ranked(got, 3);
  for (const r of got.results) assert.equal(r.document.text, documents[r.index]);
  assert.equal(got.meta.apiVersion.version, "1");
});

for (const [name, request, says] of [
  ["an empty query", { model: "m", query: "", documents }, /query: .*not empty/],
  ["no documents", { model: "m", query, documents: [] }, /documents: .*1 to 10000/],
  ["topN 0", { model: "m", query, documents, topN: 0 }, /top_n: .*1 or more/],
]) {
  test("v2 rerank: " + name + " is a typed error with a message", async () => {
    await assert.rejects(v2.rerank(request, { maxRetries: 0 }), (err) => {
      assert.ok(err instanceof CohereError, `${err.constructor.name}: ${err}`);
      assert.equal(err.constructor.name, "BadRequestError");
      assert.equal(err.statusCode, 400);
      const body = typeof err.body === "string" ? JSON.parse(err.body) : err.body;
      assert.match(body.message, says);
      return true;
    });
  });
}
