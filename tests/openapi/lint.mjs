// The OpenAPI document against three checks: the meta-schema of OpenAPI 3.1, the recommended rules of a public linter, and its
// own schemas, which every example in it must satisfy. Errors and warnings both count.
//
//   lint.mjs OPENAPI_JSON
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { documentOf } from './document.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const file = process.argv[2];
if (!file) {
  console.error('usage: lint.mjs OPENAPI_JSON');
  process.exit(2);
}
const source = readFileSync(file, 'utf8');
const problems = [];

async function byMetaSchema() {
  const { valid, errors } = await new Validator().validate(JSON.parse(source));
  if (!valid) problems.push(...[errors].flat().map((error) => `meta-schema: ${error.instancePath ?? ''} ${error.message ?? error}`));
}

async function byLinter() {
  const config = await createConfig(readFileSync(join(here, 'redocly.yaml'), 'utf8'));
  for (const found of await lintFromString({ source, absoluteRef: file, config })) {
    problems.push(`linter: ${found.ruleId} (${found.severity}) ${found.location?.[0]?.pointer ?? ''}: ${found.message}`);
  }
}

// Every operation shows a request, where it takes one, and an answer; each example is what its schema says.
function byExamples() {
  const described = documentOf(JSON.parse(source));
  let count = 0;
  const check = (validate, value, where) => {
    count++;
    if (!validate(value)) problems.push(`example: ${where}: ${described.errorsText(validate)}`);
  };
  for (const [path, methods] of Object.entries(described.document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const pointer = ['paths', path, method];
      const where = `${method.toUpperCase()} ${path}`;
      operation.parameters.forEach((parameter, i) => {
        if (!parameter.required) return;
        check(described.at(...pointer, 'parameters', i, 'schema'), parameter.example, `${where} parameter ${parameter.name}`);
      });
      const shown = Object.entries(operation.requestBody?.content['application/json'].examples ?? {});
      if (operation.requestBody && shown.length === 0) problems.push(`example: ${where} shows no request`);
      for (const [name, { value }] of shown) {
        check(described.at(...pointer, 'requestBody', 'content', 'application/json', 'schema'), value, `${where} request ${name}`);
      }
      for (const status of Object.keys(operation.responses)) {
        const response = described.response(path, method, status);
        const answers = Object.entries(response.object.content['application/json'].examples ?? {});
        if (answers.length === 0) problems.push(`example: ${where} shows no answer ${status}`);
        for (const [name, { value }] of answers) check(response.validate, value, `${where} answer ${status} ${name}`);
      }
    }
  }
  return count;
}

await byMetaSchema();
await byLinter();
const examples = byExamples();
const operations = Object.values(JSON.parse(source).paths).flatMap(Object.keys).length;
for (const problem of problems) console.log(`FAILED ${problem}`);
console.log(`${operations + examples} passed, ${problems.length} failed (${operations} routes, ${examples} examples)`);
process.exit(problems.length === 0 && operations > 0 && examples > operations ? 0 : 1);
