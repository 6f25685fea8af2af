// ONNX Runtime on the tokens of a file, as its users run it: batches of 32 sorted by length, padded to the longest of each batch.
// usage: node onnx.mjs MODEL.onnx IDS.jsonl THREADS FOLDER_WITH_node_modules QUERY_TOKENS
// prints {"seconds": for all texts, "query_ms": the best time of one text of QUERY_TOKENS tokens}
import fs from 'node:fs'
import path from 'node:path'
import { createRequire } from 'node:module'

const [model, idsFile, threads, modules, queryTokens] = process.argv.slice(2)
const { InferenceSession, Tensor } = createRequire(path.resolve(modules) + '/')('onnxruntime-node')
const session = await InferenceSession.create(model, { intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all' })

const texts = fs.readFileSync(idsFile, 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line).ids)
const sorted = texts.toSorted((a, b) => a.length - b.length)

function feed(batch) {
  const width = Math.max(...batch.map(ids => ids.length))
  const ids = new BigInt64Array(batch.length * width), mask = new BigInt64Array(batch.length * width)
  for (const [row, list] of batch.entries())
    for (const [column, id] of list.entries()) {
      ids[row * width + column] = BigInt(id)
      mask[row * width + column] = 1n
    }
  const known = { input_ids: ids, attention_mask: mask, token_type_ids: new BigInt64Array(ids.length) }
  return Object.fromEntries(session.inputNames.map(name => [name, new Tensor('int64', known[name], [batch.length, width])]))
}

async function pass(rows) {
  for (let from = 0; from < rows.length; from += 32) await session.run(feed(rows.slice(from, from + 32)))
}

const seconds = async work => {
  const began = performance.now()
  await work()
  return (performance.now() - began) / 1e3
}

await pass(sorted.slice(0, 64))
const all = await seconds(() => pass(sorted))
const query = [sorted.at(-1).slice(0, Number(queryTokens))]
let best = Infinity
for (let i = 0; i < 300; i++) best = Math.min(best, await seconds(() => pass(query)))
console.log(JSON.stringify({ seconds: all, query_ms: best * 1e3, query_tokens: query[0].length }))
