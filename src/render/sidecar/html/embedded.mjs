// Images embedded in a source as data: URLs. They can be megabytes of base64, and the caller hosts them. So each is
// replaced by a short placeholder address before the source is parsed. `replaceImages` later replaces the placeholder
// addresses; a finished document must not contain one.

import { createHash } from 'node:crypto';

import { LIMITS } from '../limits.mjs';

const PLACE = String.raw`((?:(?<![\w-])(?:src|background)\s*=|url\()\s*`;
const DATA = String.raw`data:image\/(?:png|x-png|jpe?g|pjpeg|gif|webp|avif)(?:;[\w-]+=[\w-]+)*;base64,`;
/** Positions of an embedded image: src="…", background="…", url(…). The URL policy decides about a data: URL in any other position. */
const QUOTED = new RegExp(String.raw`${PLACE}(["']|&quot;|&#34;|&#39;|&apos;)\s*)${DATA}([a-z0-9+/=\s%]+)(?=\2)`, 'gi');
const UNQUOTED = new RegExp(String.raw`${PLACE}())${DATA}([a-z0-9+/=%]+)`, 'gi');

/** Matches the placeholder addresses of embedded images. */
export const EMBEDDED_ADDRESS = /https:\/\/embedded\.invalid\/[0-9a-f]{20}\/\d{1,3}/g;

/**
 * @param {string} source
 * @returns {{source: string, images: Map<string, string>}} the source with placeholder addresses, and a map from each
 *   placeholder address to the base64 of its image; equal images share one address
 */
export function takeEmbeddedImages(source) {
  if (!/data:image/i.test(source)) return { source, images: new Map() };
  // The nonce is a hash of the document, so the document cannot contain such an address. .invalid never resolves (RFC 6761 §6.4).
  const nonce = createHash('sha256').update(source).digest('hex').slice(0, 20);
  const known = new Map();
  const images = new Map();
  const take = (whole, place, _quote, encoded) => {
    const base64 = Buffer.from(encoded.replace(/%2b/gi, '+').replace(/%2f/gi, '/'), 'base64').toString('base64');
    if (!known.has(base64) && known.size === LIMITS.embeddedImages) return whole; // the URL policy removes it
    if (!known.has(base64)) known.set(base64, `https://embedded.invalid/${nonce}/${known.size}`);
    images.set(known.get(base64), base64);
    return place + known.get(base64);
  };
  return { source: source.replace(QUOTED, take).replace(UNQUOTED, take), images };
}
