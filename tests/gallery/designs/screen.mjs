// A browser for designs: pictures of the network are drawn here, in place of a connection.

import { openBrowser, setView } from '../browser.mjs';

const WIDE = 600;

/** A logo is a word in its colour, every other picture a soft landscape that its address chooses. */
function drawPicture(url) {
  const seed = [...url].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) >>> 0, 7);
  if (url.endsWith('logo.png')) {
    return '<svg xmlns="http://www.w3.org/2000/svg" width="280" height="72"><circle cx="36" cy="36" r="30" fill="#c58a2d"/>'
      + '<rect x="84" y="24" width="180" height="24" rx="12" fill="#8d8f98"/></svg>';
  }
  const hue = seed % 360;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="800" viewBox="0 0 600 400"><defs><linearGradient id="g" x2="0" y2="1">`
    + `<stop stop-color="hsl(${hue},45%,82%)"/><stop offset="1" stop-color="hsl(${(hue + 40) % 360},40%,64%)"/></linearGradient></defs>`
    + `<rect width="600" height="400" fill="url(#g)"/><circle cx="${120 + (seed % 360)}" cy="130" r="58" fill="hsl(${(hue + 60) % 360},55%,90%)"/>`
    + `<path d="M0 300 Q150 ${180 + (seed % 80)} 300 290 T600 260 V400 H0Z" fill="hsl(${hue},30%,42%)"/></svg>`;
}

function answer(request) {
  const url = request.url();
  if (!url.startsWith('http')) return request.continue();
  return request.respond({ status: 200, contentType: 'image/svg+xml', body: drawPicture(url) });
}

export { openBrowser, setView };

/** A page that shows the email; the caller closes it. */
export async function show(browser, html, view = { width: WIDE, scheme: 'light' }) {
  const page = await browser.newPage();
  await page.setRequestInterception(true);
  page.on('request', answer);
  await setView(page, view);
  await page.setContent(html, { waitUntil: 'load' });
  return page;
}

/** The whole email as a picture. */
export async function picture(page, view, options = {}) {
  await setView(page, view);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await setView(page, { ...view, height });
  return page.screenshot({ captureBeyondViewport: false, ...options });
}
