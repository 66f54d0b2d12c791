// The catalogue generator refuses declarations that contradict themselves.
//
//     node lints.mjs GENERATOR
//
// A small tree that is accepted is broken in one way at a time; each time the
// generator must exit with 1, name the place and the reason, and write nothing.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const generator = process.argv[2];
if (!generator) {
  console.error('usage: lints.mjs GENERATOR');
  process.exit(2);
}

const hints = (readOnly) => ({ readOnly, destructive: false, idempotent: true, openWorld: false });
const row = (id) => ({ type: 'string', format: `id:${id}`, description: 'The thing.' });

// Numbers of rules and decisions of the tree below, put together so that no one takes them for citations of the real ones.
const rule = (number) => `R-${number}`;
const decision = (number) => `D-${number}`;

/** A tree with everything a lint looks at, and nothing more. */
function goodTree() {
  return {
    'schemas/errors.json': [
      { code: 'INVALID_REQUEST', status: 400, type: 'invalid_request', retryable: false, suggestion: 'Correct it.' },
      { code: 'THING_NOT_FOUND', status: 404, type: 'not_found', retryable: false, suggestion: 'Use another.' },
    ],
    'schemas/policies.json': {
      bodyBytes: 1000,
      scopes: { all: { implies: ['things'] }, things: { implies: [] } },
      rates: { 'things.read': { limit: 100, windowS: 60 }, 'things.write': { limit: 60, windowS: 60, open: [decision('02')] } },
      prices: { check: { kind: 'perItem', credits: 2, unit: 'thing' }, make: { kind: 'metered', credits: 1 } },
      plans: { basic: { name: 'Basic', credits: 10, emailSends: null } },
    },
    'schemas/integrations.json': [
      {
        provider: 'shop', name: 'Shop', category: 'data_in', signature: { scheme: 'body', headers: ['x-shop-signature'] }, event: { path: 'type' },
        events: [{ names: { 'orders/paid': 'Order paid' }, email: ['email'], fields: [{ key: 'order_id', type: 'string', path: 'id' }] }],
      },
    ],
    'schemas/insights.json': [
      {
        id: 'brokenThings', summary: 'Broken things', kind: 'insight', severity: 'warning', unit: 'rate', test: 'Fisher',
        compares: 'Broken things with whole ones.', least: [{ of: 'things', number: 10 }], title: '{value} are broken', rationale: 'They are.',
        action: { label: 'Look', intent: 'look', prompt: 'Look at the things.' },
      },
    ],
    'schemas/clients.json': [
      { id: 'plain', label: 'Plain', category: 'other', engine: 'browser', width: 600, density: 1, scheme: 'light', inversion: 'none', default: true },
    ],
    'schemas/nodes/shared.json': {
      span: {
        description: 'A span.', required: ['number'],
        properties: {
          number: { type: 'integer', minimum: 1, maximum: 9, description: 'How many.' },
          unit: { type: 'string', enum: ['days'], enumName: 'span_unit', description: 'Of what.' },
        },
      },
    },
    'schemas/nodes/pause.json': {
      type: 'pause', summary: 'Pauses.', decides: 'It leads on.',
      forms: [
        {
          name: 'span', title: 'pause', summary: 'For a span.', member: 'span', required: ['span'],
          properties: { span: { shared: 'span', description: 'The span.' } },
        },
        {
          name: 'day', title: 'pause until a day', summary: 'Until a day.', member: 'day', required: ['day'], branches: ['came', 'went'],
          properties: { day: { type: 'string', minLength: 1, maxLength: 9, description: 'The day.' } },
        },
      ],
    },
    'schemas/jobs.json': [
      {
        name: 'make_thing', summary: 'Makes a thing.', maxBytes: 1000,
        payload: {
          thingId: { type: 'integer', description: 'The thing.' },
          note: { type: 'string', optional: true, description: 'A note.' },
          color: { type: 'string', default: 'red', description: 'Its color.' },
          tags: { type: 'array', items: { type: 'string' }, description: 'Its tags.' },
          parts: { type: 'array', free: true, description: 'Its parts.' },
        },
      },
      { name: 'check_thing', summary: 'Checks a thing.', maxBytes: 10, payload: {} },
    ],
    'schemas/interface.json': {
      info: { title: 'Things', version: '1.0.0' }, tags: { things: 'Things and their parts.' }, examples: { thingId: 'con_1' },
    },
    'schemas/resources/errorEnvelope.json': { description: 'A refusal.', type: 'object', properties: {} },
    'schemas/rules.json': {
      areas: ['things', 'parts'],
      rules: [
        { id: rule('001'), area: 'things', text: 'A thing is read.' },
        { id: rule('002'), area: 'parts', text: 'A tool reads parts.' },
        { id: decision('01'), area: 'things', question: 'What is a thing?', text: 'This.' },
        { id: decision('02'), area: 'things', question: 'How often?', text: 'Sixty times.' },
        { id: decision('03'), area: 'things', question: 'Since when?', text: 'Always.', everywhere: true },
        { id: decision('100'), area: 'parts', question: 'How many?', text: 'Seven.', pending: true },
      ],
    },
    'schemas/resources/thing.json': {
      description: 'A thing.', type: 'object', additionalProperties: false, required: ['thingId', 'part'],
      properties: { thingId: { type: 'string' }, part: { $ref: 'part.json' }, note: { type: ['string', 'null'] } },
    },
    'schemas/resources/part.json': { description: 'A part.', type: 'object', properties: {} },
    'schemas/operations/things.json': [
      {
        id: 'things.get', route: 'GET /v1/things/{thingId}', summary: 'Reads a thing.', reach: 'brand', scope: 'things',
        policy: 'things.read', mode: 'read', single: true, status: 200, queries: 1, built: true, path: { thingId: row('contact') },
        query: { include: { type: 'string', format: 'tokens', enum: ['parts', 'notes'], description: 'Parts to add.' } },
        result: 'thing', errors: ['THING_NOT_FOUND'], open: [decision('01')], rules: [rule('001')],
      },
      {
        id: 'things.makeMany', route: 'POST /v1/things', summary: 'Makes several things.', when: { present: 'things' }, reach: 'brand',
        scope: 'things', policy: 'things.write', price: 'check', mode: 'write', pool: 'slow', status: 200, queries: 2, built: true,
        idempotencyKey: true,
        body: {
          things: {
            type: 'array', minItems: 1, maxItems: 10, description: 'Rows.',
            items: { type: 'object', properties: { name: { type: 'string', maxLength: 10, description: 'Name.' } } },
          },
        },
        required: ['things'], result: 'thing',
      },
      {
        id: 'things.make', route: 'POST /v1/things', summary: 'Makes a thing.', reach: 'brand', scope: 'things', policy: 'things.write',
        price: 'check', mode: 'write', status: 201, queries: 2, built: true, idempotencyKey: true, confirmation: 'thing', job: 'make_thing',
        body: {
          name: { type: 'string', minLength: 1, maxLength: 10, description: 'Name.', example: 'Ada' },
          nick: { type: 'string', maxLength: 10, nullable: true, description: 'Other name.' },
          size: { type: 'integer', minimum: 1, maximum: 9, default: 3, description: 'Size.' },
          color: { type: 'string', enum: ['red', 'blue'], default: 'red', description: 'Color.' },
          fields: { type: 'object', free: true, maxProperties: 5, description: 'Anything.', shape: 'part' },
          tags: { type: 'array', maxItems: 3, items: { type: 'string', maxLength: 9 }, description: 'Tags.' },
        },
        required: ['name'], result: 'thing',
      },
      {
        id: 'things.drop', route: 'DELETE /v1/things/{thingId}', summary: 'Drops a thing.', reach: 'brand', policy: 'things.write',
        mode: 'write', status: 200, queries: 1, built: false, path: { thingId: row('contact') }, result: 'thing',
      },
    ],
    'tools/things/get_thing.json': {
      name: 'get_thing', title: 'Get thing', description: 'Reads a thing.', toolset: 'things', hints: hints(true), run: 'things.get',
      rules: [rule('002')],
    },
    'tools/things/save_thing.json': {
      name: 'save_thing', title: 'Save thing', description: 'Makes things.', toolset: 'things', hints: hints(false),
      run: ['things.makeMany', 'things.make'], describe: { name: 'Its name.', nick: null }, default: { size: 2 }, brief: ['things'],
    },
    'tools/things/drop_thing.json': {
      name: 'drop_thing', title: 'Drop thing', description: 'Drops a thing.', toolset: 'things', hints: hints(false), run: 'things.drop',
      instead: { tools: ['save_thing'], text: 'Save another with save_thing.' },
    },
    'tools/mcp.json': {
      instructions: 'Read things.',
      prompts: [
        {
          name: 'look', title: 'Look', description: 'Looks.', arguments: [{ name: 'what', description: 'At what.', required: true }],
          messages: [{ role: 'user', text: 'Look at {what}.' }],
        },
      ],
      resources: [],
      resourceTemplates: [
        {
          uriTemplate: 'posthorn://things/{thingId}', name: 'thing', title: 'Thing', description: 'A thing.', mimeType: 'application/json',
          run: 'things.get', args: { thingId: '{thingId}' },
        },
      ],
      completions: {},
    },
    'tools/topics.json': [{ name: 'things', title: 'Things', text: 'About things.', tools: ['get_thing', 'save_thing'] }],
  };
}

