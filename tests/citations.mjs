// Finds citations of rules (R-…) and of decisions (D-…, A-…) that schemas/rules.json does not have.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const PLACES = ['CMakeLists.txt', 'README.md', 'docs', 'examples', 'include', 'schemas', 'src', 'tests', 'tools'];
const NOT_OURS = new Set(['node_modules', 'build', 'package-lock.json', 'corpus']);
const CITATION = /(?<![\w-])[RDA]-\d{2,}(?!\w)/g;

function* filesBelow(root, name) {
  const path = join(root, name);
  if (!existsSync(path)) return;
  if (!statSync(path).isDirectory()) yield name;
  else for (const entry of readdirSync(path).sort()) if (!NOT_OURS.has(entry)) yield* filesBelow(root, join(name, entry));
}

/** The rules and decisions of a tree: id → {id, area, text, question}. */
export function loadRuleTexts(root) {
  const { rules } = JSON.parse(readFileSync(join(root, 'schemas/rules.json'), 'utf8'));
  return new Map(rules.map((rule) => [rule.id, rule]));
}

/** Every citation below the root of an id that `known` does not have, as {file, line, id}. */
export function danglingCitations(root, known) {
  const dangling = [];
  for (const file of PLACES.flatMap((place) => [...filesBelow(root, place)])) {
    const text = readFileSync(join(root, file), 'latin1');
    if (text.includes('\0')) continue; // an image or another file without lines
    for (const match of text.matchAll(CITATION)) {
      if (known.has(match[0])) continue;
      dangling.push({ file, line: text.slice(0, match.index).split('\n').length, id: match[0] });
    }
  }
  return dangling;
}
