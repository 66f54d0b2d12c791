// The published client, as it is: installed in build/sdk, watched from its own `fetch` setting.

import { pathToFileURL } from 'node:url';
import { BINARY } from '../lib/installation.mjs';
import { packagesOf } from '../lib/packages.mjs';
import { checkerOf } from '../openapi/replies.mjs';

const check = checkerOf(BINARY);
const { resolve } = packagesOf('sdk');

export const sdk = await import(pathToFileURL(resolve('@brew.new/sdk')));

/** Its methods by name, such as contacts.upsert, however deep they lie. */
export function methodsOf(client, prefix = '') {
  return Object.entries(client).flatMap(([name, member]) =>
    typeof member === 'function' ? [prefix + name] : methodsOf(member, `${prefix}${name}.`));
}

/** Calls a method by its name; of what is walked, everything. */
export async function invoke(client, name, args) {
  const words = name.split('.');
  const owner = words.slice(0, -1).reduce((node, word) => node[word], client);
  const result = await owner[words.at(-1)](...args);
  return result?.[Symbol.asyncIterator] ? Array.fromAsync(result) : result;
}

/** A client and the exchanges it had: {method, path, headers, status, answer}. `tuning` is for the waits between its tries. */
export function watchedClient(config, tuning) {
  const exchanges = [];
  const watchingFetch = async (url, init) => {
    const response = await fetch(url, init);
    const { pathname, search } = new URL(url);
    const body = await response.clone().json().catch(() => null);
    const problem = check(init.method, pathname, { status: response.status, headers: Object.fromEntries(response.headers), body });
    if (problem) throw new Error(problem);
    exchanges.push({ method: init.method, path: pathname, search, headers: new Headers(init.headers), status: response.status, answer: response.headers });
    return response;
  };
  return { client: sdk.createBrewClient({ fetch: watchingFetch, ...config }, tuning), exchanges };
}

/** What a call came to: {value} or {error}, where the error is of the client's one class. */
export async function outcomeOf(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    if (!(error instanceof sdk.BrewApiError)) throw error;
    return { error };
  }
}
