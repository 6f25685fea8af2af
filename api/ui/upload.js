// Files on their way into a collection: each is one request to the import, whose answer has a line per document.
import * as api from './api.js';
import { bytes, el } from './dom.js';
import { countsText } from './uploads.js';

const media = {
  ndjson: 'application/x-ndjson', jsonl: 'application/x-ndjson', json: 'application/json', csv: 'text/csv', tsv: 'text/tab-separated-values', tab: 'text/tab-separated-values',
  md: 'text/markdown', markdown: 'text/markdown', mdown: 'text/markdown', mkd: 'text/markdown', mdx: 'text/markdown', html: 'text/html', htm: 'text/html', xhtml: 'text/html',
  txt: 'text/plain', text: 'text/plain', rst: 'text/plain', adoc: 'text/plain', org: 'text/plain', asciidoc: 'text/plain', tex: 'text/plain', srt: 'text/plain', vtt: 'text/plain', pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', docm: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  eml: 'message/rfc822', emlx: 'message/rfc822', mbox: 'message/rfc822', mhtml: 'message/rfc822', mht: 'message/rfc822', ipynb: 'application/x-ipynb+json', epub: 'application/epub+zip', rtf: 'application/rtf', enex: 'application/enex+xml', vcf: 'text/vcard', ics: 'text/calendar',
  canvas: 'application/x-canvas+json', opml: 'text/x-opml', msg: 'application/vnd.ms-outlook', xls: 'application/vnd.ms-excel',
  rss: 'application/rss+xml', atom: 'application/atom+xml', zip: 'application/zip', tar: 'application/x-tar',
  odt: 'application/vnd.oasis.opendocument.text', ods: 'application/vnd.oasis.opendocument.spreadsheet', odp: 'application/vnd.oasis.opendocument.presentation',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation', pptm: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  ppsx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', xlsm: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** What programs save instead whose own files are not read. */
export const savedAs = { doc: 'docx', pages: 'docx', numbers: 'xlsx', ppt: 'pptx', key: 'pptx', mobi: 'epub', azw3: 'epub', pst: 'mbox' };

/** What the file dialog offers. */
export const accepted = [...Object.keys(media), 'gz'].map((ext) => '.' + ext).join(',');

const gzipped = /\.gz$/i;
const extension = (name) => name.toLowerCase().replace(gzipped, '').split('.').pop();
const mostFiles = 5000; // of one drop

/**
 * What was dropped: {files: [{file, path}], passed, more}. Folders are walked; of what is in them, hidden files and those of kinds that are not
 * read are passed over and counted, but for kinds that could be saved as another. more: there are more files than are taken at once.
 */
export async function dropped(transfer) {
  const entries = [...transfer.items].filter((i) => i.kind === 'file').map((i) => i.webkitGetAsEntry?.() ?? i.getAsFile()); // before the first await: then they are gone
  const found = { files: [], passed: 0, more: false };
  for (const e of entries) {
    if (e instanceof File) found.files.push({ file: e, path: e.name });
    else if (e) await walk(e, found, false);
  }
  return found;
}

async function walk(entry, found, inside) {
  if (found.files.length >= mostFiles) {
    found.more = true;
    return;
  }
  if (entry.isFile) {
    if (inside && (entry.name.startsWith('.') || !(media[extension(entry.name)] || savedAs[extension(entry.name)]))) {
      found.passed++;
      return;
    }
    found.files.push({ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), path: entry.fullPath.replace(/^\//, '') });
    return;
  }
  const reader = entry.createReader(); // answers in parts, the last of them empty
  for (let part; (part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject))).length > 0;) {
    for (const e of part) await walk(e, found, true);
  }
}

const shownErrors = 20;
const many = [media.ndjson, media.json, media.csv, media.tsv, media.enex, media.vcf, media.ics]; // of which each line is a document, or a part of several lines; of a mailbox each message

const inLines = [media.ndjson, media.csv, media.tsv]; // whose answers name lines

const textInFile = [media.docx, media.eml, media.ipynb, media.epub, media.rtf, media.odt, media.ods, media.odp, media.pptx, media.xlsx]; // which may be longer than their text

let limits; // of the server, asked for once

/** How many bytes a file that is one document may have. What is longer would be cut off in the middle, without a word of the server. */
async function limitOf(type) {
  limits ??= api.info().then((i) => i.limits, () => (limits = undefined));
  const l = await limits;
  return (type === media.pdf ? l?.pdf_bytes : textInFile.includes(type) ? l?.file_bytes : l?.document_bytes) || Infinity;
}

/** The content of a file, without the gzip around it. Rejects with a TypeError where that is damaged, with another error where the file cannot be read. */
async function contentOf(file) {
  if (gzipped.test(file.name)) return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).blob();
  await file.slice(0, 1).arrayBuffer();
  return file;
}

/** How many lines a file has. */
async function linesOf(file) {
  const reader = file.stream().getReader();
  for (let n = 1; ;) {
    const { value, done } = await reader.read();
    if (done) return n;
    for (const b of value) if (b === 10) n++;
  }
}

/** The name of a file, of one too long its end. */
function nameOf(path) {
  const b = new TextEncoder().encode(path);
  return b.length <= 512 ? path : new TextDecoder().decode(b.slice(-500)).replace(/^\uFFFD+/, '');
}

