// OpenAI's own client, as it is published, against a running searchd at SEARCHD_URL.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";

const url = process.env.SEARCHD_URL;
const client = new OpenAI({ apiKey: "any", baseURL: url + "/v1", maxRetries: 0 });
const model = "text-embedding-3-small"; // what programs in the field name; the answer names the server's own

const length = (v) => Math.hypot(...v);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const raw = async (path, body) => (await fetch(url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();

test("embeddings: the default, which asks for base64, gives the numbers of float", async () => {
  const input = "How do I flip pancakes?";
  const byDefault = await client.embeddings.create({ model, input });
  const asFloat = await client.embeddings.create({ model, input, encoding_format: "float" });
  assert.equal(byDefault.object, "list");
  assert.equal(byDefault.data.length, 1);
  assert.equal(byDefault.data[0].object, "embedding");
  assert.equal(byDefault.data[0].index, 0);
  assert.ok(byDefault.usage.prompt_tokens > 5 && byDefault.usage.total_tokens === byDefault.usage.prompt_tokens);
  const [a, b] = [byDefault.data[0].embedding, asFloat.data[0].embedding];
  assert.ok(a.length >= 64 && a.length === b.length);
  assert.ok(Math.abs(length(a) - 1) < 1e-5);
  for (let i = 0; i < a.length; i++) assert.ok(Math.abs(a[i] - b[i]) < 1e-7, `component ${i}: ${a[i]}, ${b[i]}`);
});

test("embeddings: base64 that is asked for stays base64, of little-endian float32", async () => {
  const input = "pancakes";
  const text = (await client.embeddings.create({ model, input, encoding_format: "base64" })).data[0].embedding;
  assert.equal(typeof text, "string");
  const bytes = Buffer.from(text, "base64");
  const want = (await client.embeddings.create({ model, input, encoding_format: "float" })).data[0].embedding;
  assert.equal(bytes.length, 4 * want.length);
  for (let i = 0; i < want.length; i++) assert.ok(Math.abs(bytes.readFloatLE(4 * i) - want[i]) < 1e-7);
});

test("embeddings: several texts, in order, equal to each alone", async () => {
  const input = ["a cat sleeps", "stock markets fell", "a kitten naps"];
  const many = await client.embeddings.create({ model, input });
  assert.deepEqual(many.data.map((d) => d.index), [0, 1, 2]);
  const one = await client.embeddings.create({ model, input: input[2] });
  assert.ok(dot(one.data[0].embedding, many.data[2].embedding) > 0.99999);
  const [cat, stocks, kitten] = many.data.map((d) => d.embedding);
  assert.ok(dot(cat, kitten) > dot(cat, stocks));
});

test("embeddings: token ids give the vector of their text", async () => {
  const text = "Bicycle gears explained.";
  const ids = (await raw("/tokenize", { inputs: text }))[0].map((t) => t.id);
  const want = (await client.embeddings.create({ model, input: text })).data[0].embedding;
  for (const input of [ids, [ids, ids]]) {
    const got = await client.embeddings.create({ model, input });
    assert.equal(got.data.length, Array.isArray(input[0]) ? 2 : 1);
    for (const d of got.data) assert.ok(dot(d.embedding, want) > 0.99999);
  }
});

test("embeddings: dimensions shortens the vector and keeps its length 1", async () => {
  const input = "pancakes";
  const full = (await client.embeddings.create({ model, input })).data[0].embedding;
  const short = (await client.embeddings.create({ model, input, dimensions: 64 })).data[0].embedding;
  assert.equal(short.length, 64);
  assert.ok(Math.abs(length(short) - 1) < 1e-5);
  const scale = length(full.slice(0, 64));
  for (let i = 0; i < 64; i++) assert.ok(Math.abs(short[i] - full[i] / scale) < 1e-5);
});

test("embeddings: 2,048 texts in one request", async () => {
  const input = Array.from({ length: 2048 }, (_, i) => `note ${i}`);
  const got = await client.embeddings.create({ model, input });
  assert.equal(got.data.length, 2048);
  got.data.forEach((d, i) => assert.ok(d.index === i && Math.abs(length(d.embedding) - 1) < 1e-4));
});

for (const [name, request, param, says] of [
  ["an empty text", { model, input: "" }, "input", /not empty/],
  ["no texts", { model, input: [] }, "input", /1 to \d+ strings/],
  ["texts and numbers mixed", { model, input: ["a", 1] }, "input/1", /array/],
  ["dimensions beyond the model's", { model, input: "a", dimensions: 100000 }, "dimensions", /1 to \d+/],
  ["an unknown format", { model, input: "a", encoding_format: "hex" }, "encoding_format", /float, base64/],
  ["a token id that does not exist", { model, input: [99999999] }, "input/0", /token id/],
]) {
  test("embeddings: " + name + " is a BadRequestError that names the field", async () => {
    await assert.rejects(client.embeddings.create(request), (err) => {
      assert.ok(err instanceof OpenAI.BadRequestError, `${err.constructor.name}: ${err}`);
      assert.equal(err.status, 400);
      assert.equal(err.type, "invalid_request_error");
      assert.equal(err.code, "invalid_request");
      assert.equal(err.param, param);
      assert.match(err.message, says);
      assert.ok(err.requestID, "no request id");
      return true;
    });
  });
}

test("models: list and retrieve", async () => {
  const list = await client.models.list();
  assert.equal(list.data.length, 2);
  assert.equal(list.data[0].object, "model");
  const one = await client.models.retrieve(list.data[0].id);
  assert.deepEqual({ ...one }, { ...list.data[0] });
  let n = 0;
  for await (const m of client.models.list()) { n++; assert.equal(m.owned_by, "searchd"); }
  assert.equal(n, 2);
  await assert.rejects(client.models.retrieve("gpt-0"), (err) => {
    assert.ok(err instanceof OpenAI.NotFoundError, `${err.constructor.name}: ${err}`);
    assert.equal(err.code, "model_not_found");
    return true;
  });
});

test("a route that is not there is a NotFoundError with a message", async () => {
  await assert.rejects(client.images.generate({ model, prompt: "hi" }), (err) => {
    assert.ok(err instanceof OpenAI.NotFoundError, `${err.constructor.name}: ${err}`);
    assert.match(err.message, /no such route/i);
    return true;
  });
});

test("chat completions: a stream gives the text of the whole answer", async () => {
  const request = { model, messages: [{ role: "user", content: "What is a class?" }], max_tokens: 24, temperature: 0.7, seed: 3 };
  const whole = await client.chat.completions.create(request);
  assert.equal(whole.object, "chat.completion");
  assert.equal(whole.choices[0].message.role, "assistant");
  assert.equal(whole.usage.completion_tokens, 24);
  let text = "", chunks = 0, usage;
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true, stream_options: { include_usage: true } })) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage ??= chunk.usage;
    chunks++;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.ok(chunks > 5);
  assert.deepEqual(usage, whole.usage);
});

test("completions: several prompts, in order", async () => {
  const r = await client.completions.create({ model, prompt: ["the value of", "a class"], max_tokens: 8, temperature: 0 });
  assert.deepEqual(r.choices.map((c) => c.index), [0, 1]);
  assert.ok(r.choices.every((c) => c.text.length > 0 && c.finish_reason === "length"));
});
