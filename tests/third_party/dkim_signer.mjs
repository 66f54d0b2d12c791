// Signs composed messages by dkim_driver, as the sender does.

import { Driver } from '../lib/driver.mjs';

export class Signer {
  #driver;

  /** @param {string} path the binary of dkim_driver */
  constructor(path) {
    this.#driver = new Driver(path);
  }

  /** Its keys, as {domain, keys: [{selector, algorithm, public}]}. */
  keys() {
    return this.#driver.ask({});
  }

  /** The message with its signatures before it. */
  async sign(bytes, timeUs) {
    const { signatures, error } = await this.#driver.ask({ message: bytes, timeUs });
    if (error) throw new Error(`not signed: ${error}`);
    return signatures + bytes;
  }

  close() {
    this.#driver.close();
  }
}

/** What the domain of these keys publishes: name → TXT strings. */
export function publishedRecords({ domain, keys }) {
  return Object.fromEntries(keys.map(({ selector, algorithm, public: key }) => {
    const value = `v=DKIM1; k=${algorithm}; p=${key}`;
    return [`${selector}._domainkey.${domain}`, value.match(/.{1,255}/g)];
  }));
}