/** How a file is sent: its media type and parameters. A JSON object is one document. */
async function formOf(type, file, path) {
  const name = nameOf(path);
  if (type === 'text/plain') return { type, query: new URLSearchParams({ format: 'txt', name }) };
  if (type === 'application/json' && !(await file.slice(0, 1024).text()).trimStart().startsWith('[')) return { type: media.ndjson, query: new URLSearchParams(), whole: true };
  return { type, query: new URLSearchParams({ name }) };
}

/** One row of the list of uploads: the file, how far it is, and what became of its documents. onchange() is called when its stage or counts are others. */
export class Upload {
  /** again(upload) is called where the server was not reached and the user wants the file sent once more. */
  constructor({ file, path }, again) {
    Object.assign(this, { file, path, again });
    this.begin();
    this.bar = el('progress', { max: '1', value: '0', 'aria-label': `Progress of ${file.name}` });
    this.state = el('span', { class: 'quiet' }, 'waiting');
    this.errors = el('ul', { class: 'wrongs' });
    this.root = el('li', { class: 'upload' }, el('span', { class: 'file' }, path, ' ', el('span', { class: 'quiet small' }, bytes(file.size))), this.bar, this.state, this.errors);
  }

  begin() {
    this.stage = 'waiting'; // then sending, then done or failed
    this.lines = 0; // of a file whose documents are lines, once they are counted
    this.counts = {};
    this.warnings = 0;
    this.refused = false; // as a whole
    this.unknown = false; // is of no kind that is read
    this.looks = ''; // the language that the texts look like, where it is not the collection's
  }

  /** Sends the file and reads the answer. Resolves when all is done, also where it failed. */
  async run(collection) {
    this.stage = 'sending';
    this.onchange();
    const type = media[extension(this.file.name)];
    if (!type) {
      const better = savedAs[extension(this.file.name)];
      this.unknown = !better;
      this.fail(better ? `This kind of file is not read here; save it as .${better}.` : 'This file format is not supported.');
      return;
    }
    let file, form;
    try {
      file = await contentOf(this.file);
      form = await formOf(type, file, this.path);
    } catch (err) {
      this.fail(err instanceof TypeError ? 'This is not gzip, or it is damaged.' : 'The file cannot be read: it may have been changed or moved since.');
      return;
    }
    this.many = many.includes(form.type) || extension(this.file.name) === 'mbox';
    const most = this.many ? Infinity : await limitOf(form.type);
    if (file.size > most) {
      this.fail(`${bytes(file.size)} are more than the ${bytes(most)} that ${form.type === media.pdf ? 'a PDF' : textInFile.includes(form.type) ? 'such a file' : 'one document'} may have.`);
      return;
    }
    this.state.textContent = 'sending';
    const lined = inLines.includes(form.type) && !form.whole;
    if (lined) linesOf(file).then((n) => { this.lines = n; }, () => {});
    try {
      const body = form.whole ? JSON.stringify(JSON.parse(await file.text())) : file;
      await api.importFile(collection, form, body, (share) => { if (!lined) this.bar.value = 0.9 * share; this.onchange(); }, (line) => this.take(line));
      this.bar.value = 1;
      this.done();
    } catch (err) {
      this.fail(err instanceof SyntaxError ? 'This is not JSON.' : err.message, err.code === 'unreachable');
    }
  }

  take(answer) {
    if (answer.looks_like) this.looks = answer.looks_like;
    if (this.lines && answer.line) this.bar.value = Math.min(1, answer.line / this.lines); // what is sent may wait in buffers
    this.counts[answer.status] = (this.counts[answer.status] || 0) + 1;
    if (answer.warning && ++this.warnings <= shownErrors) this.remark(`${this.many ? `line ${answer.line}: ` : ''}${answer.warning}`);
    if (answer.status === 'error' && this.counts.error <= shownErrors) this.errors.append(el('li', null, `${this.many ? `line ${answer.line}${answer.id ? ` (${answer.id})` : ''}: ` : ''}${answer.error?.detail ?? answer.error?.code}`));
    this.state.textContent = `${countsText(this.counts)} …`;
    this.onchange();
  }

  /** Says what is no fault, and in another colour. */
  remark(text) {
    this.errors.append(el('li', { class: 'remark' }, `Note: ${text}`));
  }

  done() {
    this.state.textContent = countsText(this.counts) || 'nothing in it';
    this.stage = this.counts.error ? 'failed' : 'done';
    this.root.classList.add(this.stage);
    this.onchange();
    if (this.counts.error > shownErrors) this.errors.append(el('li', null, `and ${this.counts.error - shownErrors} more`));
    if (this.warnings > shownErrors) this.remark(`${this.warnings - shownErrors} more like these`);
  }

  fail(message, lost) {
    this.bar.value = 0;
    this.state.textContent = 'failed';
    this.stage = 'failed';
    this.refused = true;
    this.root.classList.add(this.stage);
    this.onchange();
    const before = countsText(this.counts);
    const again = () => {
      this.begin();
      this.root.classList.remove('failed');
      this.errors.replaceChildren();
      this.state.textContent = 'waiting';
      this.onchange();
      this.again(this);
    };
    this.errors.append(el('li', null, before ? `${before}, then: ${message}` : message, lost && [' ', el('button', { type: 'button', class: 'link', 'aria-label': `Send ${this.path} again`, onclick: again }, 'Send it again')]));
  }
}
