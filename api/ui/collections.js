// The collections view: what is there, what it takes, what the model is; and the way in for documents.
import * as api from './api.js';
import { bytes, el, toast, trouble } from './dom.js';
import { address, state } from './state.js';
import { accepted, Upload } from './upload.js';

const poll = 1500; // ms between two looks at tasks that run

export class Collections {
  constructor(root, page) {
    this.page = page;
    this.list = el('div', { class: 'cards' });
    this.model = el('section', { class: 'part', 'aria-label': 'Model' });
    this.tasks = el('section', { class: 'part', 'aria-label': 'Tasks', hidden: true });
    this.uploads = el('ul', { class: 'uploads', 'aria-label': 'Uploads' });
    root.append(this.list, this.create(), this.drop(), this.tasks, this.model);
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
    try {
      await this.page.refresh();
      const infos = this.page.infos();
      const stats = await Promise.all(infos.map((i) => api.collectionStats(i.name).catch(() => null)));
      this.list.replaceChildren(...infos.map((info, i) => this.card(info, stats[i])));
      if (!infos.length) this.list.replaceChildren(el('p', { class: 'quiet' }, 'There is no collection yet. Make one, then drop files into it.'));
      this.target.replaceChildren(...infos.map((i) => new Option(i.name, i.name, false, i.name === state.c)));
      this.targetRow.hidden = !infos.length;
    } catch (err) {
      this.list.replaceChildren(trouble(err, () => this.ask()));
      return;
    }
    api.info().then((i) => this.showModel(i), () => { this.model.hidden = true; });
    this.watchTasks();
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
      facts.push(...fact('vectors in memory', [bytes(v.bytes), el('span', { class: 'quiet' }, v.bytes ? ` ${parts.map(([name, n]) => `${name} ${bytes(n)}`).join(', ')}` : '')]),
        ...fact('words on disk', bytes(stats.keyword.bytes)));
      if (v.rebuilding || stats.keyword.rebuilding) facts.push(...fact('index', 'is being rebuilt'));
    }
    facts.push(...fact('language', info.settings.language || 'en'), ...fact('made by', info.model.name));
    return el('article', { class: 'collection' }, el('h2', null, el('a', { href: address({ view: 'search', c: info.name, q: '', filter: '', own: {} }) }, info.name)), el('dl', null, ...facts.flat()));
  }

  // ---- making one

  create() {
    const name = el('input', { id: 'newName', required: true, maxlength: '64', pattern: '[A-Za-z0-9][A-Za-z0-9_\\-]*', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'newWrong' });
    const language = el('input', { id: 'newLanguage', value: 'en', maxlength: '8', size: '4', autocomplete: 'off', spellcheck: 'false' });
    const codes = el('select', { id: 'newQuantize', class: 'select' }, new Option('float32', 'none'), new Option('int8, a quarter of it', 'int8'));
    const wrong = el('p', { class: 'wrong', id: 'newWrong', role: 'alert' });
    const form = el('form', { class: 'make', 'aria-label': 'New collection' }, el('label', null, 'New collection', name), el('label', null, 'Language', language), el('label', null, 'Vectors', codes), el('button', { class: 'button' }, 'Make it'), wrong);
    form.addEventListener('submit', async (e) => {
      e.preventDefault();
      wrong.textContent = '';
      try {
        const made = await api.createCollection(name.value, { language: language.value.trim() || 'en', index: { quantize: codes.value } });
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
    input.addEventListener('change', () => { this.take([...input.files]); input.value = ''; });
    this.target = el('select', { class: 'select', id: 'target' });
    this.target.addEventListener('change', () => { state.c = this.target.value; });
    this.targetRow = el('p', { class: 'row' }, el('label', { for: 'target' }, 'into'), this.target);
    const zone = el('section', { class: 'drop', 'aria-label': 'Files' },
      el('p', null, el('strong', null, 'Drop files here'), ', or ', el('label', { class: 'pick' }, 'choose some', input)), this.targetRow,
      el('p', { class: 'quiet small' }, 'NDJSON, JSON, CSV and TSV are many documents; Markdown, HTML and text are one each. The same id again is an update.'), this.uploads);
    for (const type of ['dragenter', 'dragover']) zone.addEventListener(type, (e) => { e.preventDefault(); zone.classList.add('over'); });
    for (const type of ['dragleave', 'drop']) zone.addEventListener(type, (e) => { if (type === 'drop' || !zone.contains(e.relatedTarget)) zone.classList.remove('over'); });
    zone.addEventListener('drop', (e) => { e.preventDefault(); this.take([...e.dataTransfer.files]); });
    return zone;
  }

  /** Sends files one after another. */
  take(files) {
    const collection = this.target.value;
    if (!collection) {
      toast('Make a collection first');
      return;
    }
    const uploads = files.map((f) => new Upload(f));
    this.uploads.prepend(...uploads.map((u) => u.root));
    for (const u of uploads) this.queue = this.queue.then(() => u.run(collection));
    this.queue = this.queue.then(() => this.ask());
  }

  // ---- the model

  showModel(info) {
    const m = info.model, e = info.encoder;
    const rows = [['id', m.name], ['sha256', el('code', null, m.sha256)], ['dimension', m.dimension], ['pooling', m.pooling], ['reads at most', `${m.max_tokens} tokens`],
      ['family', e.layers ? `${e.family}, ${e.layers} layers of ${e.heads} heads, ${e.hidden} wide` : e.family], ['vocabulary', e.vocabulary?.toLocaleString('en')], ['arithmetic', e.precision], ['licence', m.licence || m.license], ['re-ranker', e.reranker?.name]];
    this.model.hidden = false;
    this.model.replaceChildren(el('h2', null, 'The model'), el('dl', null, ...rows.filter((r) => r[1]).flatMap(([k, v]) => [el('dt', null, k), el('dd', null, v instanceof Node ? v : String(v))])),
      el('p', { class: 'quiet small' }, `searchd ${info.version}`));
  }

  // ---- tasks

  /** Shows what runs in the background, where the server has such a list, and looks again while something runs. */
  async watchTasks() {
    clearTimeout(this.timer);
    const tasks = await api.tasks().catch(() => null);
    if (!tasks || this.left) return;
    this.tasks.hidden = tasks.length === 0;
    this.tasks.replaceChildren(el('h2', null, 'Tasks'), el('ul', { class: 'uploads' }, ...tasks.slice(0, 20).map(taskRow)));
    if (tasks.some((t) => !t.finished)) this.timer = setTimeout(() => this.ask(), poll);
  }
}

function taskRow(t) {
  const bar = t.total > 0 ? el('progress', { max: t.total, value: t.done, 'aria-label': `Progress of task ${t.id}` }) : el('span');
  return el('li', { class: 'upload' }, el('span', { class: 'file' }, `${t.kind} ${t.collection ?? ''} `, el('span', { class: 'quiet small' }, t.id)), bar, el('span', { class: 'quiet' }, t.state), el('ul', { class: 'wrongs' }, t.error ? el('li', null, t.error) : ''));
}
