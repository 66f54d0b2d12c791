// Compares posthorn-image with libvips (npm sharp): images of every format, size and kind that libvips writes must be reported
// with the same type, size and number of frames.
//
//     node image_headers.mjs POSTHORN_IMAGE [images] [seed]

import { spawnSync } from 'node:child_process';
import { packagesOf } from '../lib/packages.mjs';
import { Random } from '../lib/random.mjs';

const load = packagesOf('third_party');
const sharp = load('sharp');
const [program, images = '200', seed = '1'] = process.argv.slice(2);
const random = new Random(Number(seed));
const between = (low, high) => low + random.below(high - low + 1);
const coin = () => random.below(2) === 0;

const FORMATS = {
  jpeg: () => ({ progressive: coin(), quality: 40, chromaSubsampling: random.pick(['4:2:0', '4:4:4']) }),
  png: () => ({ progressive: coin(), palette: coin() }),
  gif: () => ({ colours: 16 }),
  webp: () => ({ lossless: coin(), quality: 40 }),
  avif: () => ({ lossless: coin(), quality: 40, effort: 0 }),
};
const ANIMATED = new Set(['gif', 'webp']);

/** Pixels of one picture, or of several below each other. */
function pixels(width, height, frames, channels) {
  const bytes = Buffer.alloc(width * height * frames * channels);
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 7 + Math.floor(i / (width * height * channels)) * 31) & 255;
  return sharp(bytes, { raw: { width, height: height * frames, channels, ...(frames > 1 ? { pageHeight: height } : {}) } });
}

async function sample() {
  const format = random.pick(Object.keys(FORMATS));
  const frames = ANIMATED.has(format) && coin() ? between(2, 9) : 1;
  const [width, height] = [between(1, 300), between(1, 300)];
  let image = pixels(width, height, frames, coin() ? 3 : 4)[format](FORMATS[format]());
  // Sizes are told as stored; libvips turns AVIF, and only AVIF, before it tells.
  if (frames === 1 && format !== 'avif' && coin()) image = image.withMetadata({ orientation: between(1, 8) });
  const bytes = await image.toBuffer();
  const { pages = 1, pageHeight, width: w, height: h } = await sharp(bytes, { animated: true }).metadata();
  return { bytes, expected: `${format} ${w} ${pageHeight ?? h} ${pages}` };
}

function ask(list) {
  const framed = list.flatMap(({ bytes }) => {
    const size = Buffer.alloc(4);
    size.writeUInt32BE(bytes.length);
    return [size, bytes];
  });
  const { stdout } = spawnSync(program, { input: Buffer.concat(framed), maxBuffer: 1 << 26 });
  return stdout.toString().trim().split('\n');
}

const samples = [];
for (let i = 0; i < Number(images); i++) samples.push(await sample());
const answers = ask(samples);
let failed = 0;
samples.forEach(({ expected }, i) => {
  if (answers[i] === expected) return;
  failed++;
  console.log(`FAILED image ${i} of seed ${seed}: posthorn-image says ${answers[i]}, libvips ${expected}`);
});
console.log(`images: ${samples.length - failed} passed, ${failed} failed (seed ${seed})`);
process.exitCode = failed > 0 || samples.length === 0 ? 1 : 0;
