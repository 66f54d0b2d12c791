// Pictures of the content operations. A resize of a hosted photograph, the call included, beside vipsthumbnail with the same options
// on a file. The bytes of an animation beside those that `gifsicle -O3` makes of it.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ImageServer } from '../../lib/image_server.mjs';
import { Installation } from '../../lib/installation.mjs';
import { ROUNDS, median, sized } from '../programs.mjs';

const PUBLIC_URL = 'https://mail.example';
const [WIDTH, HEIGHT] = [sized(4000, 400), sized(3000, 300)];
const AT_MOST = { resize: 1.3, gif: 1 };

const timed = async (work) => {
  const from = performance.now();
  const result = await work();
  return [performance.now() - from, result];
};

async function post(rest, path, body) {
  const answer = await rest.post(path, body);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}

async function compareResize(report, rest, photo, imageUrl) {
  const [ours, theirs] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    const width = 600 + round;
    ours.push((await timed(() => post(rest, '/v1/content/transform', { operation: 'resize', imageUrl, width })))[0]);
    const options = [photo, '--size', `${width}x`, '--output', `${photo}.small.jpg[strip,Q=85,optimize_coding]`];
    theirs.push((await timed(() => execFileSync('vipsthumbnail', options)))[0]);
  }
  report.compare(`resize of ${WIDTH} by ${HEIGHT} pixels`, median(ours), median(theirs), 'ms', { atMost: AT_MOST.resize });
}

async function compareGif(report, rest, server, folder, name, args) {
  const { gifUrl } = await post(rest, '/v1/content/gif', args);
  const answer = await fetch(gifUrl.replace(PUBLIC_URL, `http://127.0.0.1:${server.port}`));
  const file = join(folder, 'animation.gif');
  writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
  const best = execFileSync('gifsicle', ['-O3', file], { maxBuffer: 1 << 24 }).length;
  report.compare(name, readFileSync(file).length, best, 'bytes', { atMost: AT_MOST.gif });
}

export async function run(report) {
  const images = new ImageServer();
  await images.start();
  const installation = new Installation({ PUBLIC_URL, FETCH_ALLOW_LOOPBACK: 1 });
  try {
    const photo = join(installation.folder, 'photo.jpg');
    execFileSync('vips', ['perlin', photo, String(WIDTH), String(HEIGHT), '--cell-size', '64', '--uchar']);
    images.files['/photo.jpg'] = ['image/jpeg', readFileSync(photo)];
    const server = await installation.serve();
    const rest = server.client(await installation.key('--brand', await installation.brandId()));
    const { url } = await post(rest, '/v1/content/transform', { operation: 'resize', imageUrl: `${images.base}/photo.jpg`, width: WIDTH });
    await compareResize(report, rest, photo, url);
    await compareGif(report, rest, server, installation.folder, 'animation of a photograph', { from: 'image', imageUrl: url, width: 240 });
    await compareGif(report, rest, server, installation.folder, 'animation of a text', { from: 'prompt', prompt: 'Reveal "Spring sale starts today"' });
    rest.close();
  } finally {
    await images.stop();
    await installation.dispose();
  }
}
