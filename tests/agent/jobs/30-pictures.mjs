// Pictures: one is added to the library, found by words, made smaller, and a banner is drawn of HTML.

import assert from 'node:assert/strict';
import { extra, named, valued } from '../mistakes.mjs';

const HTML = '<div style="padding:40px;background:#0a7f5a;color:#ffffff">Copper week</div>';

export default {
  title: 'Pictures: add, search, resize, draw',
  brief: (place) => `Add ${place.places.sites.picture} to our picture library, find it there as "copper teapot", and give me a copy that is 320 pixels wide. Draw this as a banner of 600 pixels: ${HTML}`,
  given: (place) => ({ imageUrl: place.places.sites.picture, q: 'copper teapot', width: 320, html: HTML, bannerWidth: 600 }),
  needs: ['content.addImage', 'brand.searchImages', 'content.resize', 'content.htmlToPng'],
  isPublic: true,
  calls: 4,
  seed: () => {},

  async golden(assistant, { imageUrl, q, width, html, bannerWidth }) {
    await assistant.call('content.addImage', { imageUrl });
    const { data } = await assistant.call('brand.searchImages', { q });
    const copy = await assistant.call('content.resize', { operation: 'resize', imageUrl: data[0].url, width });
    const banner = await assistant.call('content.htmlToPng', { html, width: bannerWidth });
    return `The copy is ${copy.url} with ${copy.width} by ${copy.height} pixels, the banner ${banner.url} with ${banner.width} pixels.`;
  },
  answer: [/320 by 200 pixels/],

  async check(place) {
    const { data } = await place.rest('GET', '/v1/brand/images');
    const kinds = data.map(({ kind, width }) => `${kind} ${width}`);
    for (const kind of ['brand 640', 'generated 320', 'generated 600']) assert.ok(kinds.includes(kind), `${kind} of ${kinds}`);
  },

  mistakes: {
    'content.addImage': [named('imageUrl', 'url'), named('imageUrl', 'image_url'), named('imageUrl', 'src')],
    'brand.searchImages': [named('q', 'query'), extra('kind', 'photo', 'brand'), extra('limit', 1000, 100)],
    'content.resize': [valued('width', '320px', 320), valued('operation', 'Resize'), named('width', 'maxWidth'), named('imageUrl', 'image'), valued('width', '320')],
    'content.htmlToPng': [named('html', 'content'), named('html', 'source'), named('width', 'widthPx')],
  },
};
