// The kinds of resources that parameters name: which kind a declared parameter means, how an id of it begins, and how one is made
// over REST. Generated requests (integration/rest/matrix*, sizes) fill in ids by it.

const BY_NAME = {
  automationId: 'automation', emailId: 'email', groupId: 'group', audienceId: 'audience', templateId: 'template', slug: 'flow', email: 'contact',
  fieldName: 'field', domainId: 'domain', keyId: 'key', triggerEventId: 'trigger',
};

/** kind → the prefix of its ids. */
export const PREFIXES = {
  email: 'eml', version: 'ver', send: 'snd', domain: 'dom', audience: 'aud', group: 'grp', run: 'run', audienceRun: 'aru', trigger: 'trg',
  instance: 'ins', automation: 'aut', insight: 'isg', audit: 'adt', preview: 'prv', test: 'tst', key: 'key', brand: 'brd', import: 'imp',
};

/** The kind that a parameter names; undefined where it names no resource. */
export function kindOf(name, { format }) {
  return format?.startsWith('id:') ? format.slice(3) : BY_NAME[name];
}

export const FILTERS = { logic: 'and', filters: [{ field: 'email', operator: 'contains', value: 'matrix' }] };

async function created(client, path, body) {
  const answer = await client.post(path, body);
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** How one of each kind is made over REST; `id(kind)` gives one of another kind. */
const MAKERS = {
  automation: async (client) => (await created(client, '/v1/automations', {
    nodes: [{ id: 'start', type: 'trigger', config: { mode: 'event' } }], connections: [],
  })).automationId,
  email: async (client) => (await created(client, '/v1/emails/import', { content: '<p>Hi</p>', title: 'Matrix' })).emailId,
  version: async (client, id) => (await client.get(`/v1/emails/${await id('email')}?include=versions`)).body.versions[0].emailVersionId,
  group: async (client) => (await created(client, '/v1/email-groups', { name: 'Matrix' })).groupId,
  audience: async (client) => (await created(client, '/v1/audiences', { name: 'Matrix', filters: FILTERS })).audienceId,
  domain: async (client) => (await client.get('/v1/domains')).body.data[0].domainId,
  contact: async (client) => (await created(client, '/v1/contacts', { email: 'matrix@example.com', customFields: { plan: 'pro' } })).email,
  trigger: async (client) => (await created(client, '/v1/automations/triggers', {
    title: 'Matrix', payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }] },
  })).triggerEventId,
  field: async (client, id) => (await id('contact'), 'plan'),
  send: async (client, id) => (await id('contact'), await created(client, '/v1/sends', {
    emailId: await id('email'), domainId: await id('domain'), subject: 'Hi', to: ['matrix@example.com'],
    scheduledAt: new Date(Date.now() + 864e5).toISOString(),
  })).sendId,
};

/** Those that every brand sees. */
const GALLERY = {
  template: async (client) => (await client.get('/v1/templates?limit=1')).body.data[0].emailId,
  flow: async (client) => (await client.get('/v1/flows?limit=1')).body.data[0].slug,
};

/** The resources of one brand, each made when it is first needed. */
export class Resources {
  #client;
  #made = new Map();

  /** `client` calls in the brand. */
  constructor(client, brandId) {
    this.#client = client;
    this.#made.set('brand', brandId);
  }

  static makes = (kind) => kind === 'brand' || kind in MAKERS || kind in GALLERY;

  id = (kind) => {
    if (!this.#made.has(kind)) this.#made.set(kind, (MAKERS[kind] ?? GALLERY[kind])(this.#client, this.id));
    return this.#made.get(kind);
  };

  /** One of each kind that a brand has: {kind: id}. */
  async all() {
    const made = {};
    for (const kind of ['brand', ...Object.keys(MAKERS)]) made[kind] = await this.id(kind);
    return made;
  }
}
