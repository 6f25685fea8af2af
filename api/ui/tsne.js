// t-SNE in a worker of its own: places points so that near neighbours in many dimensions stay neighbours in two.
// Exact, as in van der Maaten and Hinton, JMLR 9 (2008), so for some thousand points at most. Starts from the points' first two
// coordinates and draws nothing at random: the same points give the same picture.
//
// In: {points: [[x1, x2, ...], ...]}. Out, now and then: {at: Float32Array [2n], round, rounds}; the last has done: true.

const rounds = 500, early = 100, exaggeration = 8;

self.onmessage = ({ data }) => {
  const n = data.points.length;
  const p = affinities(data.points, Math.min(30, Math.max(2, (n - 1) / 3)));
  const at = start(data.points);
  const velocity = new Float64Array(2 * n), gain = new Float64Array(2 * n).fill(1);
  const rate = Math.max(10, n / 12);
  for (let round = 1; round <= rounds; round++) {
    step(at, p, velocity, gain, round <= early ? exaggeration : 1, round <= early ? 0.5 : 0.8, rate, n);
    if (round % 10 === 0 || round === rounds) self.postMessage({ at: Float32Array.from(at), round, rounds, done: round === rounds });
  }
};

/** The first two coordinates, scaled to the small variance that the method begins with. */
function start(points) {
  const at = new Float64Array(2 * points.length);
  let square = 0;
  for (const q of points) square += q[0] * q[0];
  const scale = 1e-2 / Math.sqrt(square / points.length || 1);
  points.forEach((q, i) => {
    at[2 * i] = q[0] * scale;
    at[2 * i + 1] = (q[1] || 0) * scale;
  });
  return at;
}

/** The joint probabilities [n*n]: each point's neighbours under a Gaussian whose width gives the wanted perplexity. */
function affinities(points, perplexity) {
  const n = points.length, p = new Float64Array(n * n), want = Math.log(perplexity), row = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let d = 0;
      for (let k = 0; k < points[i].length; k++) d += (points[i][k] - points[j][k]) ** 2;
      row[j] = d;
    }
    let beta = 1, low = 0, high = Infinity;
    for (let tries = 0; tries < 60; tries++) {
      let sum = 0, weighted = 0;
      for (let j = 0; j < n; j++) {
        if (j === i) continue;
        const w = Math.exp(-row[j] * beta);
        sum += w;
        weighted += w * row[j];
      }
      const entropy = sum > 0 ? Math.log(sum) + (beta * weighted) / sum : 0;
      if (Math.abs(entropy - want) < 1e-4) break;
      if (entropy > want) low = beta;
      else high = beta;
      beta = high === Infinity ? beta * 2 : (low + high) / 2;
    }
    let sum = 0;
    for (let j = 0; j < n; j++) if (j !== i) sum += (p[i * n + j] = Math.exp(-row[j] * beta));
    for (let j = 0; j < n; j++) p[i * n + j] /= sum || 1;
  }
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) p[i * n + j] = p[j * n + i] = Math.max((p[i * n + j] + p[j * n + i]) / (2 * n), 1e-12);
  }
  return p;
}

/** One step down the gradient. */
function step(at, p, velocity, gain, factor, momentum, rate, n) {
  const gradient = new Float64Array(2 * n), kernel = new Float64Array(n * n);
  let total = 0;
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const dx = at[2 * i] - at[2 * j], dy = at[2 * i + 1] - at[2 * j + 1];
      const q = 1 / (1 + dx * dx + dy * dy);
      kernel[i * n + j] = q;
      total += 2 * q;
    }
  }
  for (let i = 0; i < n; i++) {
    for (let j = i + 1; j < n; j++) {
      const q = kernel[i * n + j];
      const f = 4 * (factor * p[i * n + j] - q / total) * q;
      const dx = f * (at[2 * i] - at[2 * j]), dy = f * (at[2 * i + 1] - at[2 * j + 1]);
      gradient[2 * i] += dx;
      gradient[2 * i + 1] += dy;
      gradient[2 * j] -= dx;
      gradient[2 * j + 1] -= dy;
    }
  }
  for (let k = 0; k < 2 * n; k++) {
    gain[k] = Math.max(0.01, gradient[k] > 0 === velocity[k] > 0 ? gain[k] * 0.8 : gain[k] + 0.2);
    velocity[k] = momentum * velocity[k] - rate * gain[k] * gradient[k];
    at[k] += velocity[k];
  }
}
