// Every method of the published client, with arguments of the contract and what it must get. `args` are made from the fixture of
// the test (ids of resources that exist). Without anything else a call must succeed where its operation is built, and answer
// NOT_IMPLEMENTED where it is not; `refused` is another answer of the contract: [status, code, param].
//
// The client is older than the contract (its calls are of an earlier surface), and the server does not bend: OLDER lists its
// spellings that the contract refuses, GONE its methods whose routes the contract removed.

/** No credential but a signed-in administrator's session reaches the keys. */
const FOR_ADMINISTRATORS = [403, 'INSUFFICIENT_ROLE', 'org_admin'];

/** The server of this test has no public address, under which it could host pictures. */
const WITHOUT_PUBLIC_URL = [503, 'SERVICE_UNAVAILABLE'];

export const CALLS = {
  'withBrand': 'makes another client',

  'health.get': () => [],
  'help.get': () => [],
  'usage.get': () => [],
  'integrations.list': () => [],

  'brands.list': () => [{ limit: 10 }],
  'brands.get': ({ brandId }) => [{ brandId }],
  'brands.create': () => [{ url: 'https://shop.example' }],
  'brand.get': () => [],
  'brand.patch': () => [{ identity: { tagline: 'Letters' } }],
  'brand.update': () => [{ identity: { brandName: 'Shop', address: '1 Main Street' } }],
  'brand.getImages': () => [{ sort: 'newest' }],

  'apiKeys.list': { args: () => [], refused: FOR_ADMINISTRATORS },
  'apiKeys.create': { args: () => [{ name: 'Mine' }], refused: FOR_ADMINISTRATORS },
  'apiKeys.revoke': { args: () => [{ keyId: 'key_0000000000000' }], refused: FOR_ADMINISTRATORS },

  'analytics.overview': () => [{}],
  'analytics.automations': () => [{}],
  'analytics.events': ({ sendId }) => [{ sendId, limit: 5 }],
  'analytics.eventsAll': () => [{ eventType: 'delivered' }],

  'audiences.list': () => [{ limit: 5, include: ['count'] }],
  'audiences.create': () => [{ name: 'Adas', filters: { logic: 'and', filters: [{ field: 'firstName', operator: 'equals', value: 'Ada' }] } }],
  'audiences.fromEvents': ({ since }) => [{ name: 'Reached', eventTypes: ['delivered'], from: since }],
  'audiences.duplicate': ({ audienceId }) => [{ audienceId }],
  'audiences.update': ({ audienceId }) => [{ audienceId, name: 'Everybody' }],
  'audiences.delete': ({ spareAudienceId }) => [{ audienceId: spareAudienceId }],

  'contacts.upsert': () => [{ email: 'new@example.com', firstName: 'New', customFields: { plan: 'team' } }],
  'contacts.upsertMany': () => [{ contacts: [{ email: 'a1@example.com' }, { email: 'a2@example.com' }] }],
  'contacts.search': () => [{ filters: [{ field: 'email', operator: 'ends_with', value: '@example.com' }], logic: 'and', limit: 5 }],
  'contacts.searchAll': () => [{ search: 'example' }],
  'contacts.count': () => [{}],
  'contacts.patch': () => [{ email: 'ada+tag@example.com', fields: { lastName: 'Lovelace' } }],
  'contacts.delete': () => [{ email: 'nobody+x@example.com' }],
  'contacts.deleteMany': () => [{ emails: ['nobody@example.com'] }],
  'contacts.validate': () => [{ emails: ['ada@mailinator.com'] }],
  'contacts.importCsv': () => [{ csv: 'email,firstName\nbea@example.com,Bea\n' }],

  'fields.list': () => [{ limit: 10 }],
  'fields.create': () => [{ fieldName: 'points', fieldType: 'number' }],
  'fields.delete': () => [{ fieldName: 'points' }],

  'emailGroups.list': () => [{ limit: 5 }],
  'emailGroups.create': () => [{ name: 'Spring' }],
  'emailGroups.update': ({ groupId }) => [{ groupId, name: 'Autumn' }],
  'emailGroups.delete': ({ spareGroupId }) => [{ groupId: spareGroupId }],

  'emails.list': () => [{ limit: 5, sortBy: 'createdAt' }],
  'emails.generate': () => [{ prompt: 'A welcome letter' }],
  'emails.import': () => [{ format: 'html', content: '<html><body><p>Hi</p></body></html>', title: 'Imported' }],
  // The tool is not connected, which is said as the contract's own refusal.
  'emails.importFigma': {
    args: () => [{ figmaUrl: 'https://www.figma.com/design/abc/Letter?node-id=1-2' }],
    refused: [422, 'FIGMA_NOT_CONNECTED'],
  },
  'emails.clone': ({ emailId }) => [{ emailId, title: 'A copy' }],
  'emails.edit': ({ emailId }) => [{ emailId, title: 'Another title' }],
  'emails.restore': ({ emailId, emailVersionId }) => [{ emailId, emailVersionId }],
  'emails.delete': ({ spareEmailId }) => [{ emailId: spareEmailId }],
  'emails.export': {
    args: ({ emailId }) => [{ emailId, provider: 'klaviyo' }],
    refused: [400, 'INTEGRATION_NOT_CONNECTED', 'provider'],
  },
  'emails.send': ({ emailId, domainId }) => [{ emailId, domainId, audienceId: 'all', subject: 'Hello' }],
  'emails.auditEmail': ({ emailId }) => [{ emailId }],
  'emails.previewClients': ({ emailId }) => [{ emailId, clients: ['text'] }],
  'emails.createInboxPlacementTest': {
    args: ({ emailId, domainId }) => [{ emailId, domainId }],
    refused: [422, 'DOMAIN_NOT_READY', 'domainId'], // mail of the sandbox domain leaves the machine never
  },
  'emails.getInboxPlacementResults': ({ emailId }) => [{ emailId }],

  'sends.cancel': ({ scheduledSendId }) => [scheduledSendId],
  'sends.pause': { args: ({ sendId }) => [sendId], refused: [409, 'SEND_NOT_PAUSABLE', 'sendId'] },
  'sends.resume': { args: ({ sendId }) => [sendId], refused: [409, 'SEND_NOT_RESUMABLE', 'sendId'] },

  'templates.list': () => [{ limit: 2 }],
  'flows.list': () => [{ limit: 2 }],

  'domains.list': () => [{ limit: 5 }],
  'domains.add': () => [{ name: 'news.shop.example' }],
  'domains.verify': ({ domainId }) => [{ domainId }],
  'domains.updateSettings': ({ domainId }) => [{ domainId, defaultSenderName: 'Shop' }],
  'domains.delete': () => [{ domainId: 'dom_0000000000000' }],

  'automations.list': () => [{ limit: 5 }],
  'automations.create': ({ graph }) => [{ name: 'Welcome', ...graph }],
  'automations.test': ({ automationId }) => [{ automationId }],
  'automations.run': ({ launchedAutomationId }) => [{ automationId: launchedAutomationId, dryRun: true }],
  'automations.patch': ({ automationId }) => [{ automationId, name: 'Other' }],
  'automations.publish': ({ automationId }) => [{ automationId }],
  'automations.unpublish': ({ automationId }) => [{ automationId }],
  'automations.delete': ({ automationId }) => [{ automationId }],
  'automations.triggers.list': () => [{ limit: 5 }],
  'automations.triggers.create': () => [{ title: 'Signed up', payloadSchema: { fields: [{ key: 'email', type: 'string', required: true }] } }],
  'automations.triggers.fire': ({ firedTriggerEventId }) => [{ triggerEventId: firedTriggerEventId, payload: { email: 'ada@example.com' } }],
  'automations.triggers.patch': ({ triggerEventId }) => [{ triggerEventId, title: 'Other' }],
  'automations.triggers.delete': ({ spareTriggerEventId }) => [{ triggerEventId: spareTriggerEventId }],
  'automations.triggers.getContract': ({ triggerEventId }) => [{ triggerEventId }],
  'automations.triggers.putContract': ({ triggerEventId }) => [{ triggerEventId, enforcement: 'off' }],
  'automations.triggers.validatePayload': ({ triggerEventId }) => [{ triggerEventId, payload: {} }],
  'automations.runs.list': () => [{ limit: 5 }],
  'automations.audienceRuns.list': () => [{ limit: 5 }],
  'payloadContracts.infer': () => [{ example: { email: 'ada@example.com' } }],

  'content.gif': { args: () => [{ from: 'prompt', prompt: 'A cat' }], refused: WITHOUT_PUBLIC_URL },
  'content.transform': { args: () => [{ operation: 'optimize', imageUrl: 'https://example.com/a.png' }], refused: WITHOUT_PUBLIC_URL },
  'content.htmlToPng': { args: () => [{ html: '<p>Hi</p>' }], refused: WITHOUT_PUBLIC_URL },
  'content.addImage': { args: () => [{ imageUrl: 'https://example.com/a.png' }], refused: WITHOUT_PUBLIC_URL },
};

