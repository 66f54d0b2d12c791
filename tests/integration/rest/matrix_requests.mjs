// Every bad request that the declarations make possible, and what must be said to it. Expectations come from the declaration of
// the operation and from the contract's order of checks: route, credential, rate, session and organization rules, brand,
// scope, idempotency key, body, built. Nothing here knows how the server decides.

import { badQueryValues, badValues, objectsWithin, requiredOf, sample } from './matrix_values.mjs';

const refusal = (status, code, param) => ({ status, code, param });
const invalid = (param) => refusal(400, 'INVALID_REQUEST', param);
// A fault of one row of a batch fails that row, not the call (D-143).
const FAILED_ROW = { status: 200, failsRow: true };
const MUTABLE = ['POST', 'PUT', 'PATCH'];
const QUERY_MAX_PAIRS = 64;
const KEY_MAX_CHARS = 100;
const DRAINED_BYTES = 16 * 1024 * 1024;

export const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The operations of a route, in the order in which they are tried. */
export function routesOf(catalogue) {
  const routes = new Map();
  for (const operation of catalogue.operations.values()) {
    if (operation.route === null) continue;
    const [method, path] = operation.route.split(' ');
    const route = routes.get(operation.route) ?? { method, path, operations: [] };
    route.operations.push(operation);
    routes.set(operation.route, route);
  }
  return [...routes.values()];
}

function holds({ when }, query, body) {
  if (when === undefined) return true;
  const given = { ...query, ...(typeof body === 'object' && !Array.isArray(body) ? body : null) };
  if (when.present !== undefined) return given[when.present] !== undefined && given[when.present] !== null;
  return Object.entries(when.equals).every(([name, value]) => given[name] === value);
}

const chosen = (route, query, body) => route.operations.find((operation) => holds(operation, query, body));

export class Requests {
  #made = [];
  #failedRows = [];

  /** `fixture`: keys, brands and ids; see matrix_fixture.mjs. `policies`: the declared ones. */
  constructor(fixture, policies) {
    this.fixture = fixture;
    this.policies = policies;
  }

  // ---- Requests of an operation ----

  #ids = (kind) => this.fixture.ids.own[kind] ?? this.fixture.unknownId(kind);

  #sample(name, schema) {
    return this.fixture.ids.own[this.fixture.kindOf(name, schema)] ?? sample(schema, name, this.#ids);
  }

