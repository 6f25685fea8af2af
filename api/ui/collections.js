// The collections view: what is there, what it takes, what the model is; and the way in for documents.
import * as api from './api.js';
import { ask, bytes, count, duration, el, toast } from './dom.js';
import { languageName, languageOptions, openSettings, otherLanguage, quantizeOptions } from './settings.js';
import { openSearches } from './searches.js';
import { address, state } from './state.js';
import { trouble } from './trouble.js';
import { accepted, dropped, Upload } from './upload.js';
import { Uploads } from './uploads.js';

const firstName = 'docs'; // as the ingest command calls it
const poll = 1500; // ms between two looks at tasks that run
const kinds = { reembed: 'Re-embedding:', snapshot: 'Snapshot', rebuild: 'Rebuilding an index:' }; // of tasks, as the page calls them

export class Collections {
  constructor(root, page) {
    this.page = page;
    this.list = el('div', { class: 'cards' });
    this.model = el('section', { class: 'part', 'aria-label': 'Model' });
    this.tasks = el('section', { class: 'part', 'aria-label': 'Tasks', hidden: true });
    this.passed = el('p', { class: 'quiet small', role: 'status' });
    this.fitting = new Set(); // names of collections that fit waits for
    this.fitted = el('p', { class: 'note', role: 'status', hidden: true });
    this.foreign = el('div', { role: 'status' }); // notes about files in other languages than their collection's
    this.noted = new Set();
    this.uploads = new Uploads(accepted);
    this.make = this.create();
    root.append(this.drop(), this.tasks, this.list, this.model);
    this.queue = Promise.resolve();
  }

  change() {
    this.ask();
  }

  leave() {
    clearTimeout(this.timer);
    this.left = true;
  }

  async ask() {
    this.left = false;
    clearTimeout(this.timer);
    let tasks = [];
    try {
      tasks = await api.tasks().catch((err) => { // before the collections: what a task has done by now is seen in them
        if (err.status === 401) throw err; // nobody is asked for a key twice
        return [];
      });
      await this.page.refresh();
      const infos = this.page.infos();
      const stats = await Promise.all(infos.map((i) => api.collectionStats(i.name).catch(() => null)));
      const busy = this.list.contains(document.activeElement) && document.activeElement;
      this.list.replaceChildren(this.make, ...infos.map((info, i) => this.card(info, stats[i])));
      const said = (e) => e.getAttribute('aria-label') ?? e.textContent;
      if (busy) (busy.isConnected ? busy : [...this.list.querySelectorAll('a, button')].find((e) => said(e) === said(busy)))?.focus();
      this.target.replaceChildren(...infos.map((i) => new Option(i.name, i.name, false, i.name === state.c)));
      this.targetRow.hidden = !infos.length;
      this.first.hidden = infos.length > 0;
    } catch (err) {
      this.list.replaceChildren(trouble(err, () => this.ask()));
      if (err.status === 401) return;
    }
    api.info().then((i) => { this.list.classList.toggle('logged', Boolean(i.analytics)); this.showModel(i); }, () => { this.model.hidden = true; });
    this.showTasks(tasks);
  }

  card(info, stats) {
    const fact = (name, value) => [el('dt', null, name), el('dd', null, value)];
    const facts = [
      ...fact('documents', info.documents.toLocaleString('en')),
      ...fact('passages', info.passages.toLocaleString('en')),
    ];
    if (stats) {
      const v = stats.vectors;
      const parts = [['float32', v.float32_bytes], ['int8 codes', v.code_bytes], ['links', v.link_bytes], ['tables', v.table_bytes]].filter((p) => p[1] > 0);
      facts.push(...fact('vectors in memory', [bytes(v.bytes), v.bytes ? el('span', { class: 'quiet small parts' }, parts.map(([name, n]) => `${name} ${bytes(n)}`.replaceAll(' ', '\u00a0')).join(' · ')) : '']),
        ...fact('words on disk', bytes(stats.keyword.bytes)));
      if (v.rebuilding || stats.keyword.rebuilding) facts.push(...fact('index', 'is being rebuilt'));
    }
    const rules = info.settings.synonyms?.length;
    if (rules) facts.push(...fact('synonyms', count(rules, 'rule')));
    facts.push(...fact('language', languageName(info.settings.language || 'en')), ...fact('model', `${info.model.name}, ${info.model.dimension} dimensions`));
    return el('article', { class: 'collection' },
      el('header', null, el('h2', null, el('a', { href: address({ view: 'search', c: info.name, q: '', filter: '', sort: '', own: {} }) }, info.name)),
        el('span', { class: 'actions' }, el('button', { type: 'button', class: 'link logs', 'aria-label': `Searches in ${info.name}`, onclick: () => openSearches(info.name).catch((err) => toast(err.message)) }, 'Searches'),
          el('button', { type: 'button', class: 'link', 'aria-label': `Settings of ${info.name}`, onclick: () => this.settings(info.name) }, 'Settings'),
          el('button', { type: 'button', class: 'link', 'aria-label': `Delete ${info.name}`, onclick: () => this.remove(info) }, 'Delete'))),
      el('dl', null, ...facts.flat()));
  }

