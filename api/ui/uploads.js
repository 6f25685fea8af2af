// The list of uploads: what became of all files in one line, and a row each of the first of them.
import { count, duration, el } from './dom.js';

const mostRows = 100;
const order = ['failed', 'sending', 'waiting', 'done']; // where there are more than rows: what somebody may have to look at first

/** The list, and the line above it. */
export class Uploads {
  /** accepted: the endings of files that are read, for the message about a file of another kind. */
  constructor(accepted) {
    this.all = []; // those that may be shown
    this.finished = { files: 0, counts: {} }; // uploads that have ended and have no row any more
    this.sum = el('p', { class: 'quiet small uploaded', hidden: true });
    this.rows = el('ul', { class: 'uploads', 'aria-label': 'Uploads' });
    this.kinds = el('p', { class: 'quiet small uploaded', hidden: true }, `Read are files that end in ${accepted.replaceAll(',', ' ')}`);
    this.parts = [this.sum, this.kinds, this.rows];
  }

  /** Puts uploads before those that there are. */
  add(uploads) {
    this.all.unshift(...uploads);
    for (const u of uploads) u.onchange = () => this.later();
    this.show();
  }

  /** Shows once what changes until the next frame, or in a page that is not seen before long. */
  later() {
    this.timer ??= setTimeout(() => { this.timer = undefined; this.show(); }, 50);
  }

  show() {
    const rank = (u) => (u.stage === 'failed' || this.all.length > mostRows ? order.indexOf(u.stage) : order.length);
    const sorted = this.all.toSorted((a, b) => rank(a) - rank(b));
    const shown = sorted.slice(0, mostRows);
    for (const u of sorted.slice(mostRows)) if (u.stage === 'done') this.drop(u);
    this.place(shown.map((u) => u.root));
    this.tell(shown.length);
  }

  drop(upload) {
    this.all.splice(this.all.indexOf(upload), 1);
    this.finished.files++;
    add(this.finished.counts, upload.counts);
  }

  /** Makes the rows follow each other without taking out those that stay where they are, so that none loses the focus. */
  place(nodes) {
    const keep = new Set(nodes);
    for (const row of [...this.rows.children]) if (!keep.has(row)) row.remove();
    const focused = this.rows.contains(document.activeElement) && document.activeElement;
    nodes.forEach((n, i) => { if (this.rows.children[i] !== n) this.rows.insertBefore(n, this.rows.children[i] ?? null); });
    if (focused && focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
  }

  /** How far the uploads are, how fast, and for how long they still take; nothing when none is running. */
  speed(counts) {
    const running = this.all.filter((u) => u.stage === 'sending' || u.stage === 'waiting');
    const documents = Object.values(counts).reduce((a, b) => a + b, 0);
    if (!running.length) {
      this.began = undefined;
      return [];
    }
    this.began ??= { at: performance.now(), documents, bytes: this.all.reduce((n, u) => n + (running.includes(u) ? 0 : u.file.size), 0) };
    const seconds = (performance.now() - this.began.at) / 1000;
    const all = this.all.reduce((n, u) => n + u.file.size, 0) - this.began.bytes;
    const sent = this.all.reduce((n, u) => n + u.file.size * (running.includes(u) ? u.bar.value : 1), 0) - this.began.bytes;
    const share = all > 0 ? sent / all : 0;
    if (seconds < 1 || share <= 0) return ['sending'];
    return [`${Math.floor(share * 100)} %`, `${Math.round((documents - this.began.documents) / seconds).toLocaleString('en')} documents/s`, `${duration((seconds * (1 - share)) / share)} left`];
  }

  /** Says what became of all. */
  tell(shown) {
    const files = this.all.length + this.finished.files;
    const counts = {};
    for (const of of [this.finished.counts, ...this.all.map((u) => u.counts)]) add(counts, of);
    const { error: wrong = 0, ...good } = counts;
    const error = wrong + this.all.filter((u) => u.refused).length;
    const failed = this.all.filter((u) => u.stage === 'failed').length;
    const done = this.all.filter((u) => u.stage === 'done').length + this.finished.files + failed;
    const parts = [done < files ? `${done.toLocaleString('en')} of ${count(files, 'file')}` : count(files, 'file'), ...this.speed(good), failed && `${failed.toLocaleString('en')} with faults`, countsText({ ...good, ...(error && { error }) }), files > shown && `${shown} shown`];
    this.sum.hidden = files < 2 && !this.began;
    this.kinds.hidden = !this.all.some((u) => u.unknown);
    this.sum.textContent = parts.filter(Boolean).join(' · ');
  }
}

/** Adds counts by what became of documents to others. */
function add(sum, counts) {
  for (const [status, n] of Object.entries(counts)) sum[status] = (sum[status] ?? 0) + n;
}

/** Counts as people read them: 2 created, 1 error. */
export function countsText(counts) {
  return Object.entries(counts).map(([status, n]) => (status === 'error' ? count(n, 'error') : `${n.toLocaleString('en')} ${status}`)).join(', ');
}
