// The settings of a collection: those that act at once, and those that build it anew. What is wrong with one is said beside it, as the server says it.
import * as api from './api.js';
import { ask, el, toast } from './dom.js';
import { titleFields } from './passage.js';

const languages = ['ar', 'ckb', 'cjk', 'hr', 'da', 'nl', 'en', 'fi', 'fr', 'de', 'hi', 'hu', 'it', 'no', 'fa', 'pt', 'ro', 'ru', 'es', 'sv', 'tr', 'standard'];
const types = [['text', 'text: by words and meaning'], ['filter', 'filter: a value'], ['stored', 'stored: neither']];

/** What somebody typed where a number belongs; the server says what is wrong with anything else. */
const numeric = (s) => (isNaN(s) ? s : Number(s));

export function languageName(code) {
  return { cjk: 'Chinese, Japanese, Korean', standard: 'another, or several' }[code] ?? new Intl.DisplayNames('en', { type: 'language' }).of(code);
}

export const languageOptions = (chosen) => languages.map((code) => new Option(languageName(code), code, code === chosen, code === chosen));
export const quantizeOptions = (chosen) => [['none', 'float32'], ['int8', 'int8: a quarter']].map(([v, name]) => new Option(name, v, v === chosen, v === chosen));

/** The language that a collection should have by its texts; empty where it has it, or they do not tell. */
export async function otherLanguage(name) {
  const l = await api.collectionLanguage(name).catch(() => ({}));
  return l.looks_like && l.looks_like !== l.language ? l.looks_like : '';
}

/** Opens the settings of a collection. changed() is called when they are others. */
export async function openSettings(name, changed) {
  const [info, server, stats] = await Promise.all([api.collection(name), api.info(), api.collectionStats(name).catch(() => null)]);
  const { passage_tokens: usual, max_tokens: most } = info.model;
  new Settings(info, { ...server.defaults, passages: { max_tokens: usual || most } }, stats?.vectors.ef_search, changed);
}

class Settings {
  /** defaults: what holds where a setting is empty. width: how many candidates a search looks at now. */
  constructor(info, defaults, width, changed) {
    Object.assign(this, { info, changed, old: info.settings, anew: false });
    const { language = 'en', synonyms = [], fields = {}, passages = {}, index = {} } = info.settings;
    this.synonyms = el('textarea', { rows: '5', spellcheck: 'false', placeholder: 'k8s, kubernetes\ntv, telly => television' });
    this.synonyms.value = synonyms.join('\n');
    this.fields = el('div', { class: 'fieldrows' }, ...Object.entries(fields).map(([field, f]) => this.row(field, f)));
    this.quantize = el('select', { class: 'select' }, quantizeOptions(index.quantize || 'none'));
    this.language = el('select', { class: 'select' }, languageOptions(language));
    this.looks = el('span', { class: 'looks' });
    const found = index.ef_search || !width ? 'found for the recall' : `found: ${width}`;
    this.numbers = [['/index/target_recall', 'Target recall', index.target_recall], ['/index/ef_search', 'Beam width, searching', index.ef_search, found],
      ['/passages/max_tokens', 'Tokens per passage', passages.max_tokens], ['/index/m', 'Links per vector', index.m], ['/index/ef_construction', 'Beam width, building', index.ef_construction]]
      .map(([at, label, value, placeholder]) => {
        const [, group, member] = at.split('/');
        return { at, label, input: el('input', { inputmode: 'decimal', placeholder: placeholder ?? `default: ${defaults[group][member]}`, autocomplete: 'off', value: value || null }) };
      });
    this.titled = el('input', { type: 'checkbox', checked: !passages.no_title });
    this.save = el('button', { class: 'button primary', value: 'save' });
    this.wrong = el('p', { class: 'wrong', role: 'alert' });
    const { form, dialog } = ask('settingsTitle', `Settings of ${info.name}`, ...this.parts(), this.wrong,
      el('p', { class: 'row' }, this.save, el('button', { class: 'button', value: 'no', formnovalidate: true }, 'Cancel')));
    dialog.classList.add('configuring');
    this.dialog = dialog;
    this.was = JSON.stringify(this.read());
    dialog.addEventListener('keydown', (e) => { if (e.key === 'Escape') this.leave(e); });
    dialog.addEventListener('cancel', (e) => this.leave(e)); // by a gesture, where there is no such key
    form.addEventListener('input', () => this.show());
    form.addEventListener('submit', (e) => {
      if (e.submitter?.value === 'no') return;
      e.preventDefault();
      this.send();
    });
    this.show();
    if (info.documents) otherLanguage(info.name).then((code) => this.offer(code));
  }

