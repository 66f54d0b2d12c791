// Operations that have no tool: an assistant that can also send HTTP requests calls them over REST. Here they have the form of tools, so
// every player plays them: a call's arguments are members of the path, the query or the body, and `brandId` is the header.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILES = ['brands', 'content'];
const FOLDER = join(import.meta.dirname, '../../schemas/operations');
const DECLARED = FILES.flatMap((name) => JSON.parse(readFileSync(join(FOLDER, `${name}.json`), 'utf8')));

/** In a query every value is a text, so none is of a wrong type; a list of values stays one. */
const untyped = (query) => Object.fromEntries(Object.entries(query).map(([name, property]) => [name, { ...property, type: property.type === 'integer' ? 'integer' : undefined }]));

const asTool = ({ id, mode, query = {}, body = {} }) => ({
  name: id,
  inputSchema: { type: 'object', properties: { brandId: { type: 'string' }, ...untyped(query), ...body } },
  annotations: { readOnlyHint: mode === 'read', destructiveHint: false },
});

export const OPERATIONS = DECLARED.filter(({ reach, built }) => reach === 'brand' && built).map(asTool);

const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Calls an operation of this name: the answering message as MCP has it. Undefined when there is no such operation. */
export async function callOperation(http, name, { brandId, ...args }) {
  const declared = DECLARED.find(({ id }) => id === name);
  if (declared === undefined) return undefined;
  const [method, path] = declared.route.split(' ');
  const headers = brandId === undefined ? {} : { 'x-brand-id': text(brandId) };
  const query = new URLSearchParams(Object.entries(args).map(([key, value]) => [key, text(value)]));
  const { status, body } = method === 'GET' ? await http.get(`${path}?${query}`, headers) : await http.request(method, path, args, headers);
  return { result: { isError: status >= 400, structuredContent: body, content: [{ type: 'text', text: JSON.stringify(body) }] } };
}
