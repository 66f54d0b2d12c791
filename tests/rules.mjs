// The numbered rules of the contract (R-…): which are due, what declares them, which tests name them. schemas/rules.json has
// their texts. tests/rules.json has what only the tests need: the unbuilt operations a rule waits for (waitFor), and why a rule
// has no test for another reason (reasons). A rule that none of these and no declaration mentions binds every call, and is
// always due.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { loadCatalogue, operationsOf } from './cases/runner/catalogue.mjs';
import { loadRuleTexts } from './citations.mjs';

// Rules of the agent protocol that hold whatever tools are built.
const OF_EVERY_TOOL = ['R-415', 'R-416', 'R-417', 'R-418', 'R-419', 'R-420', 'R-421', 'R-422', 'R-468', 'R-469'];

const TEST_FACTS = 'tests/rules.json';

/** The facts of tests/rules.json. An unknown member, rule or operation is an error that names file and line. */
export function loadTestFacts(root, catalogue, rules) {
  const text = readFileSync(join(root, TEST_FACTS), 'utf8');
  const refuse = (name, why) => {
    throw new Error(`${TEST_FACTS}:${text.slice(0, text.indexOf(`"${name}"`)).split('\n').length}: ${why}`);
  };
  const facts = JSON.parse(text);
  for (const name of Object.keys(facts)) if (!['waitFor', 'reasons'].includes(name)) refuse(name, `unknown member ${name}`);
  for (const name of [facts.waitFor, facts.reasons].flatMap(Object.keys)) {
    if (!rules.has(name)) refuse(name, `${name} is not in schemas/rules.json`);
  }
  for (const [name, ids] of Object.entries(facts.waitFor)) {
    for (const id of ids) if (!catalogue.operations.has(id)) refuse(name, `${name} waits for the unknown operation ${id}`);
  }
  return facts;
}

/** Map of rule → {area, text, by: built declarers, awaited: unbuilt ones, reason, tests, isDue}, in the order of the numbers. */
export function loadRules(root) {
  const catalogue = loadCatalogue(root);
  const rules = new Map();
  for (const { id, area, text } of loadRuleTexts(root).values()) {
    if (id.startsWith('R-')) rules.set(id, { area, text, by: new Set(), awaited: new Set(), reason: undefined, tests: new Set() });
  }
  const { waitFor, reasons } = loadTestFacts(root, catalogue, rules);
  for (const [name, reason] of Object.entries(reasons)) rules.get(name).reason = reason;

  const declare = (names, who, isBuilt) => {
    for (const name of names ?? []) rules.get(name)?.[isBuilt ? 'by' : 'awaited'].add(who);
  };
  for (const operation of catalogue.operations.values()) declare(operation.rules, operation.id, operation.built);
  const isBuiltTool = (tool) => operationsOf(tool).some((id) => catalogue.operations.get(id)?.built);
  for (const tool of catalogue.tools) declare(tool.rules, tool.name, isBuiltTool(tool));
  declare(OF_EVERY_TOOL, 'every tool', true);
  for (const [name, ids] of Object.entries(waitFor)) {
    for (const id of ids) declare([name], id, catalogue.operations.get(id).built);
  }

  for (const [name, tests] of testsByRule(root)) if (rules.has(name)) rules.get(name).tests = tests;
  for (const rule of rules.values()) rule.isDue = rule.by.size > 0 || (rule.awaited.size === 0 && rule.reason === undefined);
  return rules;
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
