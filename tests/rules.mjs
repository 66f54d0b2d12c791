// The numbered rules of the contract (R-…): which are due, what declares them, which tests name them. rules.json says which
// rules there are, by area; what an unbuilt operation must be there for (waitFor); and why a rule is not covered for another
// reason. A rule that none of these and no declaration mentions binds every call, and is due always.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalogue, operationsOf } from './cases/runner/catalogue.mjs';

// Rules of the agent protocol that hold whatever tools are built.
const OF_EVERY_TOOL = ['R-415', 'R-416', 'R-417', 'R-418', 'R-419', 'R-420', 'R-421', 'R-422', 'R-468', 'R-469'];

const ruleName = (number) => `R-${String(number).padStart(3, '0')}`;

/** Map of rule → {area, by: built declarers, awaited: unbuilt ones, reason, tests, isDue}, in the order of the numbers. */
export function loadRules(root) {
  const catalogue = loadCatalogue(root);
  const { areas, waitFor, reasons } = JSON.parse(readFileSync(join(root, 'tests/rules.json'), 'utf8'));
  const rules = new Map();
  const ruleOf = (name) => {
    if (!rules.has(name)) rules.set(name, { area: '', by: new Set(), awaited: new Set(), reason: reasons[name], tests: new Set() });
    return rules.get(name);
  };
  for (const { from, to, area } of areas) for (let number = from; number <= to; number++) ruleOf(ruleName(number)).area = area;
  const listed = new Set(rules.keys());

  const declare = (names, who, isBuilt) => {
    for (const name of names ?? []) if (isBuilt || listed.has(name)) ruleOf(name)[isBuilt ? 'by' : 'awaited'].add(who);
  };
  for (const operation of catalogue.operations.values()) declare(operation.rules, operation.id, operation.built);
  const isBuiltTool = (tool) => operationsOf(tool).some((id) => catalogue.operations.get(id)?.built);
  for (const tool of catalogue.tools) declare(tool.rules, tool.name, isBuiltTool(tool));
  declare(OF_EVERY_TOOL, 'every tool', true);
  for (const [name, ids] of Object.entries(waitFor)) {
    for (const id of ids) {
      const operation = catalogue.operations.get(id);
      if (!operation || !listed.has(name)) throw new Error(`tests/rules.json: ${name} waits for ${id}, which is not there`);
      declare([name], id, operation.built);
    }
  }

  for (const [name, tests] of testsByRule(root)) if (rules.has(name)) rules.get(name).tests = tests;
  for (const rule of rules.values()) rule.isDue = rule.by.size > 0 || (rule.awaited.size === 0 && rule.reason === undefined);
  return new Map([...rules].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const NOT_TESTS = /node_modules|^(requirements|rules)\.mjs$|^mutations\//;

/** A case names its rules; other tests name them in a title or in the comment above. */
function testsByRule(root) {
  const tests = new Map();
  const tie = (rule, test) => tests.set(rule, (tests.get(rule) ?? new Set()).add(test));
  for (const file of readdirSync(join(root, 'tests'), { recursive: true }).sort()) {
    if (NOT_TESTS.test(file) || !/\.(json|mjs|c|sh)$/.test(file)) continue;
    const text = readFileSync(join(root, 'tests', file), 'utf8');
    if (file.startsWith('cases/') && file.endsWith('.json')) {
      const { name, rules } = JSON.parse(text);
      for (const rule of rules ?? []) tie(rule, `${file} (${name})`);
    } else if (!file.endsWith('.json')) {
      for (const [rule] of text.matchAll(/R-\d{3}/g)) tie(rule, file);
    }
  }
  return tests;
}
