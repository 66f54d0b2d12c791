// The report of a run. Each row is printed as soon as its figures are known. A row compares a figure of Posthorn with a figure of
// a peer, or with a limit, and says whether the target is met.

const COLUMNS = ['', 'ours', 'peer', 'ratio', 'target', 'aim', 'verdict'];
// A row is printed before the next row is known, so the widths are fixed. A longer cell moves the rest of its row to the right.
const WIDTHS = [58, 18, 18, 8, 18, 8, 14];

export class Report {
  #print;
  failed = false;

  constructor(print = console.log) {
    this.#print = print;
    this.#row(COLUMNS);
  }

  section(name) {
    this.#print('');
    this.#print(name);
  }

  // `bounds` is { atLeast } or { atMost } for the ratio ours / peer, with an optional `aim`. A row without bounds has no target.
  compare(name, ours, peer, unit, bounds = {}) {
    const ratio = ours / peer;
    this.#row([`  ${name}`, figure(ours, unit), figure(peer, unit), ratioText(ratio), ...bounded(ratio, bounds, ratioText)]);
  }

  // A figure with a bound of its own. `peer` has no target.
  limit(name, ours, unit, bounds, peer) {
    this.#row([`  ${name}`, figure(ours, unit), peer === undefined ? '' : figure(peer, unit), '',
      ...bounded(ours, bounds, (value) => figure(value, unit))]);
  }

  note(sentence) {
    this.#print(`  ${sentence}`);
  }

  failure(sentence) {
    this.failed = true;
    this.#print(`  DID NOT RUN: ${sentence}`);
  }

  #row(cells) {
    this.#print(cells.map((cell, column) => (column === 0 || column === cells.length - 1 ? cell.padEnd(WIDTHS[column])
      : cell.padStart(WIDTHS[column]))).join('  ').trimEnd());
  }
}

function bounded(value, { atLeast, atMost, aim }, text) {
  const target = atLeast ?? atMost;
  if (target === undefined) return ['', '', ''];
  const sign = atLeast === undefined ? '≤' : '≥';
  const reaches = (bound) => (atLeast === undefined ? value <= bound : value >= bound);
  const verdict = !reaches(target) ? 'missed' : aim !== undefined && reaches(aim) ? 'met, aim too' : 'met';
  return [`${sign} ${text(target)}`, aim === undefined ? '' : `${sign} ${text(aim)}`, verdict];
}

function figure(value, unit) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits })} ${unit}`;
}

// A ratio below 0.4 is printed as a fraction such as 1/31.
function ratioText(ratio) {
  return ratio < 0.4 ? `1/${Number((1 / ratio).toPrecision(3))}` : String(Number(ratio.toPrecision(3)));
}
