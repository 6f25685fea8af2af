// The published client of the Model Context Protocol against a searchd: over HTTP, and over the command that an assistant starts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const url = process.env.SEARCHD_URL;
const send = (method, path, body) => fetch(url + path, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

await send("PUT", "/v1/collections/assistants", {});
await send("PUT", "/v1/collections/assistants/documents/tyre", { title: "A flat tyre", text: "Take the wheel out and find the hole in the tube.", year: 2020 });

for (const [name, transport] of [
  ["over HTTP", () => new StreamableHTTPClientTransport(new URL(url + "/mcp"))],
  ["over the command", () => new StdioClientTransport({ command: "./searchd", args: ["mcp", "--server", url] })],
]) {
  test(name, async (t) => {
    const client = new Client({ name: "test", version: "1" });
    t.after(() => client.close()); // or a failure leaves Node waiting
    await client.connect(transport());
    assert.equal(client.getServerVersion().name, "searchd");
    const { tools } = await client.listTools(); // whose schemas the client holds every result against
    assert.deepEqual(tools.map((t) => t.name).sort(), ["get_document", "list_collections", "search", "similar"]);
    const call = async (name, args) => await client.callTool({ name, arguments: { collection: "assistants", ...args } });
    const found = await call("search", { query: "mend a puncture", filter: "year = 2020" });
    assert.equal(found.structuredContent.hits[0].id, "tyre");
    assert.match(found.content[0].text, /Take the wheel out/);
    const read = await call("get_document", { id: "tyre" });
    assert.match(read.content[0].text, /title: A flat tyre/);
    const bad = await call("search", { query: "x", filter: "year >" });
    assert.equal(bad.isError, true);
    assert.match(bad.content[0].text, /expected a value/);
    const list = await client.callTool({ name: "list_collections", arguments: {} });
    assert.ok(list.structuredContent.collections.some((c) => c.name === "assistants"));
    await assert.rejects(client.request({ method: "nope" }, { parse: (x) => x }), /-32601/);
  });
}
