// Attention as pictures: small ones for all heads of all layers, a large one for a head, with its tokens and values.
import { computed, el, number } from './dom.js';

/** The weights of one head: a byte b means (b/255)². */
export class Weights {
  constructor(base64) {
    this.bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    this.n = Math.sqrt(this.bytes.length);
  }

  at(row, column) {
    return (this.bytes[row * this.n + column] / 255) ** 2;
  }
}

/** 256 colours from the page's surface to the colour of meaning. */
function ramp() {
  const rgb = (name) => computed(name).match(/[\d.]+/g).slice(0, 3).map(Number);
  const from = rgb('--surface'), to = rgb('--meaning'), end = rgb('--text');
  return Array.from({ length: 256 }, (_, b) => {
    const x = b / 255;
    const [a, z, at] = x < 0.7 ? [from, to, x / 0.7] : [to, end, (x - 0.7) / 0.3 * 0.6];
    return a.map((v, i) => Math.round(v + (z[i] - v) * at));
  });
}

/** An image of the weights, one pixel for each. */
function picture(weights) {
  const colours = ramp();
  const image = new ImageData(weights.n, weights.n);
  weights.bytes.forEach((b, i) => {
    image.data.set(colours[b], 4 * i);
    image.data[4 * i + 3] = 255;
  });
  return image;
}

/** Draws the weights on a small canvas; its style scales it up. */
export function drawSmall(canvas, weights) {
  canvas.width = canvas.height = weights.n;
  canvas.getContext('2d').putImageData(picture(weights), 0, 0);
}

/** The large picture of one head, with a line of words that says what is under the pointer, or under the cursor of the arrow keys. */
export class Heatmap {
  constructor() {
    this.canvas = el('canvas', { class: 'heat', tabindex: '0', role: 'img', 'aria-label': 'Attention of one head; the arrow keys move through it' });
    this.says = el('p', { class: 'says', role: 'status' }, '');
    this.root = el('div', { class: 'heatbox' }, this.canvas, this.says);
    this.cell = null; // [row, column]
    this.canvas.addEventListener('pointermove', (e) => this.point(this.under(e)));
    this.canvas.addEventListener('pointerleave', () => this.point(null));
    this.canvas.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(this.root);
  }

  show(weights, tokens) {
    this.weights = weights;
    this.tokens = tokens;
    this.cell = null;
    this.draw();
    this.point(null);
  }

  draw() {
    const width = this.root.clientWidth;
    if (!this.weights || !width) return;
    const n = this.weights.n;
    const ratio = window.devicePixelRatio || 1;
    const label = Math.min(this.widest() + 14, width * 0.24);
    this.left = label;
    this.top = label;
    this.size = Math.max(2, Math.min(48, (Math.min(width, 760) - label) / n, (window.innerHeight * 0.8 - label) / n)); // of a cell, in CSS pixels
    const w = this.left + this.size * n + 1, h = this.top + this.size * n + 1;
    this.canvas.width = w * ratio;
    this.canvas.height = h * ratio;
    this.canvas.style.width = `${w}px`;
    const c = this.canvas.getContext('2d');
    c.scale(ratio, ratio);
    c.clearRect(0, 0, w, h);
    const small = document.createElement('canvas');
    drawSmall(small, this.weights);
    c.imageSmoothingEnabled = false;
    c.drawImage(small, this.left, this.top, this.size * n, this.size * n);
    c.strokeStyle = computed('--line');
    c.strokeRect(this.left - 0.5, this.top - 0.5, this.size * n + 1, this.size * n + 1);
    this.labels(c, n);
    if (this.cell) {
      c.strokeStyle = computed('--words');
      c.lineWidth = 2;
      c.strokeRect(this.left + this.cell[1] * this.size, this.top + this.cell[0] * this.size, this.size, this.size);
    }
  }

  /** The width of the longest label in its largest size. */
  widest() {
    const c = this.canvas.getContext('2d');
    c.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return Math.max(...this.tokens.map((t) => c.measureText(short(t)).width));
  }

  labels(c, n) {
    const every = Math.ceil(10 / this.size);
    c.font = `${Math.max(9, Math.min(12, this.size))}px ${getComputedStyle(document.body).fontFamily}`;
    c.textBaseline = 'middle';
    for (let i = 0; i < n; i++) {
      const lit = (k) => this.cell && this.cell[k] === i;
      const word = short(this.tokens[i]);
      if (i % every === 0 || lit(0)) {
        c.fillStyle = computed(lit(0) ? '--text' : '--muted');
        c.textAlign = 'right';
        c.fillText(word, this.left - 6, this.top + (i + 0.5) * this.size, this.left - 8);
      }
      if (i % every === 0 || lit(1)) {
        c.save();
        c.fillStyle = computed(lit(1) ? '--text' : '--muted');
        c.translate(this.left + (i + 0.5) * this.size, this.top - 6);
        c.rotate(-Math.PI / 2);
        c.textAlign = 'left';
        c.fillText(word, 0, 0, this.top - 8);
        c.restore();
      }
    }
  }

  under(e) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((e.clientX - box.left - this.left) / this.size), row = Math.floor((e.clientY - box.top - this.top) / this.size);
    const n = this.weights?.n ?? 0;
    return row >= 0 && column >= 0 && row < n && column < n ? [row, column] : null;
  }

  key(e) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!step || !this.weights) return;
    e.preventDefault();
    const at = this.cell || [0, 0];
    const clamp = (x) => Math.max(0, Math.min(this.weights.n - 1, x));
    this.point(this.cell ? [clamp(at[0] + step[0]), clamp(at[1] + step[1])] : at);
  }

  point(cell) {
    const same = String(cell) === String(this.cell);
    this.cell = cell;
    if (!same) this.draw();
    if (!cell) {
      this.says.textContent = 'Each row is a token; the darker a cell, the more the row’s token looks at the column’s.';
      return;
    }
    const [row, column] = cell;
    const most = Array.from({ length: this.weights.n }, (_, i) => i).sort((a, b) => this.weights.at(row, b) - this.weights.at(row, a)).slice(0, 3);
    this.says.replaceChildren(el('strong', null, `${this.tokens[row]} → ${this.tokens[column]} ${this.weights.at(row, column).toFixed(2)}`),
      ` · ${this.tokens[row]} looks most at ${most.map((i) => `${this.tokens[i]} ${number(this.weights.at(row, i))}`).join(', ')}`);
  }
}

const short = (word) => (word.length > 14 ? word.slice(0, 13) + '…' : word);
