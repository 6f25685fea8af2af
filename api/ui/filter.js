// Filters: the conditions that all have to hold, and those of them that are choices: values of a field, or where its numbers or dates begin and end.

const name = '(?:`([^`]+)`|([\\p{L}_][\\p{L}\\p{N}_.-]*))';
const number = '[+-]?[\\d.][\\d.eE+-]*';
const value = `'(?:[^']|'')*'|"(?:[^"]|"")*"|${number}|true|false`;
const oneOf = new RegExp(`^${name}(?:\\s*=\\s*(${value})|\\s+in\\s*[[(]\\s*((?:${value})(?:\\s*,\\s*(?:${value}))*)\\s*[\\])])$`, 'iu');
const bound = new RegExp(`^${name}\\s*(>=|<=|<)\\s*(?:(${number})|'(\\d{4}-\\d\\d-\\d\\d)')$`, 'u');
const each = new RegExp(value, 'giu');

/** The conditions of a filter that all have to hold, as they stand in it; null where it has an OR outside of parentheses. */
function conditions(filter) {
  const fill = (part) => '#'.repeat(part.length);
  let bare = filter.replace(/'[^']*'|"[^"]*"|`[^`]*`/g, fill);
  for (let before = ''; before !== bare;) {
    before = bare;
    bare = bare.replace(/\([^()]*\)/g, fill);
  }
  const keywords = [...bare.matchAll(/(?<![\p{L}\p{N}_.-])(and|or)(?![\p{L}\p{N}_.-])/giu)];
  if (keywords.some((m) => m[0].toLowerCase() === 'or')) return null;
  const ends = [...keywords.map((m) => m.index), filter.length];
  return ends.map((end, i) => filter.slice(i ? ends[i - 1] + 3 : 0, end).trim()).filter(Boolean);
}

/** The choice that a condition is; null of any other. */
function choice(condition) {
  const has = condition.match(oneOf);
  if (has) return { field: has[1] ?? has[2], condition, values: [...(has[3] ?? has[4]).matchAll(each)].map(([v]) => canonical(v)) };
  const [, quoted, plain, sign, of, date] = condition.match(bound) ?? [];
  if (sign === '>=') return { field: quoted ?? plain, condition, end: 'from', at: of ?? date };
  const at = sign === '<=' ? of : date && shifted(date, -1);
  return at ? { field: quoted ?? plain, condition, end: 'to', at } : null;
}

/**
 * The choices among the conditions of a filter: {field, condition, values}, these as literal writes them; or {field, condition, end, at}, end being
 * from or to, at a number or the first or last day, as text.
 */
export function choices(filter) {
  return (conditions(filter) ?? []).map(choice).filter(Boolean);
}

/** Whether choices are all of a filter. */
export const plain = (filter) => conditions(filter)?.every(choice) === true;

/** A filter with one condition more, which every document has to hold. */
export function narrowed(filter, condition) {
  const held = conditions(filter);
  if (!held) return `(${filter}) AND ${condition}`;
  if (held.includes(condition)) return filter;
  return filter.trim() ? `${filter} AND ${condition}` : condition;
}

/** A filter with another condition in the place of one, or with none. */
function replaced(filter, condition, by) {
  return conditions(filter).map((c) => (c === condition ? by : c)).filter(Boolean).join(' AND ');
}

/** A filter without the choices of a field. */
export function without(filter, field) {
  return choices(filter).filter((c) => c.field === field).reduce((f, c) => replaced(f, c.condition), filter);
}

/** A filter by which a field may have one value more, beside those that it may have; or no longer the one, as literal writes it. */
export function toggled(filter, field, v) {
  const held = choices(filter).filter((c) => c.field === field && c.values);
  const holds = held.find((c) => c.values.includes(v));
  if (holds) return replaced(filter, holds.condition, hasOne(field, holds.values.filter((x) => x !== v)));
  return held.length ? replaced(filter, held.at(-1).condition, hasOne(field, [...held.at(-1).values, v])) : narrowed(filter, hasOne(field, [v]));
}

/** A filter by which the numbers or days of a field go from one, or to one, that included; empty: there is no such end. */
export function ended(filter, field, end, at) {
  const held = choices(filter).find((c) => c.field === field && c.end === end);
  const date = /^\d{4}-\d\d-\d\d$/.test(at);
  const sign = end === 'from' ? '>=' : date ? '<' : '<=';
  const next = at && `${written(field)} ${sign} ${date ? `'${end === 'from' ? at : shifted(at, 1)}'` : at}`;
  if (held) return replaced(filter, held.condition, next);
  return next ? narrowed(filter, next) : filter;
}

/** A day some days later; empty where there is no such day. */
function shifted(day, by) {
  const time = Date.parse(day) + by * 864e5;
  return isNaN(time) ? '' : new Date(time).toISOString().slice(0, 10);
}

/** A value as a filter writes it. */
export function literal(v) {
  if (typeof v === 'string') return `'${v.replaceAll("'", "''")}'`;
  return JSON.isRawJSON?.(v) ? v.rawJSON : String(v);
}

/** The text of a value in a filter. */
export function textOf(v) {
  return /^['"]/.test(v) ? v.slice(1, -1).replaceAll(v[0] + v[0], v[0]) : v;
}

const canonical = (v) => (v[0] === '"' ? literal(textOf(v)) : /^[tf]/i.test(v) ? v.toLowerCase() : v);

/** A field name as a filter writes it. None has a backquote. */
function written(field) {
  const bare = /^[A-Za-z_][\w.]*$/.test(field) && !/^(and|or|not|in|exists|true|false)$/i.test(field);
  return bare ? field : `\`${field}\``;
}

/** The condition that a field has one of some values, which are as literal writes them; empty without any. */
export function hasOne(field, values) {
  if (values.length < 2) return values.length ? `${written(field)} = ${values[0]}` : '';
  return `${written(field)} IN [${values.join(', ')}]`;
}

/** The condition that a field has a value. */
export const equals = (field, v) => hasOne(field, [literal(v)]);
