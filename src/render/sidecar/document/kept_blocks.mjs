// The HTML of blocks that were drawn lately, so that an edit of a block draws this block only. A block is found by its MJML and by what
// mjml takes from the whole document; its text decides, and not its document. The oldest are forgotten.

import { LIMITS } from '../limits.mjs';

const sizeOf = (key, { parts }) => parts.reduce((sum, part) => sum + part.length, key.length);

export class KeptBlocks {
  #blocks = new Map();
  #chars = 0;

  constructor(maxChars = LIMITS.keptBlockChars) {
    this.maxChars = maxChars;
  }

  get chars() {
    return this.#chars;
  }

  get(key) {
    const block = this.#blocks.get(key);
    if (block === undefined) return undefined;
    this.#blocks.delete(key);
    this.#blocks.set(key, block);
    return block;
  }

  set(key, block) {
    this.#forget(key);
    if (sizeOf(key, block) > this.maxChars) return;
    this.#blocks.set(key, block);
    this.#chars += sizeOf(key, block);
    for (const [oldest] of this.#blocks) {
      if (this.#chars <= this.maxChars) break;
      this.#forget(oldest);
    }
  }

  #forget(key) {
    const block = this.#blocks.get(key);
    if (block === undefined) return;
    this.#blocks.delete(key);
    this.#chars -= sizeOf(key, block);
  }
}