  settings(name) {
    const slow = setTimeout(() => toast(`Fetching the settings of ${name} …`), 500);
    openSettings(name, () => this.ask()).catch((err) => toast(err.message)).finally(() => clearTimeout(slow));
  }

  /** Deletes a collection, once its name has been typed. */
  remove(info) {
    const name = el('input', { id: 'sureName', autocomplete: 'off', spellcheck: 'false' });
    const wrong = el('p', { class: 'wrong', role: 'alert' });
    const { form, dialog } = ask('sureTitle', `Delete ${info.name}?`,
      el('p', null, `Its ${count(info.documents, 'document')} and what was made of them will be gone. There is no way back but a backup.`),
      el('label', { for: 'sureName' }, `Type ${info.name} to go on`), name, wrong,
      el('p', { class: 'row' }, el('button', { class: 'button danger', value: 'delete' }, 'Delete it'), el('button', { class: 'button', value: 'no', formnovalidate: true }, 'Keep it')));
    form.addEventListener('submit', async (e) => {
      if (e.submitter?.value !== 'delete') return;
      e.preventDefault();
      if (name.value !== info.name) {
        wrong.textContent = `That is not ${info.name}.`;
        name.focus();
        return;
      }
      try {
        await api.deleteCollection(info.name);
        dialog.close();
        toast(`${info.name} is gone`);
        if (state.c === info.name) state.c = '';
        this.page.changed();
      } catch (err) {
        wrong.textContent = err.message;
      }
    });
  }

  // ---- making one

