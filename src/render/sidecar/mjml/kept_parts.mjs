// <mj-kept>: a part of the body whose HTML mjml makes once. The element exists in sources of our own only (../document). A part must not
// depend on its neighbours: mjml makes its HTML from the part, the width of the body and the default attributes.

import { BodyComponent } from '#libraries/mjml';

const TAG = 'mj-kept';

/**
 * @typedef {{parts: string[], queries: [string, object][], styles: [string, string][]}} KeptPart the HTML, divided at its template
 *   expressions, and what the part adds to the head: media queries, and style sheets of components
 * @typedef {{get: (name: string) => KeptPart|undefined, set: (name: string, part: KeptPart) => void}} Kept
 */

/**
 * The preset of mjml with the element: a part that is known has no contents in the source.
 * @param {Kept} kept
 * @param {{split: (text: string) => string[], join: (parts: string[]) => string}} mask of the template expressions of the source
 */
export function keptPreset(kept, mask) {
  class KeptPart extends BodyComponent {
    render() {
      const name = this.getAttribute('name');
      const known = kept.get(name);
      return known === undefined ? this.#make(name) : this.#repeat(known);
    }

    #repeat({ parts, queries, styles }) {
      for (const [className, query] of queries) this.context.addMediaQuery(className, query);
      for (const [component, css] of styles) this.context.addHeadStyle(component, () => css);
      return mask.join(parts);
    }

    #make(name) {
      const { context } = this;
      const queries = [];
      const styles = [];
      this.context = {
        ...context,
        addMediaQuery(className, query) {
          queries.push([className, query]);
          context.addMediaQuery(className, query);
        },
        addHeadStyle(component, style) {
          styles.push([component, style(context.globalData.breakpoint)]);
          context.addHeadStyle(component, style);
        },
      };
      const html = this.renderChildren();
      kept.set(name, { parts: mask.split(html), queries, styles });
      return html;
    }
  }
  KeptPart.componentName = TAG;
  KeptPart.allowedAttributes = { name: 'string' };
  return { components: [KeptPart], dependencies: {} };
}