/** Methods whose routes the contract does not have: what they ask for, and the answer. */
export const GONE = {
  'analytics.campaigns': { args: () => [], answer: [404, 'NOT_FOUND'] },
  'analytics.sends.list': { args: () => [], answer: [404, 'NOT_FOUND'] },
  'analytics.sends.listAll': { args: () => [], answer: [404, 'NOT_FOUND'] },
  'analytics.triggerInstances.list': { args: () => [], answer: [404, 'NOT_FOUND'] },
  'analytics.triggerInstances.listAll': { args: () => [], answer: [404, 'NOT_FOUND'] },
  'automations.audienceRuns.control': {
    args: () => [{ audienceRunId: 'run_1', action: 'pause' }], answer: [404, 'NOT_FOUND'],
  },
  'automations.triggers.ready': { args: () => [{ triggerEventId: 'trg_1' }], answer: [405, 'METHOD_NOT_ALLOWED'] },
  'automations.runs.cancel': { args: () => [{ automationRunId: 'run_1' }], answer: [405, 'METHOD_NOT_ALLOWED'] },
  'chats.get': { args: () => ['chat_1'], answer: [404, 'NOT_FOUND'] },
  'data.run': { args: () => [{ command: 'db contacts' }], answer: [404, 'NOT_FOUND'] },
  'content.generateImage': { args: () => [{ prompt: 'A cat' }], answer: [404, 'NOT_FOUND'] },
  'domains.health': { args: ({ domainId }) => [{ domainId }], answer: [404, 'NOT_FOUND'] },
};