  /** What the operation cannot do without: {path, query, body} of values that its declaration accepts. */
  base(operation) {
    const named = (parameters = {}) => Object.entries(parameters)
      .filter(([name]) => operation.required?.includes(name) || name === operation.when?.present)
      .map(([name, schema]) => [name, this.#sample(name, schema)]);
    const path = Object.entries(operation.path ?? {}).map(([name, schema]) => [name, this.#sample(name, schema)]);
    const body = { ...Object.fromEntries(named(operation.body)), ...operation.when?.equals };
    const means = operation.when?.present;
    if (means !== undefined && !operation.query?.[means]) body[means] ??= 'x'; // of one that is not declared yet
    return { path: Object.fromEntries(path), query: Object.fromEntries(named(operation.query)), body };
  }

  /** Who passes every check before the body. */
  #admitted(operation) {
    if (operation.reach === 'public') return {};
    if (operation.reach === 'session') return this.fixture.session();
    return operation.reach === 'brand' ? this.fixture.keys.brand : this.fixture.keys.organization;
  }

  /** What is answered to somebody who passes the checks before it, if what comes behind them is refused so. */
  #behindChecks(operation, expected) {
    // An operation that is not built checks its arguments all the same.
    return operation.built || [400, 413].includes(expected.status) ? expected : refusal(501, 'NOT_IMPLEMENTED');
  }

  #add(kind, what, operation, { path, query, body, headers }, expected) {
    const base = this.base(operation);
    const [method, pattern] = operation.route.split(' ');
    const values = { ...base.path, ...path };
    const target = pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]));
    const asked = typeof query === 'string' ? query : new URLSearchParams({ ...base.query, ...query }).toString();
    const sent = body ?? (MUTABLE.includes(method) ? base.body : undefined);
    const request = { what, operation, method, target: asked === '' ? target : `${target}?${asked}`, body: sent, headers, expected };
    if (expected.failsRow) this.#failedRows.push({ ...request, kind: 'failed row' });
    else this.#made.push({ ...request, kind });
  }

  #addBehind(kind, what, operation, request, expected) {
    const headers = { ...this.#admitted(operation), ...request.headers };
    this.#add(kind, what, operation, { ...request, headers }, this.#behindChecks(operation, expected));
  }

  take() {
    return this.#made.splice(0);
  }

  /** The requests of which one row is refused, and not the call. */
  takeFailedRows() {
    return this.#failedRows.splice(0);
  }

  // ---- Who asks ----

  credentials(operation) {
    if (operation.reach === 'public') return;
    for (const [what, headers, code] of this.fixture.strangers) {
      this.#add('credential', what, operation, { headers }, refusal(401, code));
      this.#add('order', `${what}, and a malformed body in a brand not named`, operation, { headers, body: '{' }, refusal(401, code));
    }
    const few = operation.reach === 'brand' ? this.fixture.keys.spentBrand : this.fixture.keys.spent;
    if (operation.policy === undefined) return;
    const stranger = { 'x-brand-id': 'nonsense' };
    this.#add('rate', 'a spent window', operation, { headers: few }, refusal(429, 'RATE_LIMITED'));
    this.#add('rate', 'a spent window, another brand, a malformed body', operation, { headers: { ...few, ...stranger }, body: '{' },
      refusal(429, 'RATE_LIMITED'));
  }

  scopes(operation) {
    const { keys, brands } = this.fixture;
    if (operation.reach === 'session') {
      for (const [what, headers] of [['a brand key', keys.brand], ['an organization key', keys.organization], ['a member', this.fixture.member()]]) {
        this.#add('session', what, operation, { headers }, refusal(403, 'INSUFFICIENT_ROLE', 'org_admin'));
        this.#add('order', `${what}, a malformed body`, operation, { headers, body: '{' }, refusal(403, 'INSUFFICIENT_ROLE', 'org_admin'));
      }
      return;
    }
    if (operation.organizationKey) {
      for (const headers of [keys.brand, keys.scoped.sendsOfBrand]) {
        this.#add('organization', 'a brand key', operation, { headers, body: '{' }, refusal(403, 'ORG_SCOPE_REQUIRED'));
      }
      this.#add('organization', 'a member', operation, { headers: this.fixture.member(), body: '{' }, refusal(403, 'INSUFFICIENT_ROLE', 'org_admin'));
    }
    if (operation.scope === undefined) return;
    const lacking = refusal(403, 'INSUFFICIENT_PERMISSIONS', operation.scope);
    const satisfying = (scope) => scope === operation.scope || this.policies.scopes[scope].implies.includes(operation.scope);
    for (const scope of Object.keys(this.policies.scopes).filter((one) => !satisfying(one))) {
      const headers = { ...keys.scoped[scope], ...(operation.reach === 'brand' && { 'x-brand-id': brands.own }) };
      this.#add('scope', `a key for ${scope}`, operation, { headers }, lacking);
      this.#add('order', `a key for ${scope}, a long idempotency key, a malformed body`, operation,
        { headers: { ...headers, 'idempotency-key': 'k'.repeat(KEY_MAX_CHARS + 1) }, body: '{' }, lacking);
      if (operation.reach === 'brand') {
        this.#add('order', `a key for ${scope}, no brand`, operation, { headers: keys.scoped[scope] }, refusal(400, 'BRAND_ID_REQUIRED'));
      }
    }
  }

  brand(operation) {
    const { keys, brands } = this.fixture;
    const naming = (key, brand) => ({ ...key, 'x-brand-id': brand });
    if (operation.reach === 'organization') {
      // An organization's routes take no brand, and one that is sent is nobody's business.
      const headers = naming(keys.organization, 'nonsense');
      this.#addBehind('brand', 'a brand where none is needed', operation, { headers, query: 'nonsense=1' }, invalid('nonsense'));
    }
    if (operation.reach !== 'brand') return;
    this.#add('brand', 'none named', operation, { headers: keys.organization }, refusal(400, 'BRAND_ID_REQUIRED'));
    this.#add('order', 'no brand, a malformed body', operation, { headers: keys.organization, body: '{' }, refusal(400, 'BRAND_ID_REQUIRED'));
    for (const [what, brand] of Object.entries({ 'of another organization': brands.foreign, unknown: brands.unknown, nonsense: 'nonsense' })) {
      this.#add('brand', what, operation, { headers: naming(keys.organization, brand) }, refusal(404, 'BRAND_NOT_FOUND'));
      this.#add('brand', `${what}, by a brand key`, operation, { headers: naming(keys.brand, brand) }, refusal(403, 'BRAND_SCOPE_MISMATCH'));
    }
    // An empty header names none.
    this.#add('brand', 'empty', operation, { headers: naming(keys.organization, '') }, refusal(400, 'BRAND_ID_REQUIRED'));
    const member = this.fixture.member();
    this.#add('brand', 'none named, by a member', operation, { headers: member }, refusal(400, 'BRAND_ID_REQUIRED'));
    this.#add('brand', 'one that the member may not reach', operation, { headers: naming(member, brands.other), body: '{' },
      refusal(403, 'INSUFFICIENT_ROLE', 'member'));
    this.#add('brand', 'another one of the organization, by a brand key', operation, { headers: naming(keys.brand, brands.other) },
      refusal(403, 'BRAND_SCOPE_MISMATCH'));
  }

  // ---- Keys ----

  keys(operation) {
    const [method] = operation.route.split(' ');
    const takesBody = operation.body !== undefined;
    const query = (what, text, param) => this.#addBehind('query key', what, operation, { query: text }, invalid(param));
    query('unknown', { nonsense: 1 }, 'nonsense');
    query('brandId, before an unknown one', { brandId: 'x', nonsense: 1 }, 'brandId');
    query('brandId', { brandId: this.fixture.brands.own }, 'brandId');
    for (const name of Object.keys(operation.path ?? {})) query('a path parameter', { [name]: 'x' }, name);
    for (const name of Object.keys(operation.body ?? {})) if (!operation.query?.[name]) query('a body parameter', { [name]: 'x' }, name);
    for (const name of Object.keys(operation.query ?? {})) {
      if (snakeCase(name) !== name) query('snake_case', { [snakeCase(name)]: 'x' }, snakeCase(name));
    }

    const base = this.base(operation).body;
    const body = (what, object, param) => this.#addBehind('body key', what, operation, { body: object }, invalid(param));
    body(MUTABLE.includes(method) ? 'unknown' : 'unknown, where no body is taken', { ...base, nonsense: 1 }, 'nonsense');
    body('dry_run', { ...base, dry_run: true }, 'dry_run');
    if (!operation.body?.brandId) body('brandId', { ...base, brandId: this.fixture.brands.own }, 'brandId');
    for (const name of Object.keys({ ...operation.path, ...operation.query })) {
      if (!operation.body?.[name]) body('a parameter of path or query', { ...base, [name]: 'x' }, name);
    }
    if (!takesBody) return;
    for (const name of Object.keys(operation.body)) {
      if (snakeCase(name) !== name) body('snake_case', { ...base, [snakeCase(name)]: 'x' }, snakeCase(name));
    }
    for (const [name, schema] of Object.entries(operation.body)) {
      for (const { schema: object, param, wrap } of objectsWithin(schema, name, this.#ids)) {
        const required = requiredOf(object, this.#ids);
        const isInRow = schema.rows && param !== `${name}.0`;
        const within = (what, key) => this.#addBehind('body key', what, operation,
          { body: { ...base, [name]: wrap({ ...required, [key]: 'x' }) } }, isInRow ? FAILED_ROW : invalid(`${param}.${key}`));
        within('unknown, within', 'nonsense');
        within('brandId, within', 'brandId');
        for (const member of Object.keys(object.properties)) if (snakeCase(member) !== member) within('snake_case, within', snakeCase(member));
      }
    }
  }

  // ---- Values ----

  /** A fault that makes the route mean another operation is that operation's. */
  #addValue(kind, what, route, operation, request, param) {
    const base = this.base(operation);
    const [query, body] = [{ ...base.query, ...request.query }, { ...base.body, ...request.body }];
    for (const name of request.without ?? []) {
      delete query[name];
      delete body[name];
    }
    if (chosen(route, query, body) !== operation) return;
    const asked = new URLSearchParams(query).toString();
    this.#addBehind(kind, what, operation, { path: request.path, query: asked, body: operation.body ? body : undefined },
      this.#isOfRow(operation, param) ? FAILED_ROW : invalid(param));
  }

  #isOfRow(operation, param) {
    const [name, ...inner] = param.split('.');
    return inner.length > 0 && operation.body?.[name]?.rows === true;
  }

  values(route, operation) {
    const base = this.base(operation);
    for (const [name, schema] of Object.entries(operation.path ?? {})) {
      for (const [what, value] of badQueryValues(schema, name)) {
        if (value !== '') this.#addValue('path value', `${name} ${what}`, route, operation, { path: { [name]: value } }, name);
      }
    }
    for (const [name, schema] of Object.entries(operation.query ?? {})) {
      for (const [what, value, param] of badQueryValues(schema, name)) {
        this.#addValue('query value', `${name} ${what}`, route, operation, { query: { [name]: value } }, param);
      }
    }
    for (const [name, schema] of Object.entries(operation.body ?? {})) {
      for (const [what, value, param] of badValues(schema, name)) {
        this.#addValue('body value', `${name} ${what}`, route, operation, { body: { [name]: value } }, param);
      }
      for (const { schema: object, param, wrap } of objectsWithin(schema, name, this.#ids)) this.#membersWithin(route, operation, name, object, param, wrap);
    }
    for (const name of Object.keys({ ...base.query, ...base.body })) {
      if (operation.required?.includes(name)) this.#addValue('missing', name, route, operation, { without: [name] }, name);
    }
  }

  #membersWithin(route, operation, name, object, param, wrap) {
    const required = requiredOf(object, this.#ids);
    for (const [member, schema] of Object.entries(object.properties)) {
      for (const [what, value, inner] of badValues(schema, member)) {
        const body = { [name]: wrap({ ...required, [member]: value }) };
        this.#addValue('body value within', `${param}.${member} ${what}`, route, operation, { body }, `${param}.${inner}`);
      }
    }
    for (const member of object.required ?? []) {
      const { [member]: _, ...rest } = required;
      this.#addValue('missing within', `${param}.${member}`, route, operation, { body: { [name]: wrap(rest) } }, `${param}.${member}`);
    }
  }

  // ---- What cannot be read, of which the route's last operation is asked ----

  queries(route) {
    const operation = route.operations.find(({ when }) => when === undefined);
    const query = (what, text, param) => this.#addBehind('malformed query', what, operation, { query: text }, invalid(param));
    for (const name of ['nonsense', ...Object.keys(operation.query ?? {})]) {
      query('twice', `${name}=1&${name}=1`, name);
      query('a bad escape', `${name}=%zz`, name);
      query('half an escape', `${name}=%f`, name);
      query('invalid UTF-8', `${name}=%ff%fe`, name);
      query('a NUL', `${name}=a%00b`, name);
    }
    query('a bad escape in a name', '%zz=1', undefined);
    query('too many', Array.from({ length: QUERY_MAX_PAIRS + 1 }, (_, i) => `k${i}=1`).join('&'), undefined);
  }

  bodies(route) {
    const operation = route.operations.find(({ when }) => when === undefined);
    for (const [what, text] of MALFORMED) this.#addBehind('malformed body', what, operation, { body: text }, invalid(undefined));
    for (const [what, value] of NO_OBJECTS) this.#addBehind('no object', what, operation, { body: value }, invalid(undefined));
    const valid = JSON.stringify(this.base(operation).body);
    for (const type of OTHER_TYPES) {
      this.#addBehind('content type', type, operation, { body: valid, headers: { 'content-type': type } }, invalid('Content-Type'));
    }
    for (const type of JSON_TYPES) {
      const body = JSON.stringify({ ...this.base(operation).body, nonsense: 1 });
      this.#addBehind('content type', `${type ?? 'none'}, which is JSON`, operation, { body, headers: { 'content-type': type } }, invalid('nonsense'));
    }
  }

  /** Larger than what any operation of the route takes; told by its length, or only by what arrives. */
  oversized(route) {
    const operation = route.operations.find(({ when }) => when === undefined);
    const most = Math.max(...route.operations.map(({ maxBodyBytes }) => maxBodyBytes ?? this.policies.bodyBytes));
    const tooLarge = refusal(413, 'PAYLOAD_TOO_LARGE');
    const blank = Buffer.alloc(most + 1, 0x20);
    this.#addBehind('oversized body', 'one byte too many', operation, { body: blank }, tooLarge);
    this.#addBehind('oversized body', 'one byte too many, in chunks', operation, { body: [blank.subarray(0, most), blank.subarray(most)] }, tooLarge);
    // A body too large to be read and dropped is refused at once.
    const announced = { 'content-length': DRAINED_BYTES + 1, expect: '100-continue' };
    this.#addBehind('oversized body', 'announced', operation, { body: '', headers: announced }, tooLarge);
  }

  idempotency(operation) {
    if (!operation.route.startsWith('POST ')) return;
    const headers = { 'idempotency-key': 'k'.repeat(KEY_MAX_CHARS + 1) };
    // What only reads has nothing to replay, but a key that no write would take is wrong there, too; a write that answers with a
    // secret takes none.
    const reads = operation.mode === 'read' || operation.mode === 'memory';
    if (!operation.idempotencyKey && !reads) {
      this.#addBehind('idempotency key', 'too long, not honoured', operation, { headers, query: 'nonsense=1' }, invalid('nonsense'));
      return;
    }
    this.#addBehind('idempotency key', 'too long', operation, { headers }, invalid('idempotencyKey'));
    this.#addBehind('idempotency key', 'empty', operation, { headers: { 'idempotency-key': '' } }, invalid('idempotencyKey'));
    this.#addBehind('order', 'a long idempotency key, a malformed body', operation, { headers, body: '{' }, invalid('idempotencyKey'));
    const free = { 'idempotency-key': `free ${operation.id}` };
    this.#addBehind('idempotency key', 'with a refused body', operation, { headers: free, body: { nonsense: 1 } }, invalid('nonsense'));
  }

  // ---- Ids ----

  /**
   * Ids that name nothing here. `codeOf(kind)` is the contract's answer; `usable` the rest of a good request, with the
   * parameters that may name what another brand has.
   */
  ids(operation, { elsewhere = [], ...usable }, codeOf) {
    const deletes = operation.route.startsWith('DELETE ');
    for (const [name, schema] of Object.entries(operation.path ?? {})) {
      const kind = this.fixture.kindOf(name, schema);
      for (const [what, value] of this.fixture.strangeIds(kind)) {
        const expected = deletes ? { status: 200, deleted: false } : refusal(404, codeOf(kind));
        const headers = kind === 'brand' ? this.fixture.keys.brand : {}; // an organization key reaches every brand
        this.#addBehind(deletes ? 'deleted id' : 'path id', `${name} ${what}`, operation, { ...usable, path: { [name]: value }, headers }, expected);
      }
    }
    const errors = new Set(operation.errors);
    for (const place of ['query', 'body']) {
      for (const [name, schema] of Object.entries(operation[place] ?? {})) {
        const kind = this.fixture.kindOf(name, schema);
        if (kind === undefined || !errors.has(codeOf(kind)) || !operation.built) continue;
        for (const [what, value] of this.fixture.strangeIds(kind)) {
          if (elsewhere.includes(name) && value === this.fixture.ids.other[kind]) continue;
          const request = { ...usable, [place]: { ...usable[place], [name]: value } };
          this.#addBehind(`${place} id`, `${name} ${what}`, operation, request, refusal(404, codeOf(kind)));
        }
      }
    }
  }
}

const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth);