  parts() {
    const at = (pointer, ...children) => el('div', { class: 'setting', 'data-at': pointer }, ...children, el('div', { class: 'wrongs', role: 'alert' }));
    const number = (pointer) => {
      const n = this.numbers.find((x) => x.at === pointer);
      return at(pointer, el('label', { title: pointer.slice(1).replace('/', '.') }, n.label, n.input));
    };
    const anew = this.info.documents ? [el('h3', null, 'Settings that need re-embedding'),
      el('p', { class: 'quiet small' }, 'This happens in the background; searches use the old version until it is done. Unchanged passages keep their vectors.')] : [];
    return [
      at('/synonyms', el('label', null, 'Synonyms, a rule per line', this.synonyms)),
      at('/fields', el('h3', null, 'Fields'), el('p', { class: 'quiet small' }, 'Other fields are recognised by name and value: titles count 2, texts 1, other strings 0.5.'), this.fields,
        el('button', { type: 'button', class: 'link', onclick: () => { const row = this.row('', { type: 'text' }); this.fields.append(row); this.show(); row.querySelector('input').focus(); } }, 'Name a field')),
      el('div', { class: 'pairs' }, at('/index/quantize', el('label', null, 'Vectors in memory', this.quantize)), number('/index/target_recall'), number('/index/ef_search')),
      ...anew,
      el('div', { class: 'pairs' }, at('/language', el('label', null, 'Language', this.language), this.looks), number('/passages/max_tokens'), number('/index/m'), number('/index/ef_construction')),
      at('/passages/no_title', el('label', { class: 'check' }, this.titled, ' Put the title in front of each passage')),
    ];
  }

  row(field, { type, weight }) {
    const row = el('div', { class: 'fieldrow' },
      el('input', { 'aria-label': 'Field', placeholder: 'field', value: field, autocomplete: 'off', spellcheck: 'false', 'data-name': 'name' }),
      el('select', { class: 'select', 'data-name': 'type' }, types.map(([v, text]) => new Option(text, v, v === type, v === type))),
      el('input', { inputmode: 'decimal', autocomplete: 'off', value: weight || null, 'data-name': 'weight' }),
      el('button', { type: 'button', class: 'link', onclick: () => { row.remove(); this.show(); } }, 'Remove'));
    return row;
  }

  /** The names of a row's controls, and what its words count unless it says so. */
  label(row) {
    const [name, type, weight, remove] = row.children;
    const field = name.value.trim();
    for (const [control, of] of [[type, 'Type of'], [weight, 'Weight of'], [remove, 'No entry for']]) control.setAttribute('aria-label', `${of} ${field || 'the field'}`);
    weight.placeholder = type.value === 'text' ? `default: ${titleFields.includes(field) ? 2 : 1}` : 'weight';
  }

  /** Esc asks before it drops what was changed. */
  leave(e) {
    if (JSON.stringify(this.read()) === this.was) return;
    e.preventDefault();
    const { form, dialog } = ask('leaveTitle', 'Discard the changes?', el('p', null, `The settings of ${this.info.name} were changed here and not saved.`),
      el('p', { class: 'row' }, el('button', { class: 'button', value: 'stay' }, 'Keep editing'), el('button', { class: 'button danger', value: 'drop' }, 'Discard')));
    form.addEventListener('submit', (s) => { if (s.submitter.value === 'drop') this.dialog.close(); });
    dialog.addEventListener('keydown', (k) => { // a browser may close both where nothing was pressed between
      if (k.key !== 'Escape') return;
      k.preventDefault();
      dialog.close();
    });
  }

  offer(code) {
    if (!code) return;
    this.looks.replaceChildren(`Its texts look like ${languageName(code)}. `, el('button', { type: 'button', class: 'link', onclick: () => { this.language.value = code; this.show(); } }, 'Take it'));
  }