/** What the client's own types ask for and the contract refuses, always as 400 with the name: identity is in the path alone. */
export const OLDER = [
  { method: 'emails.list', args: ({ emailId }) => [{ emailId }], param: 'emailId' },
  { method: 'audiences.list', args: ({ audienceId }) => [{ audienceId }], param: 'audienceId' },
  { method: 'automations.list', args: () => [{ automationId: 'auto_1' }], param: 'automationId' },
  { method: 'automations.runs.list', args: () => [{ automationRunId: 'run_1' }], param: 'automationRunId' },
  { method: 'automations.triggers.list', args: () => [{ triggerEventId: 'trg_1' }], param: 'triggerEventId' },
  { method: 'domains.list', args: ({ domainId }) => [{ domainId }], param: 'domainId' },
  { method: 'brand.get', args: () => [{ include: ['identity'] }], param: 'include' },
  { method: 'brands.list', args: () => [{ status: 'completed' }], param: 'status' },
  // Filters are one object with `logic`, the cohort's members stand at the top, and a folder is groupId.
  {
    method: 'audiences.create', param: 'filters.logicalOperator',
    args: () => [{ name: 'Adas', filters: { logicalOperator: 'and', filters: [{ field: 'firstName', operator: 'equals', value: 'Ada' }] } }],
  },
  { method: 'audiences.update', args: ({ audienceId }) => [{ audienceId, expectedUpdatedAt: '2026-01-01T00:00:00Z' }], param: 'expectedUpdatedAt' },
  { method: 'emails.clone', args: ({ emailId, groupId }) => [{ emailId, targetGroupId: groupId }], param: 'targetGroupId' },
  { method: 'emails.import', args: ({ groupId }) => [{ format: 'html', content: '<p>Hi</p>', targetGroupId: groupId }], param: 'targetGroupId' },
  { method: 'emails.list', args: () => [{ status: 'complete' }], param: 'status' },
  { method: 'emails.send', args: ({ emailId, domainId }) => [{ emailId, domainId, audienceId: 'all', subject: 'Hi', payload: { a: 1 } }], param: 'payload' },
];