const MALFORMED = Object.entries({
  'half an object': '{"email":',
  'no JSON': 'email',
  'an empty value': '{"email":}',
  'a comma too many': '{"a":1,}',
  'single quotes': "{'a':1}",
  'two values': '{} {}',
  'a duplicate key': '{"email":"a@example.com","email":"b@example.com"}',
  'invalid UTF-8': Buffer.from('7b226122 3a22fffe22 7d'.replaceAll(' ', ''), 'hex'),
  'a NUL byte': Buffer.from('{"a":"\0"}'),
  'NUL bytes': Buffer.alloc(64),
  'an escaped NUL': '{"a":"\\u0000"}',
  'a lone surrogate': '{"a":"\\ud800"}',
  'deep nesting': `{"a":${nested(5000)}}`,
  'a number too large': '{"a":1e999}',
  'a byte order mark': '\ufeff{}',
});

const NO_OBJECTS = Object.entries({ 'a list': '[]', 'a list of objects': '[{}]', 'a text': '"x"', 'a number': '5', true: 'true', null: 'null' });

const OTHER_TYPES = [
  'application/x-www-form-urlencoded', 'text/plain', 'text/json', 'application/xml', 'text/xml', 'multipart/form-data; boundary=x',
  'application/jsonx', 'application/octet-stream',
];

/** null: none is sent. */
const JSON_TYPES = ['application/json; charset=utf-8', 'APPLICATION/JSON', 'application/vnd.api+json', null];