  /** The settings as the form has them. What is empty is left out, and is the default. */
  read() {
    this.lines = this.synonyms.value.split('\n').map((rule, i) => ({ rule: rule.trim(), line: i + 1 })).filter((l) => l.rule);
    const fields = {};
    this.faults = [];
    for (const row of this.fields.children) {
      const [field, type, weight] = ['name', 'type', 'weight'].map((n) => row.querySelector(`[data-name=${n}]`).value.trim());
      if (Object.hasOwn(fields, field)) this.faults.push({ pointer: `/settings/fields/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`, detail: 'is listed twice; keep one of them' });
      if (!field && (weight || type !== 'text')) this.faults.push({ pointer: '/settings/fields', detail: 'A row has no field name.' });
      if (field) fields[field] = weight ? { type, weight: numeric(weight) } : { type };
    }
    const { language: _, ...others } = this.old; // what this dialog does not show stays: rules, expiry, versions, embedder
    const next = { ...others, synonyms: this.lines.map((l) => l.rule), fields, passages: {}, index: {} };
    if (this.language.value !== (this.old.language || 'en')) next.language = this.language.value;
    else if (this.old.language) next.language = this.old.language;
    if (this.quantize.value !== 'none' || this.old.index?.quantize) next.index.quantize = this.quantize.value;
    for (const n of this.numbers) {
      const [, group, member] = n.at.split('/');
      if (n.input.value.trim()) next[group][member] = numeric(n.input.value);
    }
    if (!this.titled.checked) next.passages.no_title = true;
    return next;
  }

  /** The settings by which documents are indexed. */
  static indexed({ language = 'en', passages = {}, index = {} }) {
    return JSON.stringify([language, passages.max_tokens, passages.no_title, index.m, index.ef_construction]);
  }

  show() {
    for (const row of this.fields.children) this.label(row);
    this.build = this.info.documents > 0 && (this.anew || Settings.indexed(this.read()) !== Settings.indexed(this.old));
    this.save.textContent = this.build ? 'Save and re-embed' : 'Save';
  }

  async send() {
    const next = this.read();
    for (const list of this.dialog.querySelectorAll('.wrongs')) list.replaceChildren();
    this.wrong.textContent = '';
    if (this.faults.length) {
      this.fail({ errors: this.faults });
      return;
    }
    this.save.disabled = true;
    try {
      await (this.build ? api.reembed(this.info.name, next) : api.patchCollection(this.info.name, patch(this.old, next)));
      this.dialog.close();
      toast(this.build ? `${this.info.name} is being re-embedded` : 'Saved');
      this.changed();
    } catch (err) {
      this.fail(err);
    } finally {
      this.save.disabled = false;
    }
  }

  /** Puts each fault beside what it is about. A field whose type documents stand against changes with a collection built anew. */
  fail(err) {
    const rest = [];
    for (const { pointer, detail } of err.errors) {
      const path = pointer.replace(/^\/settings/, '');
      const place = [...this.dialog.querySelectorAll('[data-at]')].find((e) => path === e.dataset.at || path.startsWith(`${e.dataset.at}/`));
      const [, group, of] = path.match(/^\/(\w+)\/(.*)$/) ?? [];
      const within = { synonyms: `Line ${this.lines[of]?.line}: `, fields: `${of?.replace('/', ' ').replaceAll('~1', '/').replaceAll('~0', '~')}: ` }[group] ?? '';
      if (place) place.querySelector('.wrongs').append(el('p', null, within + detail));
      else rest.push(detail);
    }
    this.wrong.textContent = err.errors.length ? rest.join('; ') : err.message;
    this.anew = !this.build && err.errors.length > 0 && err.errors.every((e) => /^\/settings\/fields\/.*\/type$/.test(e.pointer)) && this.info.documents > 0;
    this.show();
    (this.dialog.querySelector('.wrongs:not(:empty)') ?? this.wrong).scrollIntoView({ block: 'nearest' });
  }
}

/** What makes next of old, as a merge patch (RFC 7396). */
function patch(old = {}, next) {
  const out = {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(next)])) {
    const [a, b] = [old[name], next[name]];
    if (JSON.stringify(a) === JSON.stringify(b)) continue;
    out[name] = b === undefined ? null : typeof b === 'object' && !Array.isArray(b) ? patch(a, b) : b;
  }
  return out;
}
