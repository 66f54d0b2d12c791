// Composes, draws and judges every brief for every brand: 60 by 4. Ends with status 1 when there is a finding.
//
//   bash -c '. tests/node22.sh && npm_tree tests/gallery tests/gallery && "$NODE" tests/gallery/designs/main.mjs [id…]'

import { CATEGORIES, Designs, brands, briefs } from './designs.mjs';
import { judge, layoutOf } from './judge.mjs';
import { openBrowser } from './screen.mjs';

const LAYOUTS = 3;

const wanted = process.argv.slice(2);
const designs = new Designs(process.env.DESIGN_BUILD);
const browser = await openBrowser();
const findings = [];
const layouts = new Map(CATEGORIES.map((category) => [category, new Set()]));
let count = 0;
try {
  for (const brief of briefs.filter(({ id }) => wanted.length === 0 || wanted.includes(id))) {
    for (const brand of brands) {
      const design = await designs.make(brief, brand);
      const found = await judge(browser, design);
      for (const finding of found) console.log(finding);
      findings.push(...found);
      if (design.document.category !== brief.expect) findings.push(`${design.name}: ${design.document.category}, not ${brief.expect}`);
      layouts.get(design.document.category).add(layoutOf(design));
      count++;
    }
  }
} finally {
  await browser.close();
  designs.close();
}
for (const [category, found] of layouts) {
  if (wanted.length === 0 && found.size < LAYOUTS) findings.push(`${category}: ${found.size} layouts`);
}
const least = Math.min(...[...layouts.values()].map(({ size }) => size));
console.log(`${count} designs, ${findings.length} findings${wanted.length === 0 ? `, at least ${least} layouts of a category` : ''}`);
process.exitCode = findings.length === 0 ? 0 : 1;
