// Roles of the measured colours, fonts and buttons of pages: the theme of a brand (schemas/document.json).

const HEX = /^#[0-9a-f]{6}$/;
/** A colour with less chroma is a grey. */
const GREY = 0.03;
const GROUND_SHARE = 0.06;
const RADIUS_MAX = 32;

const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);

/** OKLCH: lightness, chroma, hue in radians (Ottosson 2020). */
export function oklch(hex) {
  const [r, g, b] = [1, 3, 5].map((at) => channel(Number.parseInt(hex.slice(at, at + 2), 16) / 255));
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  const A = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
  const B = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
  return { lightness: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s, chroma: Math.hypot(A, B), hue: Math.atan2(B, A) };
}

const luminance = (hex) => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) => sum + share * channel(Number.parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16) / 255), 0);

/** The contrast ratio of WCAG 2.2. */
export function contrast(one, other) {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const isPair = (one) => Array.isArray(one) && typeof one[0] === 'string' && Number.isFinite(one[1]);
const pairs = (list, pattern) => (Array.isArray(list) ? list.filter((one) => isPair(one) && pattern.test(one[0])).slice(0, 24) : []);

/** Sums of the same key over all pages, the largest first. */
function merge(styles, member, pattern) {
  const sums = new Map();
  for (const style of styles) for (const [key, value] of pairs(style[member], pattern)) sums.set(key, (sums.get(key) ?? 0) + value);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function buttonsOf(styles) {
  const isButton = (one) => [one?.ground, one?.border].every((colour) => colour === null || HEX.test(colour)) && HEX.test(one?.ink)
    && [one.radius, one.height, one.area].every(Number.isFinite);
  return styles.flatMap(({ buttons }) => (Array.isArray(buttons) ? buttons.filter(isButton).slice(0, 100) : []));
}

/** The colour of the most prominent buttons: their area, weighed by chroma, so that a coloured button outdoes a grey one. */
function accentOf(buttons, links, areas, themeColour) {
  const weights = new Map();
  for (const { ground, border, area } of buttons) {
    const colour = ground ?? border;
    if (colour === null || oklch(colour).lightness > 0.93) continue;
    weights.set(colour, (weights.get(colour) ?? 0) + area * (0.15 + oklch(colour).chroma));
  }
  const ofButtons = [...weights].sort((a, b) => b[1] - a[1])[0]?.[0];
  if (ofButtons !== undefined) return ofButtons;
  const coloured = (hex) => oklch(hex).chroma >= 0.06 && oklch(hex).lightness < 0.9;
  const ofLinks = links.map(([key]) => key.slice(0, 7)).find(coloured);
  const ofTheme = HEX.test(themeColour ?? '') && coloured(themeColour) ? themeColour : undefined;
  return ofLinks ?? ofTheme ?? areas.map(([hex]) => hex).find(coloured) ?? null;
}

const inkOn = (texts, ground) => texts.filter(([key]) => key.slice(8) === ground).map(([key, chars]) => [key.slice(0, 7), chars]);

/** The lesser text on a ground: of what is left, the most frequent with less contrast than the ink. */
function mutedOf(onSurface, ink, surface) {
  const total = onSurface.reduce((sum, [, chars]) => sum + chars, 0);
  const lesser = onSurface.filter(([hex, chars]) => hex !== ink && chars >= total * 0.02 && oklch(hex).chroma < 0.12
    && contrast(hex, surface) >= 2.5 && contrast(hex, surface) < contrast(ink, surface) - 0.5);
  return lesser[0]?.[0] ?? null;
}

/** The ground behind the surface: the page itself, or the largest other neutral area of about the same lightness. */
function groundOf(areas, surface, page) {
  const total = areas.reduce((sum, [, points]) => sum + points, 0);
  const { lightness } = oklch(surface);
  const isNear = (hex) => hex !== surface && oklch(hex).chroma < 0.05 && Math.abs(oklch(hex).lightness - lightness) < 0.15;
  if (HEX.test(page) && isNear(page)) return page;
  return areas.find(([hex, points]) => isNear(hex) && points >= total * GROUND_SHARE)?.[0] ?? surface;
}

const SERIF = /serif|georgia|times|garamond|playfair|merriweather|lora|baskerville|bodoni|caslon|palatino|cambria|didot|freight|tiempos/i;
const MONO = /mono|courier|consolas|menlo|code/i;
const SAFE = { sans: "Arial, Helvetica, sans-serif", serif: "Georgia, 'Times New Roman', serif", mono: "'Courier New', Courier, monospace" };
const SYSTEM = /^(system-ui|-apple-system|blinkmacsystemfont|ui-sans-serif|ui-serif|ui-monospace|sans-serif|serif|monospace|inherit|initial|emoji|math)$/i;

/** The first family of a page with a stack that every mail client has. */
export function safeStack(css) {
  const families = (typeof css === 'string' ? css.slice(0, 400) : '').split(',').map((name) => name.trim().replace(/^["']|["']$/g, '')).filter(Boolean);
  const own = families.find((name) => !SYSTEM.test(name) && /^[\p{L}\d][\p{L}\d -]{0,60}$/u.test(name));
  const generic = families.findLast((name) => /^(sans-serif|serif|monospace|system-ui)$/i.test(name))?.toLowerCase();
  const isSans = generic === 'sans-serif' || generic === 'system-ui';
  const first = own ?? generic ?? '';
  const kind = generic === 'monospace' || (!isSans && MONO.test(first)) ? 'mono' : generic === 'serif' || (!isSans && SERIF.test(first) && !/sans/i.test(first)) ? 'serif' : 'sans';
  const safe = SAFE[kind];
  if (own === undefined || safe.toLowerCase().includes(own.toLowerCase())) return safe;
  return `${/[ \d]/.test(own) ? `'${own}'` : own}, ${safe}`;
}

const clampRadius = (radius) => Math.max(0, Math.min(RADIUS_MAX, Math.round(radius)));

function formOf(buttons, accent) {
  const mine = buttons.filter(({ ground, border }) => (ground ?? border) === accent).sort((a, b) => b.area - a.area);
  const button = mine[0] ?? buttons[0];
  if (button === undefined) return {};
  if (button.radius >= button.height / 2 - 1 && button.radius >= 8) return { buttonStyle: 'pill' };
  return { radius: clampRadius(button.radius), buttonStyle: button.ground === null ? 'outline' : 'solid' };
}

function scaleOf(styles) {
  const body = Number(merge(styles, 'sizes', /^\d{1,3}$/)[0]?.[0] ?? 16) || 16;
  const heading = Number.isFinite(styles[0].headingSize) ? styles[0].headingSize : 0; // of the start page
  if (heading === 0) return null;
  return heading / body >= 3.2 ? 'large' : heading / body < 2 ? 'small' : 'regular';
}

/** The theme of measured pages; members that were not found are left out. */
export function themeOf(styles, themeColour) {
  if (styles.length === 0) return {};
  const areas = merge(styles, 'areas', HEX);
  const texts = merge(styles, 'texts', /^#[0-9a-f]{6} #[0-9a-f]{6}$/);
  const links = merge(styles, 'links', /^#[0-9a-f]{6} #[0-9a-f]{6}$/);
  const buttons = buttonsOf(styles);
  const surface = surfaceOf(areas, texts);
  if (surface === null) return {};
  const onSurface = inkOn(texts, surface);
  const ink = onSurface[0]?.[0] ?? null;
  const accent = accentOf(buttons, links, areas, themeColour);
  const onAccent = buttons.filter(({ ground }) => ground === accent).sort((a, b) => b.area - a.area)[0]?.ink ?? null;
  const theme = {
    ground: groundOf(areas, surface, styles[0].page), surface, ink, muted: ink === null ? null : mutedOf(onSurface, ink, surface), accent, onAccent,
    headingFont: fontOf(styles, 'headingFonts') ?? fontOf(styles, 'bodyFonts'), bodyFont: fontOf(styles, 'bodyFonts'), scale: scaleOf(styles),
    ...formOf(buttons, accent),
  };
  return Object.fromEntries(Object.entries(theme).filter(([, value]) => value !== null));
}

function fontOf(styles, member) {
  const found = merge(styles, member, /^[^{}<>;]{1,400}$/)[0]?.[0];
  return found === undefined ? null : safeStack(found);
}

/** The neutral area that carries most text: painted points and characters count alike. */
function surfaceOf(areas, texts) {
  const points = areas.reduce((sum, [, value]) => sum + value, 0) || 1;
  const chars = texts.reduce((sum, [, value]) => sum + value, 0) || 1;
  const weights = new Map(areas.map(([hex, value]) => [hex, value / points]));
  for (const [key, value] of texts) weights.set(key.slice(8), (weights.get(key.slice(8)) ?? 0) + value / chars);
  const neutral = [...weights].filter(([hex]) => oklch(hex).chroma < 0.06 || GREY > oklch(hex).chroma).sort((a, b) => b[1] - a[1]);
  return neutral[0]?.[0] ?? null;
}
