// Draws a picture in a page of our own, for its PNG and its main colours.

/* eslint-disable no-undef -- document and Image are those of the page */
/** Resolves with {png, width, height, colours} or {problem}. `width` and `height` bound the PNG. */
async function draw({ source, width, height, wantsPng }) {
  const image = new Image();
  image.src = source;
  try {
    await image.decode();
  } catch {
    return { problem: 'it is not a picture' };
  }
  // A drawing without a size of its own gets the largest.
  const [naturalWidth, naturalHeight] = [image.naturalWidth || width, image.naturalHeight || height];
  const isDrawing = source.startsWith('data:image/svg');
  const scale = Math.min(width / naturalWidth, height / naturalHeight, isDrawing ? Infinity : 1);
  const size = [naturalWidth * scale, naturalHeight * scale].map((value) => Math.max(1, Math.round(value)));
  const onCanvas = ([w, h]) => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0, w, h);
    return { canvas, context };
  };
  const coloursOf = () => {
    const { context } = onCanvas([32, 32]);
    const { data } = context.getImageData(0, 0, 32, 32);
    const bins = new Map();
    for (let at = 0; at < data.length; at += 4) {
      if (data[at + 3] < 128) continue;
      const key = [0, 1, 2].map((i) => data[at + i] >> 5).join();
      const bin = bins.get(key) ?? { count: 0, sum: [0, 0, 0] };
      bin.count++;
      for (const i of [0, 1, 2]) bin.sum[i] += data[at + i];
      bins.set(key, bin);
    }
    const hex = ({ count, sum }) => `#${sum.map((value) => Math.round(value / count).toString(16).padStart(2, '0')).join('')}`;
    return [...bins.values()].sort((a, b) => b.count - a.count).slice(0, 5).filter(({ count }) => count >= 20).map(hex);
  };
  const png = wantsPng ? onCanvas(size).canvas.toDataURL('image/png').split(',')[1] : null;
  return { png, width: size[0], height: size[1], colours: coloursOf() };
}
/* eslint-enable no-undef */

export const DRAW = `(${draw.toString()})`;
