// Images for tests: small valid ones of each format, and hostile ones whose headers are wrong.

import { crc32, deflateSync } from 'node:zlib';

const fromBase64 = (text) => Buffer.from(text, 'base64');

/** 3 by 2 pixels each. */
export const JPEG = fromBase64('/9j/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4r'
  + 'K06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAACAAMDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/'
  + 'xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAAAQX/xAAUEQEAAAAAAAAAAAAAAAAAAAAA/9oADAMBAAIRAxEAPwCEArD/2Q==');
export const GIF = fromBase64('R0lGODlhAwACAIAAAExpccgUWiH5BAUAAAAALAAAAAADAAIAAAICjF8AOw==');
export const WEBP = fromBase64('UklGRjAAAABXRUJQVlA4ICQAAABwAQCdASoDAAIABABoJaACdAFAAAD+6d85/43j/Jd/bvsoAAA=');
export const AVIF = fromBase64('AAAAHGZ0eXBhdmlmAAAAAG1pZjFhdmlmbWlhZgAAANZtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAAA5waXRtAAAAAAAB'
  + 'AAAAImlsb2MAAAAAREAAAQABAAAAAAD6AAEAAAAAAAAAGgAAACNpaW5mAAAAAAABAAAAFWluZmUCAAAAAAEAAGF2MDEAAAAAVmlwcnAAAAA4aXBjbwAAAAxhdjFDgSACAAAA'
  + 'ABRpc3BlAAAAAAAAAAMAAAACAAAAEHBpeGkAAAAAAwgICAAAABZpcG1hAAAAAAAAAAEAAQOBAgMAAAAibWRhdBIACgg4BCsICGg0gDIMGwAAAEAAsAf6+m5I');

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

/** A grey PNG; `shade` makes different ones. Only `rows` of its rows are there. */
export function png(width, height, shade = 128, rows = height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits a sample; colour type 0: grey
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(Math.min(width, 100_000), shade)]);
  const pixels = deflateSync(Buffer.concat(Array(rows).fill(row)));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

/** A PNG in colours that cannot be compressed: the same bytes each time. */
export function noisePng(width, height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  let state = 1;
  const next = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state >>> 24; };
  const line = () => Buffer.from([0, ...Array.from({ length: width * 3 }, next)]);
  const data = deflateSync(Buffer.concat(Array.from({ length: height }, line)));
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** A GIF of `frames` frames of one pixel on a screen of `width` by `height`. */
export function gif(frames, width = 3, height = 2) {
  const head = Buffer.from('GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff', 'latin1');
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  const frame = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([head, ...Array(frames).fill(frame), Buffer.from([0x3b])]);
}

/** A PNG in colours, made by `colour(x, y)`: [red, green, blue]. It is packed badly on purpose. */
export function colourPng(width, height, colour) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8; // bits a sample
  header[9] = 2; // colour type: red, green, blue
  const rows = Array.from({ length: height }, (_, y) => {
    const row = Buffer.alloc(1 + 3 * width);
    for (let x = 0; x < width; x++) row.set(colour(x, y), 1 + 3 * x);
    return row;
  });
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const pixels = deflateSync(Buffer.concat(rows), { level: 1 });
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}
