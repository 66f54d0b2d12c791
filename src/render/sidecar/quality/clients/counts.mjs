// Counts of the places that each transform has changed, and the list of a result.

import { clientSupport } from '../client_support.mjs';

/** The transforms that are not features of caniemail.com. */
export const OWN_TRANSFORMS = Object.freeze({
  'word-comments': 'Conditional comments for Outlook',
  'office-markup': 'Elements and settings of Office',
  vml: 'Shapes of VML',
  'style-size': 'Size of style sheets',
  'inversion-partial': 'Inversion of light backgrounds and dark texts',
  'inversion-full': 'Inversion of all colours',
  'images-off': 'Blocked images',
  'plain-text': 'Plain text only',
});

export class Counts {
  #places = new Map();

  add(id, places = 1) {
    if (places > 0) this.#places.set(id, (this.#places.get(id) ?? 0) + places);
  }

  /** [{ id, label, places, testedOn }]: the transforms with the most places first. `testedOn` is the day of the newest test of a feature. */
  list() {
    const rows = [...this.#places].map(([id, places]) => {
      const feature = clientSupport().get(id);
      return feature ? { id, label: feature.title, places, testedOn: feature.testedOn } : { id, label: OWN_TRANSFORMS[id], places };
    });
    return rows.sort((a, b) => b.places - a.places || (a.id < b.id ? -1 : 1));
  }
}
