// A browser that draws the gallery: the emails are given to it as they are, and it has no network.

import puppeteer from 'puppeteer-core';

const BROWSER = '/usr/bin/chromium-headless-shell'; // tests/setup.sh installs it
const NO_NETWORK = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND', '--font-render-hinting=none'];

/** Opens a browser; the caller closes it. */
export const openBrowser = () => puppeteer.launch({ executablePath: BROWSER, args: NO_NETWORK });

/** A page that shows `html` at a width, light or dark, on a screen tall enough for nothing to be out of view. */
export async function showEmail(browser, html, view) {
  const page = await browser.newPage();
  await setView(page, view);
  await page.setContent(html, { waitUntil: 'load' });
  return page;
}

/** Lays the page out again for another screen. */
export async function setView(page, { width, scheme, height = 800 }) {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
}

/** The size at which a browser draws a picture. */
export async function pictureSize(browser, bytes, type) {
  const page = await browser.newPage();
  try {
    return await page.evaluate(async (url) => {
      const picture = new Image();
      picture.src = url;
      await picture.decode();
      return { width: picture.naturalWidth, height: picture.naturalHeight };
    }, `data:${type};base64,${Buffer.from(bytes).toString('base64')}`);
  } finally {
    await page.close();
  }
}