const op = (tree, at) => tree['schemas/operations/things.json'][at];
const tool = (tree, name) => tree[`tools/things/${name}.json`];
const integrations = (tree) => tree['schemas/integrations.json'];
const policies = (tree) => tree['schemas/policies.json'];
const rules = (tree) => tree['schemas/rules.json'].rules;
const job = (tree, at = 0) => tree['schemas/jobs.json'][at];
const member = (tree) => job(tree).payload.thingId;
const MAKE = 2;

/** rules.json with a rule a line; the first one is on line 4. */
const ruleLines = (entries) =>
  `{"areas": ["things", "parts"],\n\n"rules": [\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n]}\n`;

/** jobs.json with a job a line; the first one is on line 2. */
function jobsInLines(tree) {
  tree['schemas/jobs.json'] = `[\n${tree['schemas/jobs.json'].map((one) => JSON.stringify(one)).join(',\n')}\n]\n`;
}

/** What is broken, how, and what the generator says of it. */
const node = (tree) => tree['schemas/nodes/pause.json'];
const spans = (tree) => tree['schemas/nodes/shared.json'].span.properties;
const form = (tree, at) => node(tree).forms[at];
const day = (tree) => form(tree, 1).properties.day;

const broken = [
  ['a node without the name of its file', (t) => (node(t).type = 'wait'), 'schemas/nodes/pause.json: type must be the name of the file'],
  ['a misspelt member of a node', (t) => (node(t).payloads = true), 'pause.json: has the unknown member payloads'],
  ['a node without forms', (t) => (node(t).forms = []), 'pause.json: has no forms'],
  ['a form that nothing distinguishes', (t) => delete form(t, 1).member, 'pause.json: form 2: needs the member that distinguishes it'],
  ['a form that requires what it lacks', (t) => (form(t, 0).required = ['spam']), 'form 1: requires spam'],
  ['a form without properties', (t) => (form(t, 1).properties = {}), 'form 2: has no properties'],
  ['an unbounded text of a node', (t) => delete day(t).maxLength, 'form 2: day: needs minLength and maxLength'],
  ['an unbounded number of a node', (t) => delete spans(t).number.maximum, 'shared.json: span: number: needs minimum and maximum'],
  ['a field of a node without a description', (t) => delete day(t).description, 'form 2: day: has no description'],
  ['a field of a node of another type', (t) => (day(t).type = 'day'), 'form 2: day: is of a kind that cannot be decoded'],
  ['a node with an id of an unknown kind', (t) => (day(t).format = 'id:day'), 'form 2: day: is an id of an unknown kind'],
  ['a shape that is not shared', (t) => (form(t, 0).properties.span.shared = 'time'), 'form 1: span: refers to time'],
  ['words without a name', (t) => delete spans(t).unit.enumName, 'span: unit: needs enum and enumName'],
  [
    'two meanings of the name of words',
    (t) => (form(t, 1).properties.unit = { type: 'string', enum: ['hours'], enumName: 'span_unit', description: 'Of what.' }),
    'gives span_unit other words',
  ],
  ['a member of two kinds', (t) => (form(t, 1).properties.span = { type: 'boolean', description: 'Span.' }), 'span has another kind in another form'],
  ['an error declared twice', (t) => t['schemas/errors.json'].push(t['schemas/errors.json'][0]), 'INVALID_REQUEST: declared twice'],
  ['an error of an unknown type', (t) => (t['schemas/errors.json'][0].type = 'bad'), 'type is not one of the eight'],
  ['an error without a suggestion', (t) => delete t['schemas/errors.json'][0].suggestion, 'has no suggestion'],
  ['a suggestion of an unknown operation', (t) => (t['schemas/errors.json'][0].suggestion = 'Correct it[ with {things.fix}].'),
    'names the unknown operation things.fix'],
  ['a suggestion that leaves nothing without its tool', (t) => (t['schemas/errors.json'][0].suggestion = 'Use {things.get}.'),
    'names things.get outside of [ ]'],
  ['a suggestion of an unknown argument', (t) => (t['schemas/errors.json'][0].suggestion = 'Read it[ with {things.get colour=red}].'),
    'things.get has no argument colour'],
  ['a header in the suggestion for assistants', (t) => (t['schemas/errors.json'][0].suggestion = 'Send the header.'),
    'mcp needs a text without header'],
  ['an error that does not say whether to retry', (t) => delete t['schemas/errors.json'][0].retryable, 'retryable must be given'],
  ['an error with an impossible status', (t) => (t['schemas/errors.json'][0].status = 200), 'status must be 4xx or 5xx'],

  ['a scope that implies an unknown one', (t) => (policies(t).scopes.all.implies = ['else']), 'implies the unknown scope else'],
  ['a rate without a window', (t) => delete policies(t).rates['things.read'].windowS, 'needs a limit and a window'],
  ['a price of an unknown kind', (t) => (policies(t).prices.make.kind = 'free'), 'must be fixed, perItem or metered'],
  ['a provider twice', (t) => integrations(t).push(integrations(t)[0]), 'each once'],
  ['a provider key with capitals', (t) => (integrations(t)[0].provider = 'Shop'), 'provider must be lower-case words'],
  ['a provider of an unknown category', (t) => (integrations(t)[0].category = 'both'), 'category must be data_in or data_out'],
  ['a provider without events', (t) => (integrations(t)[0].events = []), 'has no events'],
  ['an event twice', (t) => integrations(t)[0].events.push({ names: { 'orders/paid': 'Paid' }, email: ['email'], fields: [] }),
    'or orders/paid twice'],
  ['an event without a title', (t) => (integrations(t)[0].events[0].names['orders/new'] = 1), 'one without a title'],
  ['a field of a provider with capitals', (t) => (integrations(t)[0].events[0].fields[0].key = 'orderId'), 'the key of a field must be'],
  ['a field of a provider of an unknown type', (t) => (integrations(t)[0].events[0].fields[0].type = 'money'), 'the type of a field must be'],
  ['a field of a provider without a path', (t) => delete integrations(t)[0].events[0].fields[0].path, 'has no path'],
  ['a signature of an unknown scheme', (t) => (integrations(t)[0].signature.scheme = 'none'), 'the scheme must be'],
  ['a signature without a header', (t) => (integrations(t)[0].signature.headers = []), 'the scheme has one header'],
  ['a signature with a time without a unit', (t) => (integrations(t)[0].signature.scheme = 'stamped'), 'has the unit s or ms'],
  ['an event whose name is nowhere', (t) => (integrations(t)[0].event = {}), 'event must be either at a path or in a header'],
  ['an id that is in two places', (t) => (integrations(t)[0].eventId = { path: 'id', header: 'x-id' }), 'eventId must be either'],
  ['a wrong count of routes', (t) => (policies(t).counts = { routes: 7, tools: 3 }), 'counts 7 routes and 3 tools, but 3 and 3 are declared'],

  ['an open detail without a text', (t) => (op(t, 0).open = [decision('09')]),
    `schemas/operations/things.json:1: things.get: the open detail ${decision('09')} is not in schemas/rules.json`],
  ['a rule named as an open detail', (t) => (op(t, 0).open = [rule('001')]), `the open detail ${rule('001')} is not in`],
  ['an open detail that a shape names without a text', (t) => (t['schemas/resources/part.json'].open = [decision('09')]),
    `schemas/resources/part.json:1: part: the open detail ${decision('09')} is not in`],
  ['a decision that nothing names', (t) => delete op(t, 0).open, `schemas/rules.json:1: ${decision('01')}: no declaration names it`],
  ['a pending decision that is named', (t) => (op(t, 0).open = [decision('01'), decision('100')]),
    `${decision('100')}: is pending, and schemas/operations/things.json: things.get names it`],
  ['a decision both everywhere and pending', (t) => (rules(t)[4].pending = true), 'is either everywhere or pending'],
  ['a rule of an operation without a text', (t) => {
    op(t, 0).rules = [rule('001'), rule('777')];
    t['schemas/operations/things.json'] = `\n\n${JSON.stringify(t['schemas/operations/things.json'])}`;
  }, `schemas/operations/things.json:3: things.get: the rule ${rule('777')} is not in schemas/rules.json`],
  ['a rule of a tool without a text', (t) => (tool(t, 'get_thing').rules = [rule('777')]),
    `tools/things/get_thing.json:1: get_thing: the rule ${rule('777')} is not in`],
  ['a rule twice', (t) => (t['schemas/rules.json'] = ruleLines([...rules(t).slice(0, 2), rules(t)[1], ...rules(t).slice(2)])),
    `schemas/rules.json:6: ${rule('002')}: declared twice`],
  ['a rule out of order', (t) => (t['schemas/rules.json'] = ruleLines([rules(t)[1], rules(t)[0], ...rules(t).slice(2)])),
    `schemas/rules.json:5: ${rule('001')}: comes after ${rule('002')}`],
  ['a rule after a decision', (t) => rules(t).push(rules(t).shift()), `${rule('001')}: comes after ${decision('100')}`],
  ['a misspelt member of a rule', (t) => (t['schemas/rules.json'] = ruleLines(rules(t).map((one) => ({ ...one, txet: 'X.' })))),
    `schemas/rules.json:4: ${rule('001')}: has the unknown member txet`],
  ['a rule with a question', (t) => (rules(t)[0].question = 'What?'), 'has the unknown member question'],
  ['a decision without a question', (t) => delete rules(t)[2].question, `${decision('01')}: has no question`],
  ['a rule without a text', (t) => (rules(t)[0].text = ''), `${rule('001')}: has no text`],
  ['a rule of an unknown area', (t) => (rules(t)[1].area = 'prats'), 'the area prats is not one of areas'],
  ['an area without a rule', (t) => t['schemas/rules.json'].areas.push('holes'), 'no rule has the area holes'],
  ['an id of two digits', (t) => (rules(t)[0].id = rule('01')), `schemas/rules.json:1: the id ${rule('01')} is not written like`],
  ['an id of an unknown letter', (t) => (rules(t)[5].id = 'X-100'), 'the id X-100 is not written like'],
  ['a rule without an id', (t) => delete rules(t)[1].id, 'the id (not a text) is not written like'],

  ['a job declared twice', (t) => {
    t['schemas/jobs.json'].push(job(t));
    jobsInLines(t);
  }, 'schemas/jobs.json:4: make_thing: declared twice'],
  ['a job without a name', (t) => delete job(t, 1).name, 'schemas/jobs.json:1: a job has no name'],
  ['a job name with capitals', (t) => (job(t, 1).name = 'checkThing'), 'name must be lower-case words joined by _'],
  ['a job without a summary', (t) => delete job(t).summary, 'make_thing: has no summary'],
  ['a misspelt member of a job', (t) => (job(t).maxBites = 5), 'has the unknown member maxBites'],
  ['a job without a payload', (t) => delete job(t).payload, 'make_thing: has no payload'],
  ['an unbounded payload', (t) => delete job(t).maxBytes, 'needs maxBytes, at most 16777216'],
  ['a payload beyond the bound', (t) => (job(t).maxBytes = 16777217), 'needs maxBytes, at most 16777216'],
  ['a payload member of an unknown type', (t) => {
    member(t).type = 'date';
    jobsInLines(t);
  }, 'schemas/jobs.json:2: make_thing.thingId: has the unknown type date'],
  ['a payload member without a type', (t) => delete member(t).type, 'make_thing.thingId: has the unknown type (none)'],
  ['a payload list of numbers', (t) => (job(t).payload.tags.items.type = 'integer'), 'make_thing.tags: has the unknown type array'],
  ['a payload member twice', (t) => (t['schemas/jobs.json'] = '[{"name": "x",\n"payload": {"a": {}, "a": {}}}]'),
    'schemas/jobs.json: line 2: duplicate object key'],
  ['a payload member in snake_case', (t) => (job(t).payload.the_thing = member(t)), 'make_thing.the_thing: is not camelCase'],
  ['a payload member that is a word of C', (t) => (job(t).payload.long = member(t)), 'make_thing.long: is a word of C'],
  ['a payload member without a description', (t) => delete member(t).description, 'make_thing.thingId: has no description'],
  ['a payload default of a wrong type', (t) => (member(t).default = 'x'), 'make_thing.thingId: cannot have this default'],
  ['a payload default of a list', (t) => (job(t).payload.tags.default = 'x'), 'make_thing.tags: cannot have this default'],
  ['a payload default that is optional', (t) => Object.assign(member(t), { default: 1, optional: true }), 'is optional and has a default'],
  ['an operation of an undeclared job', (t) => {
    op(t, MAKE).job = 'else';
    t['schemas/operations/things.json'] = `\n${JSON.stringify(t['schemas/operations/things.json'])}`;
  }, 'schemas/operations/things.json:2: things.make: the job else is not in schemas/jobs.json'],
  ['an operation that waits for no job', (t) => {
    op(t, MAKE).mode = 'job';
    delete op(t, MAKE).job;
  }, 'schemas/operations/things.json:1: things.make: has the mode job and names no job'],
  ['a read that enqueues a job', (t) => (op(t, 0).job = 'make_thing'), 'things.get: job goes with the modes write and job'],

  ['forms that are no list', (t) => (t['schemas/resources/thing.json'].properties.part = { type: 'object', anyOf: {} }), 'thing.json: part: anyOf must be'],
  ['a member that is no shape', (t) => (t['schemas/resources/thing.json'].properties.note = 5), 'thing.json: note: is not a shape'],
  ['an item that is no shape', (t) => (t['schemas/resources/thing.json'].properties.note = { type: 'array', items: [] }), 'thing.json: note: is not a shape'],
  ['members that are no object', (t) => (t['schemas/resources/part.json'].properties = ['x']), 'part.json: properties must be an object'],
  ['a required member that is not there', (t) => t['schemas/resources/thing.json'].required.push('prat'), 'thing.json: requires prat, which is not'],
  ['a required member without a name', (t) => (t['schemas/resources/thing.json'].required = [5]), 'thing.json: requires an entry that is not a name'],
  ['a view of something unknown', (t) => (t['schemas/resources/thing.json'].view = { tidy: [] }), 'thing.json: has the unknown member tidy'],
  ['a technical member that is not there', (t) => (t['schemas/resources/thing.json'].view = { technical: ['else'] }), 'view.technical names else'],
  ['a cut list that is not there', (t) => (t['schemas/resources/thing.json'].view = { cut: ['else'] }), 'view.cut names else'],
  ['a grouped member that is no list', (t) => (t['schemas/resources/thing.json'].view = { grouped: { note: {} } }), 'view.grouped.note needs a list'],
  ['grouped rows without a number', (t) => {
    t['schemas/resources/thing.json'].properties.faults = { type: 'array', items: { type: 'object', properties: { code: { type: 'string' } } } };
    t['schemas/resources/thing.json'].view = { grouped: { faults: { row: 'line' } } };
  }, 'view.grouped.faults needs a list'],
  ['grouped rows counted by nothing', (t) => {
    t['schemas/resources/thing.json'].properties.faults = { type: 'array', items: { type: 'object', properties: { code: { type: 'string' } } } };
    t['schemas/resources/thing.json'].view = { grouped: { faults: { counts: 'sums' } } };
  }, 'view.grouped.faults counts by sums'],
  ['a type without a name', (t) => (t['schemas/resources/thing.json'].properties.note.type = ['string', {}]), 'thing.json: note: type must be a name'],
  ['a reference to no shape', (t) => (t['schemas/resources/thing.json'].properties.part.$ref = 'else.json'), 'refers to else.json'],

  ['a group of routes that nobody describes', (t) => (t['schemas/interface.json'].tags = {}), 'tags does not describe things'],
  ['a description of no routes', (t) => (t['schemas/interface.json'].tags.else = 'X.'), 'tags describes else, which has no route'],
  ['a document without a version', (t) => delete t['schemas/interface.json'].info.version, 'has no version'],
  ['refusals without a shape', (t) => delete t['schemas/resources/errorEnvelope.json'], 'refusals need the shape'],
  ['a free value of an unknown shape', (t) => (op(t, MAKE).body.fields.shape = 'else'), 'the shape else is not in schemas/resources'],
  ['a shape of a plain value', (t) => (op(t, MAKE).body.name.shape = 'part'), 'only a free value has a shape'],
  ['a second success like the first', (t) => (op(t, MAKE).also = { status: 201, description: 'X.' }), 'also must name another 2xx status'],
  ['a second success of no shape', (t) => (op(t, MAKE).also = { status: 200, description: 'X.', result: 'else' }), 'the result else is not in'],
  ['an example of something else', (t) => (op(t, MAKE).example = { question: {} }), 'has the unknown member question'],

  ['an id that makes no C name', (t) => (op(t, 0).id = 'get-thing'), 'two camelCase words joined by a dot'],
  ['an operation declared twice', (t) => (op(t, 0).id = 'things.make'), 'things.make is declared twice'],
  ['a misspelt member', (t) => (op(t, 0).polcy = 'x'), 'has the unknown member polcy'],
  ['a member of a wrong type', (t) => (op(t, 0).status = '200'), 'status has a wrong type'],
  ['an unknown scope', (t) => (op(t, 0).scope = 'else'), 'scope else is not in schemas/policies.json'],
  ['an unknown rate policy', (t) => (op(t, 0).policy = 'else'), 'policy else is not in schemas/policies.json'],
  ['no rate policy', (t) => delete op(t, 0).policy, 'has no rate policy'],
  ['an unknown price', (t) => (op(t, MAKE).price = 'else'), 'price else is not in schemas/policies.json'],
  ['an unknown error code', (t) => (op(t, 0).errors = ['ELSE']), 'the error ELSE is not in schemas/errors.json'],
  ['an unknown result', (t) => (op(t, 0).result = 'else'), 'the result else is not in schemas/resources'],
  ['an operation without a result', (t) => delete op(t, 0).result, 'things.get: declares no result'],
  ['one that is not built without a result', (t) => delete op(t, 3).result, 'things.drop: declares no result'],
  ['an unknown mode', (t) => (op(t, 0).mode = 'think'), 'mode must be memory, read, write or job'],
  ['an unknown reach', (t) => (op(t, 0).reach = 'world'), 'reach must be'],
  ['a route outside /v1', (t) => (op(t, 0).route = 'GET /things/{thingId}'), 'a path below /v1'],
  ['an undeclared path parameter', (t) => delete op(t, 0).path, 'the path parameter {thingId} is not declared'],
  ['a path parameter the path does not name', (t) => (op(t, MAKE).path = { thingId: row('contact') }), 'that its path does not name'],
  ['a GET with a body', (t) => (op(t, 0).body = { x: { type: 'boolean', description: 'X.' } }), 'a GET has no body'],
  ['an idempotency key on a GET', (t) => (op(t, 0).idempotencyKey = true), 'only a POST honours an idempotency key'],
  ['a confirmation of no shape', (t) => (op(t, MAKE).confirmation = 'else'), 'the confirmation else is not in schemas/resources'],
  ['a read that asks for a confirmation', (t) => (op(t, 0).confirmation = 'thing'), 'confirmation needs a write that is not single'],
  ['a job that is one statement', (t) => (op(t, 0).mode = 'job'), 'single needs mode read or write'],
  ['a read that its job charges', (t) => (op(t, 0).charges = 'job'), 'charges is job, and needs a write with a price and a job'],
  ['a call that is free with an unknown argument', (t) => (op(t, MAKE).freeWith = 'nothing'), 'freeWith needs a price and names a parameter'],
  ['a call that is free with an unknown member', (t) => (op(t, MAKE).freeWith = 'nothing.member'), 'freeWith needs a price and names a parameter'],
  ['a call that is slow with an unknown argument', (t) => (op(t, MAKE).slowWith = ['nothing']), 'slowWith names the unknown parameter nothing'],
  ['a slow operation with a slow argument', (t) => Object.assign(op(t, MAKE), { pool: 'slow', slowWith: ['fields'] }), 'slowWith goes with neither pool nor single'],
  ['a write that waits', (t) => (op(t, MAKE).waits = true), 'waits needs a read'],
  ['a single write with a price', (t) => (op(t, MAKE).single = true), 'a single write must be quick and must not have a price'],
  ['a slow single write', (t) => Object.assign(op(t, MAKE), { single: true, price: undefined, pool: 'slow' }), 'a single write must be quick and must not have a price'],
  ['a status that is no success', (t) => (op(t, 0).status = 404), 'status must be 2xx'],
  ['no budget of queries', (t) => delete op(t, 0).queries, 'needs a query budget'],
  ['a condition on no parameter', (t) => (op(t, 1).when = { present: 'else' }), 'when uses else'],
  ['a condition on a parameter and on none', (t) => (op(t, 1).when = { present: 'things', equals: { else: true } }), 'when uses else'],
  ['a condition on two values', (t) => (op(t, 1).when = { equals: { things: 1, else: true } }), 'when needs present or equals'],
  ['a condition on nothing', (t) => (op(t, 1).when = {}), 'when needs present or equals'],
  ['an operation that hides another', (t) => delete op(t, 1).when, 'has no condition and hides things.make'],
  ['a required parameter that is not there', (t) => op(t, MAKE).required.push('else'), 'requires the unknown parameter else'],
  ['a parameter in two places', (t) => (op(t, MAKE).query = { name: op(t, MAKE).body.name }), 'is declared in two places'],
  ['a brand named in a body', (t) => (op(t, MAKE).body.brandId = row('brand')), 'a query or body must not name a brand'],

  ['an unbounded text', (t) => delete op(t, MAKE).body.name.maxLength, 'things.make.name: needs maxLength'],
  ['an unbounded number', (t) => delete op(t, MAKE).body.size.maximum, 'needs minimum and maximum'],
  ['an unbounded list', (t) => delete op(t, MAKE).body.tags.maxItems, 'needs maxItems'],
  ['a list without items', (t) => delete op(t, MAKE).body.tags.items, 'needs items'],
  ['an unbounded object', (t) => delete op(t, MAKE).body.fields.maxProperties, 'needs maxProperties'],
  ['an object told by nothing', (t) => delete op(t, MAKE).body.fields.free, 'needs properties, or free: true'],
  ['an untyped parameter', (t) => delete op(t, MAKE).body.name.type, 'has no type'],
  ['a parameter without a description', (t) => delete op(t, MAKE).body.name.description, 'has no description'],
  ['a parameter in snake_case', (t) => (op(t, MAKE).body.the_name = op(t, MAKE).body.name), 'is not camelCase'],
  ['a parameter that is a word of C', (t) => (op(t, MAKE).body.default = op(t, MAKE).body.name), 'is a C keyword'],
  ['an id of an unknown kind', (t) => (op(t, 0).path.thingId.format = 'id:thing'), 'is an id of an unknown kind'],
  ['a nullable number', (t) => (op(t, MAKE).body.size.nullable = true), 'only text may be nullable'],
  ['a default outside the enum', (t) => (op(t, MAKE).body.color.default = 'green'), 'default is not one of its values'],
  ['a default of a wrong type', (t) => (op(t, MAKE).body.size.default = true), 'cannot have this default'],
  ['an enum value that makes no constant', (t) => op(t, MAKE).body.color.enum.push('very red'), 'a value of its enum'],
  ['anyOf in a parameter', (t) => (op(t, MAKE).body.name.anyOf = []), 'has the unknown member anyOf'],
  ['an object in a query', (t) => (op(t, 0).query.part = op(t, MAKE).body.fields), 'cannot be in a path or a query'],
  ['a shared enum with two meanings', (t) => {
    op(t, MAKE).body.color.enumName = 'color';
    op(t, 0).query.color = { ...op(t, MAKE).body.color, enum: ['red', 'green'] };
  }, 'color is declared differently elsewhere'],

  ['an unbuilt tool without another way', (t) => (delete tool(t, 'drop_thing').instead), 'does not work yet; instead must give the tools'],
  ['a built tool with another way', (t) => (tool(t, 'get_thing').instead = tool(t, 'drop_thing').instead), 'works, so instead must be removed'],
  ['another way that does not work', (t) => {
    tool(t, 'drop_thing').instead = { tools: ['drop_thing'], text: 'Use drop_thing.' };
  }, 'instead lists drop_thing, which is not a tool that works'],
  ['another way that lists a tool and does not name it', (t) => (tool(t, 'drop_thing').instead.text = 'Save another.'),
    'must name the same tools; they differ in save_thing'],
  ['another way that names a tool and does not list it', (t) => (tool(t, 'drop_thing').instead.text += ' Look with get_thing.'),
    'must name the same tools; they differ in get_thing'],
  ['a tool that needs a provider of no category', (t) => (tool(t, 'drop_thing').needs = { integration: 'shop' }),
    'needs an integration of an unknown category'],
  ['a tool that needs a provider that there is not', (t) => (tool(t, 'get_thing').needs = { integration: 'data_out' }),
    'does not work yet; instead must give the tools'],

  ['a tool named like no other host allows', (t) => {
    t['tools/things/Get-Thing.json'] = { ...tool(t, 'get_thing'), name: 'Get-Thing' };
  }, 'name must match'],
  ['a tool name of 41 characters', (t) => {
    const name = `g${'e'.repeat(40)}`;
    t[`tools/things/${name}.json`] = { ...tool(t, 'get_thing'), name };
  }, 'have 40 characters at most'],
  ['a tool named otherwise than its file', (t) => (tool(t, 'get_thing').name = 'look'), 'name must be the name of the file'],
  ['a tool name taken in another folder', (t) => {
    t['tools/more/get_thing.json'] = { ...tool(t, 'get_thing'), toolset: 'more' };
  }, 'the name get_thing is already used'],
  ['a rule of a tool that is none', (t) => (tool(t, 'get_thing').rules = ['R-2']), `the rule R-2 is not written like ${rule('001')}`],
  ['a rule of an operation that is none', (t) => (op(t, 0).rules = ['R-00x']), `the rule R-00x is not written like ${rule('001')}`],
  ['a hint that is not said', (t) => delete tool(t, 'get_thing').hints.openWorld, 'the hint openWorld must be given'],
  ['a reading tool that writes', (t) => (tool(t, 'save_thing').hints = hints(true)), 'is read-only and runs things.makeMany, which writes'],
  ['a tool both read-only and destructive', (t) => (tool(t, 'get_thing').hints.destructive = true), 'both read-only and destructive'],
  ['a tool running nothing known', (t) => (tool(t, 'get_thing').run = 'things.look'), 'runs the unknown operation things.look'],
  ['a tool without run', (t) => delete tool(t, 'get_thing').run, 'needs either run or chooseBy'],
  ['a long member that nothing adds', (t) => (tool(t, 'get_thing').long = { member: 'note', uri: 'x://{thingId}' }), 'long names note, which things.get does not add'],
  ['a long member without a resource', (t) => (tool(t, 'get_thing').long = { member: 'note' }), 'long needs member and uri'],
  ['a tool in a foreign toolset', (t) => (tool(t, 'get_thing').toolset = 'else'), 'toolset must be the name of its folder'],
  ['a description of 401 bytes', (t) => (tool(t, 'get_thing').description = 'x'.repeat(395)), 'the description has 401 bytes'],
  ['a description of no argument', (t) => (tool(t, 'get_thing').describe = { else: 'X.' }), 'describes else, which is not one of its arguments'],
  ['a default of no argument', (t) => (tool(t, 'get_thing').default = { else: 1 }), 'default names else'],
  ['a tool default of a wrong type', (t) => (tool(t, 'save_thing').default = { size: 'big' }), 'has a default of another type than integer'],
  ['an unknown argument in only', (t) => (tool(t, 'get_thing').only = ['else']), 'only names else'],
  ['operations that cost differently', (t) => delete op(t, MAKE).price, 'its operations cost differently; declare cost'],
  ['operations that hide each other', (t) => (tool(t, 'save_thing').run = ['things.make', 'things.makeMany']), 'hides what comes after it'],
  ['a choice by an argument that is not taken', (t) => {
    delete tool(t, 'save_thing').run;
    tool(t, 'save_thing').chooseBy = { present: { else: 'things.makeMany' }, otherwise: 'things.make' };
  }, 'chooses by else, which things.makeMany does not accept'],
  ['arguments of different types', (t) => {
    op(t, 1).body.name = { type: 'boolean', description: 'X.' };
  }, 'name has different types in its operations'],
  ['a tool that fills the list', (t) => {
    for (let i = 0; i < 40; i++)
      op(t, MAKE).body[`argument${i}`] = { type: 'string', maxLength: 9, description: 'A long enough description of it.' };
  }, 'bytes of tools/list in the mean'],

  ['instructions beyond 2 KB', (t) => (t['tools/mcp.json'].instructions = 'x'.repeat(2049)), 'needs instructions of 2048 bytes at most'],
  ['a place of a prompt that no argument fills', (t) => (t['tools/mcp.json'].prompts[0].messages[0].text = '{else}'), '{else} is not one of its arguments'],
  ['a resource that writes', (t) => (t['tools/mcp.json'].resourceTemplates[0].run = 'things.make'), 'which does more than read'],
  ['a resource that is not built', (t) => (t['tools/mcp.json'].resourceTemplates[0].run = 'things.drop'), 'which is not a built operation'],
  ['a resource with an unknown argument', (t) => (t['tools/mcp.json'].resourceTemplates[0].args = { else: 1 }), 'gives else'],
  ['a resource that picks nothing', (t) => (t['tools/mcp.json'].resourceTemplates[0].pick = 'else'), 'picks else'],
  ['a topic on no tool', (t) => (t['tools/topics.json'][0].tools = ['else']), 'names the unknown tool else'],
  ['a built tool in no topic', (t) => t['tools/topics.json'][0].tools.pop(),
    'tools/things/save_thing.json: save_thing is built and in no topic; add its name to the tools of a topic in tools/topics.json'],

  ['a file that is no JSON', (t) => (t['schemas/policies.json'] = '{'), 'schemas/policies.json: line'],
  ['a member given twice', (t) => (t['tools/mcp.json'] = '{"instructions": "a", "instructions": "b"}'), 'duplicate object key'],
  ['a file of a wrong form', (t) => (t['schemas/errors.json'] = {}), 'must hold an array'],
];

