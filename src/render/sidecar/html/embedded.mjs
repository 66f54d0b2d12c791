// Images embedded in a source as data: addresses. They are megabytes of base64 that no parser needs to see, and hosting
// them is up to the caller, so each is replaced by a short address of its own before anything else looks at the source.
// What becomes of these addresses is said by `replaceImages`; none of them may be left in a finished document.

import { createHash } from 'node:crypto';

import { LIMITS } from '../limits.mjs';

const PLACE = String.raw`((?:(?<![\w-])(?:src|background)\s*=|url\()\s*`;
const DATA = String.raw`data:image\/(?:png|x-png|jpe?g|pjpeg|gif|webp|avif)(?:;[\w-]+=[\w-]+)*;base64,`;
/** Where an image may stand: src="…", background="…", url(…). A data: address anywhere else is judged like any other. */
const QUOTED = new RegExp(String.raw`${PLACE}(["']|&quot;|&#34;|&#39;|&apos;)\s*)${DATA}([a-z0-9+/=\s%]+)(?=\2)`, 'gi');
const UNQUOTED = new RegExp(String.raw`${PLACE}())${DATA}([a-z0-9+/=%]+)`, 'gi');

/** Matches the addresses that stand for embedded images. */
export const EMBEDDED_ADDRESS = /https:\/\/embedded\.invalid\/[0-9a-f]{20}\/\d{1,3}/g;

/**
 * @param {string} source
 * @returns {{source: string, images: Map<string, string>}} the shorter source, and by address the base64 of each image,
 *   equal ones once
 */
export function takeEmbeddedImages(source) {
  if (!/data:image/i.test(source)) return { source, images: new Map() };
  // The document's own hash, so that it cannot contain one of these addresses; .invalid is never resolved (RFC 6761 §6.4).
  const nonce = createHash('sha256').update(source).digest('hex').slice(0, 20);
  const known = new Map();
  const images = new Map();
  const take = (whole, place, _quote, encoded) => {
    const base64 = Buffer.from(encoded.replace(/%2b/gi, '+').replace(/%2f/gi, '/'), 'base64').toString('base64');
    if (!known.has(base64) && known.size === LIMITS.embeddedImages) return whole; // goes further on, as data: addresses do
    if (!known.has(base64)) known.set(base64, `https://embedded.invalid/${nonce}/${known.size}`);
    images.set(known.get(base64), base64);
    return place + known.get(base64);
  };
  return { source: source.replace(QUOTED, take).replace(UNQUOTED, take), images };
}
