// How costs grow with sizes, and whether that is faster than n log n.
//
// The exponent is the slope of the costs over the sizes, both as logarithms: 1 for n, at most 1.3 for n log n between the sizes
// used here, 2 for the square. Costs below the floor count as the floor, so what a call costs without any rows, and noise of
// the clock, cannot make a slope steeper.

/** Halfway between n log n and the square. */
export const EXPONENT_MAX = 1.6;

const log = Math.log2;

/** Least squares over all points of [size, cost]. */
function slope(points) {
  const mean = (pick) => points.reduce((sum, point) => sum + pick(point), 0) / points.length;
  const [x, y] = [mean(([size]) => log(size)), mean(([, cost]) => log(cost))];
  const spread = points.reduce((sum, [size]) => sum + (log(size) - x) ** 2, 0);
  return points.reduce((sum, [size, cost]) => sum + (log(size) - x) * (log(cost) - y), 0) / spread;
}

/** A cost of few floors says nothing. The sizes must be apart, or their logarithms magnify every error. */
const JUDGED_FLOORS = 4;
const JUDGED_RATIO = 4;

/**
 * The exponent of `points`, [[size, cost], …] with sizes ascending; null when they do not tell. It is that of all points, or of
 * the upper half where that is steeper: what is quadratic is often hidden at first.
 */
export function exponentOf(points, floor) {
  const [first, last] = [points[0], points.at(-1)];
  if (points.length < 2 || last[0] < JUDGED_RATIO * first[0] || last[1] < JUDGED_FLOORS * floor) return null;
  const raised = points.map(([size, cost]) => [size, Math.max(cost, floor)]);
  const upper = raised.filter(([size]) => size * JUDGED_RATIO >= last[0] * 0.999);
  return Math.max(slope(raised), upper.length >= 3 ? slope(upper) : -Infinity);
}

export const isTooSteep = (exponent) => exponent !== null && exponent > EXPONENT_MAX;