  create() {
    const name = el('input', { id: 'newName', required: true, maxlength: '64', pattern: '[A-Za-z0-9][A-Za-z0-9_\\-]*', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'newWrong' });
    const language = el('select', { id: 'newLanguage', class: 'select' }, new Option('by its texts', ''), languageOptions(''));
    const codes = el('select', { id: 'newQuantize', class: 'select' }, quantizeOptions('none'));
    const wrong = el('p', { class: 'wrong', id: 'newWrong', role: 'alert' });
    const form = el('form', { class: 'collection make', 'aria-labelledby': 'newTitle' }, el('h2', { id: 'newTitle' }, 'New collection'), el('label', { class: 'wide' }, 'Name', name), el('label', null, 'Language', language), el('label', null, 'Vectors in memory', codes), wrong, el('button', { class: 'button' }, 'Create'));
    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      wrong.textContent = '';
      try {
        const made = await api.createCollection(name.value, { language: language.value || undefined, index: { quantize: codes.value } });
        state.c = made.name;
        name.value = '';
        toast(`${made.name} is there`);
        await this.ask();
      } catch (err) {
        wrong.textContent = err.message;
      }
    });
    return form;
  }

  // ---- files

  drop() {
    const input = el('input', { type: 'file', id: 'files', multiple: true, accept: accepted });
    input.addEventListener('change', () => { this.take([...input.files].map((file) => ({ file, path: file.name }))); input.value = ''; });
    this.target = el('select', { class: 'select', id: 'target' });
    this.target.addEventListener('change', () => { state.c = this.target.value; });
    this.targetRow = el('p', { class: 'row', hidden: true }, el('label', { for: 'target' }, 'into'), this.target);
    this.first = el('p', { class: 'row', hidden: true }, `There is no collection yet: they go into a new one, ${firstName}.`);
    const zone = el('section', { class: 'drop', 'aria-label': 'Files' },
      el('p', null, el('strong', null, 'Drop files here'), ', or ', el('label', { class: 'pick' }, 'choose some', input)), this.targetRow, this.first,
      el('p', { class: 'quiet small' }, 'NDJSON, JSON, CSV, TSV, mailboxes, notes of Evernote, contacts and calendars are many documents; Markdown, HTML, PDF, files of office programs, e-books, mail, notebooks, canvases, outlines and text are one each, also gzipped. A folder may be dropped, too. The same id again is an update.'), this.passed, this.fitted, this.foreign, this.uploads.parts);
    for (const type of ['dragenter', 'dragover']) zone.addEventListener(type, (e) => { e.preventDefault(); zone.classList.add('over'); });
    for (const type of ['dragleave', 'drop']) zone.addEventListener(type, (e) => { if (type === 'drop' || !zone.contains(e.relatedTarget)) zone.classList.remove('over'); });
    zone.addEventListener('drop', (e) => {
      e.preventDefault();
      dropped(e.dataTransfer).then(({ files, passed, more }) => {
        this.take(files);
        this.passed.textContent = [passed > 0 && `${passed.toLocaleString('en')} ${passed === 1 ? 'file' : 'files'} of other kinds passed over.`, more && `Only the first ${files.length.toLocaleString('en')} files are taken; for more use the ingest command.`].filter(Boolean).join(' ');
      }, (err) => toast(err.message));
    });
    return zone;
  }

  /** Sends files one after another; where there is no collection yet, into one that is made for them. */
  async take(files) {
    if (!files.length) return;
    if (!this.target.value) await this.ask(); // the server may not have said yet which collections there are
    let collection = this.target.value;
    if (!collection) {
      try {
        collection = (await api.createCollection(firstName, {})).name;
        await this.ask();
      } catch (err) {
        toast(err.message);
        return;
      }
    }
    const uploads = files.map((f) => new Upload(f, (u) => this.send([u], collection)));
    this.uploads.add(uploads);
    this.send(uploads, collection);
  }

  send(uploads, collection) {
    for (const u of uploads) this.queue = this.queue.then(() => u.run(collection));
    const info = this.page.infos().find((i) => i.name === collection);
    const fits = info && !info.settings.language && info.documents === 0 && !this.fitting.has(collection);
    if (fits) this.fitting.add(collection);
    this.queue = this.queue.then(async () => {
      const fitted = fits ? await this.fit(collection).finally(() => this.fitting.delete(collection)) : '';
      this.note(collection, uploads.filter((u) => u.looks && u.looks !== fitted), fitted);
      await this.ask();
    });
  }

  /** Says of files that they are in another language than their collection is for, once of each collection and language. fitted: the one that it gets just now. */
  note(collection, uploads, fitted) {
    const has = fitted || this.page.infos().find((i) => i.name === collection)?.settings.language || 'en';
    for (const [language, of] of Map.groupBy(uploads, (u) => u.looks)) {
      const key = `${collection} ${language}`;
      if (this.noted.has(key)) continue;
      this.noted.add(key);
      const others = of.length === 1 ? '' : ` and ${(of.length - 1).toLocaleString('en')} more`;
      this.foreign.append(el('p', { class: 'note' }, `${of[0].path}${others} ${others ? 'look' : 'looks'} like ${language === 'standard' ? 'another language' : languageName(language)}, but ${collection} is searched by words as ${languageName(has)}: such words are found as they are written, not in their other forms. `,
        'Put these files into a new collection, or ', el('button', { type: 'button', class: 'link', onclick: () => this.settings(collection) }, `change the language of ${collection}`), `; “${languageName('standard')}” suits a mix.`));
    }
  }

  /** Builds a collection that was made without a language anew with that of its first texts, where it is another, and returns that. */
  async fit(name) {
    const language = await otherLanguage(name);
    if (!language) return '';
    try {
      const { settings } = await api.collection(name);
      await api.reembed(name, { ...settings, language });
    } catch (err) {
      toast(err.message);
      return '';
    }
    this.fitted.replaceChildren(`${name} is searched by words as ${languageName(language)}, which its texts look like. `,
      el('button', { type: 'button', class: 'link', onclick: () => this.settings(name) }, 'Change it'));
    this.fitted.hidden = false;
    return language;
  }

  // ---- the model

  showModel(info) {
    const m = info.model, e = info.encoder;
    const rows = [['id', m.name], ['sha256', el('code', null, m.sha256)], ['dimension', m.dimension], ['pooling', m.pooling], ['reads at most', `${m.max_tokens} tokens`],
      ['family', e.layers ? `${e.family}, ${e.layers} layers of ${e.heads} heads, ${e.hidden} wide` : e.family], ['vocabulary', e.vocabulary?.toLocaleString('en')], ['parameters', e.parameters?.toLocaleString('en')], ['arithmetic', e.precision === 'f32' ? 'float32' : e.precision], ['languages', e.card?.languages?.join(', ')], ['trained on', e.card?.data], ['licence', e.card?.license], ['re-ranker', e.reranker?.name]];
    this.model.hidden = false;
    this.model.replaceChildren(...[el('h2', null, 'The model'), e.card?.about && el('p', { class: 'about' }, e.card.about), e.card?.limits && el('p', { class: 'about' }, e.card.limits), el('dl', null, ...rows.filter((r) => r[1]).flatMap(([k, v]) => [el('dt', null, k), el('dd', null, v instanceof Node ? v : String(v))])),
      el('p', { class: 'quiet small version' }, `Served by searchd ${info.version}.`)].filter(Boolean));
  }

  // ---- tasks

  /** Shows what runs in the background, and looks again while something runs. */
  showTasks(tasks) {
    if (this.left) return;
    clearTimeout(this.timer);
    this.tasks.hidden = tasks.length === 0;
    this.tasks.replaceChildren(el('h2', null, 'Tasks'), el('ul', { class: 'uploads' }, ...tasks.slice(0, 20).map((t) => taskRow(t, () => api.cancelTask(t.id).then(() => this.ask(), (err) => toast(err.message))))));
    this.going = going(tasks);
    if (this.going) this.timer = setTimeout(() => this.look(), poll);
  }

  /** Looks how far the tasks are; where others run now, at the collections too. */
  async look() {
    const tasks = await api.tasks().catch(() => []);
    if (this.left) return;
    if (going(tasks) === this.going) this.showTasks(tasks);
    else this.ask();
  }
}

