// Random numbers that a failing run can repeat: a small generator (mulberry32) with a seed.

export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** An integer from 0 to below `limit`. */
  below(limit) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let value = this.#state;
    value = Math.imul(value ^ (value >>> 15), value | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) % limit;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** `count` picks, joined. */
  text(list, count) {
    return Array.from({ length: count }, () => this.pick(list)).join('');
  }
}