const folder = mkdtempSync(join(tmpdir(), 'posthorn-lints-'));
let failures = 0;

function run(tree) {
  const root = join(folder, 'tree');
  const output = join(folder, 'output');
  rmSync(root, { recursive: true, force: true });
  rmSync(output, { recursive: true, force: true });
  for (const [name, value] of Object.entries(tree)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), typeof value === 'string' ? value : JSON.stringify(value));
  }
  const done = spawnSync(generator, [root, output], { encoding: 'utf8' });
  return { ...done, output };
}

function check(name, problem) {
  if (problem) {
    failures++;
    console.error(`not ok  ${name}: ${problem}`);
  }
}

const good = run(goodTree());
check('the good tree', good.status === 0 && good.stderr === '' ? null : `refused: ${good.stderr}`);
if (good.status === 0) {
  const source = readFileSync(join(good.output, 'catalogue/tools.c'), 'utf8');
  check('an unbuilt tool', source.includes('\\"drop_thing\\"') ? 'is listed' : null);
  check('a null description', /nick[^}]*description/.test(source) ? 'is not left out' : null);
  check('the cost', source.includes('Makes things. Costs 2 credits per thing.') ? null : 'is not at the end of the description');
  check('the idempotency key', source.includes('idempotencyKey') ? null : 'is not an argument');
  check('the confirmation token', source.includes('confirmationToken') ? null : 'is not an argument');
  const { paths, components } = JSON.parse(readFileSync(join(good.output, 'catalogue/openapi.json'), 'utf8'));
  const { requestBody, responses } = paths['/v1/things'].post;
  check('forms of a body', requestBody.content['application/json'].schema.anyOf?.length === 2 ? null : 'are not beside each other');
  check('an example', requestBody.content['application/json'].examples['things.make'].value.name === 'Ada' ? null : 'is not the declared one');
  check('answers of a route', responses[200] && responses[201] ? null : 'are not all there');
  check('what is not built', paths['/v1/things/{thingId}'].delete['x-available'] === false ? null : 'is called available');
  check('shapes in use', components.schemas.part && components.schemas.thing ? null : 'are missing');
  check('the operation', readFileSync(join(good.output, 'catalogue/operations.h'), 'utf8').includes('struct things_make_many_things_item_list things;')
    ? null : 'has no typed list');
  const jobs = readFileSync(join(good.output, 'catalogue/jobs.h'), 'utf8');
  check('the payload', jobs.includes('    int64_t thing_id; /* The thing. */\n    const char *note; /* Optional. A note. */') ? null : 'has no typed struct');
  check('the encoder', jobs.includes('struct new_job make_thing_job(struct arena *arena, const struct make_thing_payload *payload)') ? null : 'is missing');
  check('the implementation', readFileSync(join(good.output, 'catalogue/job_types.c'), 'utf8').includes('[JOB_MAKE_THING] = &job_make_thing,')
    ? null : 'is not required');
}

for (const [name, change, expected] of broken) {
  const tree = goodTree();
  change(tree);
  const result = run(tree);
  if (result.status !== 1) check(name, `exit ${result.status ?? result.signal}\n${result.stderr}`);
  else if (!result.stderr.includes(expected)) check(name, `says\n${result.stderr}instead of: ${expected}`);
  else if (existsSync(join(result.output, 'catalogue/operations.h'))) check(name, 'wrote files');
}
rmSync(folder, { recursive: true, force: true });
console.log(`${broken.length + 15} checks, ${failures} failed`);
process.exit(failures > 0 ? 1 : 0);