/** Which tasks are not done; empty: none. */
const going = (tasks) => tasks.filter((t) => !t.finished).map((t) => t.id).join(' ');

/** A task: what it does, how far it is, since when; and, while it runs, a way to end it where there is one. */
function taskRow(t, cancel) {
  const what = `${kinds[t.kind] ?? t.kind} ${t.collection ?? ''}`.trim();
  const amount = t.kind === 'snapshot' ? bytes : (n) => n.toLocaleString('en');
  const bar = t.total > 0 ? el('progress', { max: t.total, value: t.done, 'aria-label': `Progress: ${what}` }) : el('span');
  const began = el('time', { class: 'quiet small', datetime: t.created, title: t.id }, new Date(t.created).toLocaleString());
  const seconds = (Date.now() - Date.parse(t.created)) / 1000;
  const left = t.done > 0 && seconds > 2 ? `, ${duration((seconds * (t.total - t.done)) / t.done)} left` : '';
  const far = t.finished || !t.total ? t.state : `${t.state}, ${amount(t.done)} of ${amount(t.total)}${left}`;
  const good = { succeeded: ' done', failed: ' failed' }[t.state] ?? '';
  return el('li', { class: `upload${good}` }, el('span', { class: 'file' }, `${what} `, began), bar,
    el('span', { class: 'quiet' }, far, t.finished || t.kind === 'rebuild' ? null : el('button', { type: 'button', class: 'link cancel', 'aria-label': `Cancel: ${what}`, onclick: cancel }, 'Cancel')),
    el('ul', { class: 'wrongs' }, t.error && el('li', null, t.error)));
}
