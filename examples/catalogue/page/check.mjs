// Asks a running server what the page asks it. usage: node check.mjs URL
import assert from "node:assert/strict";
import { filter, search } from "./search.js";

assert.equal(filter({ brand: new Set(["Ovis", "O'Neill"]), category: new Set() }), "brand IN ['Ovis', 'O''Neill']");

const base = process.argv[2];
const all = await search(base, "", { category: new Set(), brand: new Set() });
assert.equal(all.total.value, 10);
const some = await search(base, "warm at night", { category: new Set(["camping"]), brand: new Set() });
assert.ok(some.hits.some((hit) => hit.id === "p6"), "the sleeping bag is found");
assert.ok(some.hits.every((hit) => hit.document.category === "camping"));
await assert.rejects(search(base, "x".repeat(40000), {}), /q/);
console.log("the requests of the page are answered");
