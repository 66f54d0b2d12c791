// The table of a run. A row compares a figure of ours with a peer's, or with a limit, and says whether the target is met.

const COLUMNS = ['', 'ours', 'peer', 'ratio', 'target', 'aim', 'verdict'];

export class Report {
  #lines = []; // arrays are rows, strings are sentences
  failed = false;

  section(name) {
    this.#lines.push('', name);
  }

  // `bounds` is { atLeast } or { atMost } for the ratio ours / peer, and perhaps `aim`; without them the row only informs.
  compare(name, ours, peer, unit, bounds = {}) {
    const ratio = ours / peer;
    this.#lines.push([`  ${name}`, figure(ours, unit), figure(peer, unit), ratioText(ratio),
      ...bounded(ratio, bounds, ratioText)]);
  }

  // A figure of ours with a bound of its own; `peer` only informs.
  limit(name, ours, unit, bounds, peer) {
    this.#lines.push([`  ${name}`, figure(ours, unit), peer === undefined ? '' : figure(peer, unit), '',
      ...bounded(ours, bounds, (value) => figure(value, unit))]);
  }

  note(sentence) {
    this.#lines.push(`  ${sentence}`);
  }

  failure(sentence) {
    this.failed = true;
    this.#lines.push(`  DID NOT RUN: ${sentence}`);
  }

  text() {
    const rows = [COLUMNS, ...this.#lines.filter(Array.isArray)];
    const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
    const rowText = (row) => row.map((cell, column) =>
      (column === 0 || column === row.length - 1 ? cell.padEnd(widths[column]) : cell.padStart(widths[column]))).join('  ').trimEnd();
    return [COLUMNS, ...this.#lines].map((line) => (Array.isArray(line) ? rowText(line) : line)).join('\n');
  }
}

function bounded(value, { atLeast, atMost, aim }, text) {
  const target = atLeast ?? atMost;
  if (target === undefined) return ['', '', ''];
  const sign = atLeast === undefined ? '≤' : '≥';
  const reaches = (bound) => (atLeast === undefined ? value <= bound : value >= bound);
  const verdict = !reaches(target) ? 'short' : aim !== undefined && reaches(aim) ? 'meets, aim too' : 'meets';
  return [`${sign} ${text(target)}`, aim === undefined ? '' : `${sign} ${text(aim)}`, verdict];
}

function figure(value, unit) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits })} ${unit}`;
}

// A ratio far below one reads better as a fraction: 1/31.
function ratioText(ratio) {
  return ratio < 0.4 ? `1/${Number((1 / ratio).toPrecision(3))}` : String(Number(ratio.toPrecision(3)));
}
