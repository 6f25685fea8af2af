// Which fields the documents of a collection have, as far as a look at some of them tells.
import * as api from './api.js';
import { equals } from './filter.js';
import { textFields, titleFields } from './title.js';

const looked = 100; // documents, a quarter each from the first to the last where there are more
const reachable = 10000; // documents in the order in which they were written
const longest = 256; // of a string that can be a value, in bytes
const ofFiles = ['modified', 'path']; // what every file brings along

export const isDate = (v) => typeof v === 'string' && /^\d{4}-\d\d-\d\d(T|$)/.test(v);
export const isNumber = (v) => typeof v === 'number' || JSON.isRawJSON?.(v) === true;

/** How many bytes a string has. */
export const byteLength = (s) => new TextEncoder().encode(s).length;

/** Adds the values of a document to those of each field, members of objects by their dotted names. */
function collect(values, document, prefix = '') {
  for (const [name, v] of Object.entries(document)) {
    for (const one of [v].flat(Infinity)) {
      if (one === null) continue;
      if (typeof one === 'object' && !isNumber(one)) collect(values, one, `${prefix}${name}.`);
      else values.set(prefix + name, [...(values.get(prefix + name) ?? []), one]);
    }
  }
}

function valuesOf(hits) {
  const values = new Map();
  for (const h of hits) collect(values, h.document ?? {});
  return values;
}

/** How many of some hits have a value in each field. */
export function having(hits) {
  const n = new Map();
  for (const h of hits) for (const name of valuesOf([h]).keys()) n.set(name, (n.get(name) ?? 0) + 1);
  return n;
}

/** Adds the fields of hits that none of the documents looked at has. Says whether there are any. */
export function learn({ values }, hits) {
  const before = values.size;
  for (const [name, v] of valuesOf(hits)) if (!values.has(name)) values.set(name, v);
  return values.size > before;
}

/** The fields of text that a collection's settings leave as they are. Hits come without those of textFields. */
export function texts(info) {
  const fields = info?.settings.fields ?? {};
  return textFields.filter((f) => (fields[f]?.type ?? 'text') === 'text');
}

let asked = { key: '' };

/** {values: of documents from all over the collection, by field; id: of one of them}, asked for once as long as the collection stays as it is. */
export function sampleOf(info) {
  const key = `${info.name} ${info.sequence}`;
  if (asked.key !== key) {
    const mine = (asked = { key });
    const [limit, parts] = info.documents <= looked ? [looked, 1] : [looked / 4, 4];
    const last = Math.min(info.documents, reachable) - limit;
    const part = (_, i) => ({ q: '', offset: i && Math.floor(i * last / (parts - 1)), limit, window: reachable, passages: 0, highlight: false, omit_fields: texts(info) });
    mine.sample = api.searches(info.name, Array.from({ length: parts }, part)).then((answers) => {
      const hits = answers.flatMap((a) => a.hits);
      return { values: valuesOf(hits), id: hits[0]?.id };
    });
    mine.sample.catch(() => { mine.key = ''; });
  }
  return asked.sample;
}

/** Whether values of the documents looked at come again and again, so that it may be worth narrowing by them. */
function recur(values) {
  const plain = (v) => typeof v === 'boolean' || Number.isInteger(v) || (typeof v === 'string' && byteLength(v) <= longest);
  return values.every(plain) && !values.every(isDate) && new Set(values).size <= 0.8 * values.length;
}

/** The fields that may be worth narrowing by, and those to order by: numbers and dates. Both are empty where there is nothing but what every file has. */
export function offers(info, { values }) {
  const declared = info.settings.fields ?? {};
  const usable = [...values].filter(([name]) => !name.includes('`') && declared[name]?.type !== 'stored');
  const isText = (name) => (declared[name]?.type ?? ([...textFields, ...titleFields].includes(name) ? 'text' : '')) === 'text';
  const narrow = usable.filter(([name, v]) => !isText(name) && !ofFiles.includes(name) && recur(v)).map(([name]) => name);
  const order = usable.map(([name, v]) => ({ name, dates: v.every(isDate), numbers: v.every(isNumber) })).filter((f) => f.dates || f.numbers);
  return { narrow, order: narrow.length || order.some((f) => !ofFiles.includes(f.name)) ? order : [] };
}

/** What to write into a filter, for example: by fields that the documents looked at have. */
export function example(info, sample) {
  const { narrow, order } = offers(info, sample);
  const word = narrow.map((name) => [name, sample.values.get(name)]).find(([, v]) => typeof v[0] === 'string' && v[0] && v[0].length <= 20);
  const number = order.find((f) => f.numbers)?.name;
  const parts = [word && equals(word[0], word[1][0]), number && equals(number, sample.values.get(number)[0]).replace(/ = (\S+)$/, ' >= $1')];
  return parts.filter(Boolean).join(' AND ') || (sample.id ? equals('id', sample.id) : '');
}
