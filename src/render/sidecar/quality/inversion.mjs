// Inversion of colours, as mail clients do it in their dark schemes: the lightness of a colour in CIELAB is mirrored; hue and chroma stay as
// far as sRGB has the colour. Channels are integers from 0 to 255. The functions are pure.

/** D65, and the constants of CIE 15. */
const WHITE = [0.95047, 1, 1.08883];
const EPSILON = 216 / 24389;
const KAPPA = 24389 / 27;
/** A lighter colour is light: the middle of the scale of lightness. */
const MIDDLE = 50;
/** Halvings of the chroma until a colour outside of sRGB is inside of it. */
const STEPS = 12;

const toLinear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const toChannel = (value) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);
const toRoot = (value) => (value > EPSILON ? Math.cbrt(value) : (KAPPA * value + 16) / 116);
const fromRoot = (value) => (value ** 3 > EPSILON ? value ** 3 : (116 * value - 16) / KAPPA);

/** CIELAB of a colour: { l, a, b }. */
export function toLab({ r, g, b }) {
  const [red, green, blue] = [r, g, b].map((value) => toLinear(value / 255));
  const x = toRoot((0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / WHITE[0]);
  const y = toRoot((0.2126729 * red + 0.7151522 * green + 0.072175 * blue) / WHITE[1]);
  const z = toRoot((0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / WHITE[2]);
  return { l: 116 * y - 16, a: 500 * (x - y), b: 200 * (y - z) };
}

/** The channels of a colour in sRGB, which may be outside of 0 to 1. */
function channelsOf({ l, a, b }) {
  const y = (l + 16) / 116;
  const [X, Y, Z] = [y + a / 500, y, y - b / 200].map((root, i) => fromRoot(root) * WHITE[i]);
  return [
    3.2404542 * X - 1.5371385 * Y - 0.4985314 * Z,
    -0.969266 * X + 1.8760108 * Y + 0.041556 * Z,
    0.0556434 * X - 0.2040259 * Y + 1.0572252 * Z,
  ].map((value) => (value > 0 ? toChannel(value) : value * 12.92));
}

const isInside = (channels) => channels.every((value) => value >= -0.0005 && value <= 1.0005);

/** The colour with this lightness and hue, and with as much of the chroma as sRGB has. */
function fromLab({ l, a, b }) {
  let [least, most] = [0, 1];
  let channels = channelsOf({ l, a, b });
  for (let step = 0; step < STEPS && !isInside(channels); step++) {
    const share = (least + most) / 2;
    if (isInside(channelsOf({ l, a: a * share, b: b * share }))) least = share;
    else most = share;
    if (step === STEPS - 1) channels = channelsOf({ l, a: a * least, b: b * least });
  }
  const [r, g, blue] = channels.map((value) => Math.round(Math.min(1, Math.max(0, value)) * 255));
  return { r, g, b: blue };
}

/** Which lightness a mode changes. */
const CHANGES = {
  full: () => true,
  background: (l) => l > MIDDLE,
  text: (l) => l < MIDDLE,
};

/**
 * Inverts a colour.
 * @param {{r: number, g: number, b: number}} colour
 * @param {"full"|"background"|"text"} mode `full`: every colour; `background`: light ones only; `text`: dark ones only. A partial inversion
 *   is `background` for backgrounds and `text` for texts and borders
 * @returns {{r: number, g: number, b: number}}
 */
export function invertColour({ r, g, b }, mode) {
  const lab = toLab({ r, g, b });
  return CHANGES[mode](lab.l) ? fromLab({ ...lab, l: 100 - lab.l }) : { r, g, b };
}
