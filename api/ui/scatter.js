// Points on a canvas that can be moved, made larger and pointed at, with the mouse, fingers or keys.
import { computed, el } from './dom.js';

const near = 14; // CSS pixels within which a point is pointed at
const margin = 34;

export class Scatter {
  /** on: {point(index or -1), choose(index)} */
  constructor(label, on) {
    this.on = on;
    this.canvas = el('canvas', { class: 'scatter', tabindex: '0', role: 'img', 'aria-label': label });
    this.points = []; // {x, y, colour}
    this.query = null; // {x, y}
    this.linked = []; // indexes, nearest first
    this.lit = -1;
    this.view = { x: 0, y: 0, zoom: 1 };
    this.fingers = new Map();
    const c = this.canvas;
    c.addEventListener('pointermove', (e) => this.move(e));
    c.addEventListener('pointerdown', (e) => this.down(e));
    for (const type of ['pointerup', 'pointercancel']) c.addEventListener(type, (e) => this.up(e));
    c.addEventListener('pointerleave', () => { if (!this.fingers.size) this.light(-1); });
    c.addEventListener('wheel', (e) => { e.preventDefault(); this.zoom(Math.exp(-e.deltaY / 400), this.place(e)); }, { passive: false });
    c.addEventListener('dblclick', () => this.reset());
    c.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.draw()).observe(c);
  }

  /** Shows points; where they are the same ones in the same order, the view stays. */
  show(points, query, linked) {
    if (points.length !== this.points.length) this.lit = -1;
    this.points = points;
    this.query = query;
    this.linked = linked;
    const xs = points.map((p) => p.x).concat(query ? [query.x] : []), ys = points.map((p) => p.y).concat(query ? [query.y] : []);
    this.bounds = xs.length ? { x0: Math.min(...xs), x1: Math.max(...xs), y0: Math.min(...ys), y1: Math.max(...ys) } : null;
    this.draw();
  }

  reset() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.draw();
  }

  /** The place of a point on the canvas, in CSS pixels. */
  at(p) {
    const { x0, x1, y0, y1 } = this.bounds, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    const scale = Math.min((w - 2 * margin) / (x1 - x0 || 1), (h - 2 * margin) / (y1 - y0 || 1)) * this.view.zoom;
    return [w / 2 + (p.x - (x0 + x1) / 2) * scale + this.view.x, h / 2 - (p.y - (y0 + y1) / 2) * scale + this.view.y];
  }

  draw() {
    const c = this.canvas, w = c.clientWidth, h = c.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!w || !this.bounds) return;
    c.width = w * ratio;
    c.height = h * ratio;
    const g = c.getContext('2d');
    g.scale(ratio, ratio);
    const surface = computed('--surface'), text = computed('--text'), focus = computed('--accent');
    if (this.query) {
      g.strokeStyle = focus;
      g.globalAlpha = 0.45;
      for (const i of this.linked) {
        g.beginPath();
        g.moveTo(...this.at(this.query));
        g.lineTo(...this.at(this.points[i]));
        g.stroke();
      }
      g.globalAlpha = 1;
    }
    const size = Math.max(2.5, Math.min(6, 40 / Math.sqrt(this.points.length))) * Math.min(2, Math.sqrt(this.view.zoom));
    const dot = (i, grow) => {
      const [x, y] = this.at(this.points[i]);
      if (x < -20 || y < -20 || x > w + 20 || y > h + 20) return;
      g.beginPath();
      g.arc(x, y, size + grow, 0, 7);
      g.fillStyle = this.points[i].colour;
      g.fill();
      g.strokeStyle = grow ? text : surface;
      g.lineWidth = grow ? 2 : 1;
      g.stroke();
    };
    this.points.forEach((_, i) => dot(i, 0));
    for (const i of this.linked) dot(i, 1.5);
    if (this.lit >= 0) dot(this.lit, 3);
    this.labels(g, text, surface, size);
    if (this.query) this.star(g, ...this.at(this.query), focus, surface);
  }

  labels(g, text, surface, size) {
    g.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    g.textBaseline = 'middle';
    const [qx, qy] = this.query ? this.at(this.query) : [];
    const taken = this.query ? [{ x: qx - 11, y: qy, wide: 22 }] : []; // the star
    const room = this.canvas.clientWidth - 4;
    for (const i of new Set([this.lit, ...this.linked.slice(0, 5)])) {
      if (i < 0) continue;
      const [x, y] = this.at(this.points[i]);
      const { title } = this.points[i];
      const gap = size + 7, right = room - x - gap, before = x - gap - 4;
      let name = title.length > 34 ? title.slice(0, 33) + '…' : title;
      const behind = g.measureText(name).width <= right || right >= before;
      for (let n = Math.min(33, title.length) - 1; n > 3 && g.measureText(name).width > (behind ? right : before); n--) name = title.slice(0, n).trimEnd() + '…';
      const wide = g.measureText(name).width;
      const left = behind ? x + gap : x - gap - wide;
      if (left < 0 || left + wide > room + 4) continue;
      if (taken.some((t) => Math.abs(t.y - y) < 15 && left < t.x + t.wide && t.x < left + wide)) continue;
      taken.push({ x: left, y, wide });
      g.lineWidth = 4;
      g.lineJoin = 'round';
      g.strokeStyle = surface;
      g.strokeText(name, left, y);
      g.fillStyle = text;
      g.fillText(name, left, y);
    }
  }

  star(g, x, y, colour, surface) {
    g.beginPath();
    for (let k = 0; k < 8; k++) {
      const r = k % 2 ? 4 : 11, a = (k * Math.PI) / 4 - Math.PI / 2;
      g.lineTo(x + r * Math.cos(a), y + r * Math.sin(a));
    }
    g.closePath();
    g.fillStyle = colour;
    g.fill();
    g.strokeStyle = surface;
    g.lineWidth = 1.5;
    g.stroke();
  }

  // ---- pointers and keys

  place(e) {
    const box = this.canvas.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }

  /** Makes the picture larger by a factor, the place [x, y] staying where it is. */
  zoom(factor, [x, y] = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const v = this.view, zoom = Math.max(0.5, Math.min(60, v.zoom * factor)), f = zoom / v.zoom;
    const cx = this.canvas.clientWidth / 2, cy = this.canvas.clientHeight / 2;
    this.view = { zoom, x: (v.x + cx - x) * f + x - cx, y: (v.y + cy - y) * f + y - cy };
    this.draw();
  }

  pan(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.draw();
  }

  down(e) {
    this.canvas.setPointerCapture(e.pointerId);
    this.fingers.set(e.pointerId, this.place(e));
    this.moved = 0;
  }

  move(e) {
    const now = this.place(e), before = this.fingers.get(e.pointerId);
    if (!before) {
      this.light(this.under(now));
      return;
    }
    const others = [...this.fingers].filter(([id]) => id !== e.pointerId);
    this.fingers.set(e.pointerId, now);
    this.moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (others.length) {
      const still = others[0][1];
      const distance = (p) => Math.hypot(p[0] - still[0], p[1] - still[1]) || 1;
      this.zoom(distance(now) / distance(before), still);
    } else {
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
  }

  up(e) {
    if (!this.fingers.delete(e.pointerId) || e.type === 'pointercancel' || this.moved > 5) return;
    const i = this.under(this.place(e));
    this.light(i);
    if (i >= 0) this.on.choose(i);
  }

  under([x, y]) {
    let best = -1, distance = near;
    this.points.forEach((p, i) => {
      const [px, py] = this.at(p), d = Math.hypot(px - x, py - y);
      if (d < distance) [best, distance] = [i, d];
    });
    return best;
  }

  light(i) {
    if (i === this.lit) return;
    this.lit = i;
    this.draw();
    this.on.point(i);
  }

  key(e) {
    const pan = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[e.key];
    if (pan) this.pan(...pan);
    else if (e.key === '+' || e.key === '=') this.zoom(1.3);
    else if (e.key === '-') this.zoom(1 / 1.3);
    else if (e.key === '0') this.reset();
    else if (e.key === 'Enter' && this.lit >= 0) this.on.choose(this.lit);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }
}
