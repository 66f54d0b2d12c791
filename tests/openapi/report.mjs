// Adds up what the tests of a run checked: fails when an answer disagreed with the OpenAPI document, or when none was checked.
//
//   report.mjs REPLIES_LOG
import { existsSync, readFileSync } from 'node:fs';

const [file] = process.argv.slice(2);
const lines = file && existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse) : [];
const routes = new Set();
const forms = new Set();
let checked = 0;
let disagreements = 0;
for (const line of lines) {
  checked += line.checked;
  disagreements += line.disagreements.length;
  for (const name of Object.keys(line.answers)) {
    if (name.includes('(not served)')) continue;
    forms.add(name);
    routes.add(name.slice(0, name.lastIndexOf(' ')));
  }
  for (const said of line.disagreements) console.log(`FAILED ${said}`);
}
console.log(`${checked - disagreements} passed, ${disagreements} failed (replies of ${routes.size} routes, ${forms.size} kinds of answers)`);
process.exit(checked > 0 && disagreements === 0 ? 0 : 1);
