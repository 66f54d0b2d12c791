// The declarations, as the runner needs them: which operation has which route, which tool reaches it, how its answer looks.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : entry.name.endsWith('.json') ? [path] : [];
  });
}

export function loadCatalogue(root) {
  const operations = new Map();
  for (const file of filesBelow(join(root, 'schemas/operations'))) {
    for (const operation of readJson(file)) operations.set(operation.id, operation);
  }
  const resources = new Map();
  for (const file of filesBelow(join(root, 'schemas/resources'))) {
    resources.set(file.split('/').pop(), readJson(file));
  }
  const tools = filesBelow(join(root, 'tools')).map(readJson).filter((tool) => tool.name && operationsOf(tool).length > 0);
  return { operations, resources, tools, errors: readJson(join(root, 'schemas/errors.json')) };
}

// Every operation that a tool may run.
export function operationsOf(tool) {
  const { values = {}, present = {}, otherwise } = tool.chooseBy ?? {};
  return [tool.run, ...Object.values(values), ...Object.values(present), otherwise].flat().filter(Boolean);
}

// Whether the tool takes detail: it only reads, or it answers with lists of rows that are grouped.
export function takesDetail(catalogue, tool) {
  const shapeOf = (id) => catalogue.resources.get(`${catalogue.operations.get(id).result}.json`);
  return tool.hints.readOnly || operationsOf(tool).some((id) => catalogue.operations.get(id).built && shapeOf(id)?.view?.grouped);
}

// The tool that reaches an operation, with the argument that chooses it.
export function toolFor(catalogue, operationId) {
  for (const tool of catalogue.tools) {
    const chosen = Object.entries(tool.chooseBy?.values ?? {}).find(([, id]) => id === operationId);
    if (chosen) return { tool, choose: { [tool.chooseBy.argument]: chosen[0] } };
    if (operationsOf(tool).includes(operationId)) return { tool, choose: {} };
  }
  return null;
}

// Flat arguments as a REST request: path, query and body by the declaration; what is unknown goes where it would be sent.
export function asRequest(operation, args) {
  const [method, pattern] = (operation.route ?? operation.outside).split(' ');
  const rest = { ...args };
  const path = pattern.replace(/\{(\w+)\}/g, (_, name) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(value ?? '');
  });
  const query = new URLSearchParams();
  const takesBody = ['POST', 'PUT', 'PATCH'].includes(method);
  for (const [name, value] of Object.entries(rest)) {
    if (operation.query?.[name] === undefined && takesBody) continue;
    query.append(name, Array.isArray(value) ? value.join(',') : String(value));
    delete rest[name];
  }
  const tail = query.size > 0 ? `?${query}` : '';
  return { method, path: path + tail, body: takesBody ? rest : undefined };
}
