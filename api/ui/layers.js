// How near two texts are after each layer of the model: lines in a chart, and the same in a table for who cannot see it.
import { el, number, svg } from './dom.js';

const height = 270, left = 46, top = 14, bottom = 34;
const lineHeight = 15, longest = 36;

/**
 * The chart. lines: [{name, values, main}], values being the cosines after each layer, that of the embeddings first. The main line is
 * in colour, others show what it has to be better than.
 */
export function layerChart(lines) {
  const narrow = matchMedia('(max-width: 640px)').matches;
  const width = narrow ? 360 : 860, right = narrow ? 14 : 232;
  const all = lines.flatMap((l) => l.values);
  const room = Math.max(0.02, 0.1 * (Math.max(...all) - Math.min(...all)));
  const low = Math.min(...all) - room, high = Math.max(...all) + room;
  const steps = lines[0].values.length - 1;
  const x = (i) => left + (i / Math.max(1, steps)) * (width - left - right);
  const y = (v) => top + (1 - (v - low) / (high - low)) * (height - top - bottom);
  const chart = svg('svg', { viewBox: `0 0 ${width} ${height}`, class: 'chart', role: 'img', 'aria-label': `Similarity after each of ${steps} layers; the table below has the numbers` });
  for (let i = 0; i <= 4; i++) {
    const v = low + ((high - low) * i) / 4;
    chart.append(svg('line', { x1: left, x2: width - right, y1: y(v), y2: y(v), class: 'rule' }), svg('text', { x: left - 6, y: y(v), class: 'tick end' }, v.toFixed(2)));
  }
  for (let i = 0; i <= steps; i += Math.ceil(steps / 12) || 1) chart.append(svg('text', { x: x(i), y: height - 14, class: 'tick' }, i === 0 ? 'words' : `layer ${i}`.replace('layer ', steps > 6 ? '' : 'layer ')));
  for (const line of [...lines].sort((a, b) => (a.main ? 1 : 0) - (b.main ? 1 : 0))) {
    const group = svg('g', { class: line.main ? 'line main' : 'line' }, svg('title', null, line.name));
    group.append(svg('polyline', { points: line.values.map((v, i) => `${x(i)},${y(v)}`).join(' ') }));
    line.values.forEach((v, i) => group.append(svg('circle', { cx: x(i), cy: y(v), r: line.main ? 4 : 2.5 }, svg('title', null, `${line.name}, ${i === 0 ? 'before the first layer' : `after layer ${i}`}: ${number(v)}`))));
    chart.append(group);
  }
  if (!narrow) name(chart, lines, x(steps) + 12, y);
  return el('figure', { class: 'layers' }, chart, table(lines, steps));
}

/** Writes the name of each line behind its end, no two into one another. */
function name(chart, lines, x, y) {
  const places = lines.map((line) => ({ line, at: y(line.values.at(-1)) })).sort((a, b) => a.at - b.at);
  for (let i = 1; i < places.length; i++) places[i].at = Math.max(places[i].at, places[i - 1].at + lineHeight);
  const over = places.at(-1).at - (height - bottom);
  if (over > 0) for (let i = places.length - 1, limit = height - bottom; i >= 0; i--, limit -= lineHeight) places[i].at = Math.min(places[i].at, limit);
  for (const { line, at } of places) {
    const short = line.name.length > longest ? line.name.slice(0, longest - 1) + '…' : line.name;
    chart.append(svg('g', { class: line.main ? 'main' : null }, svg('text', { x, y: at, class: 'name' }, short)));
  }
}

function table(lines, steps) {
  const head = el('tr', null, el('th', { scope: 'col' }, 'text'), ...Array.from({ length: steps + 1 }, (_, i) => el('th', { scope: 'col', class: 'n' }, i === 0 ? 'words' : `layer ${i}`)));
  const rows = lines.map((l) => el('tr', { class: l.main ? 'main' : null }, el('th', { scope: 'row' }, l.name), ...l.values.map((v) => el('td', { class: 'n' }, v.toFixed(3)))));
  return el('details', null, el('summary', null, 'The numbers'), el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Similarity after each layer' }, el('table', null, el('thead', null, head), el('tbody', null, ...rows))));
}
