// Random automations with contacts, fires and reactions, from a seed. A case is plain JSON, so that it can be printed, made smaller and
// played again:
//
//     {graph: {nodes, connections}, contacts: [{firstName, isMailable, fires: [{hour, trigger, payload, engagement}]}]}
//
// The triggers of a case are `own`, which starts its runs, and `other`. Hours count from the beginning of the world; `payload.at` is
// such an hour, too. The engagement of a fire is what the recipient does with the messages of its run: {nodeId: [[{type, hours}], …]}.

import { interpret, startsOf } from './interpreter.mjs';

export const HOUR_US = 3600e6;
export const VISITS_MAX = 60; // longer runs are not drawn
const HOURS_MAX = 45 * 24;
const PLANS = ['free', 'pro', 'Team'];
const NAMES = ['Ada', 'Bob', 'Cyd'];
const DEPTH_MAX = 6;
const NODES_MAX = 40;
const SHARES_MAX = 3; // of a graph: every way through them is tried
const TRIES = 20;

// ---- Graphs ----

const conditionOf = (random, fields) => random.pick([
  () => ({ field: random.pick(fields.plan), operator: random.pick(['equals', 'not_equals', 'contains', 'starts_with']), value: random.pick([...PLANS, 'p']) }),
  () => ({ field: random.pick(fields.trial), type: 'bool', operator: random.pick(['is_true', 'is_false']) }),
  () => ({ field: random.pick(fields.coupon), operator: random.pick(['exists', 'not_exists']) }),
  () => ({ field: 'payload.order.total', type: 'number', operator: random.pick(['gt', 'lte']), value: random.below(100) }),
  () => ({ field: 'contact.firstName', operator: 'contains', value: random.pick(['a', 'B', 'x']) }),
])();

const ANY_FIELDS = Object.fromEntries(['plan', 'trial', 'coupon'].map((name) => [name, [`payload.${name}`, name, `contact.customFields.${name}`]]));
const CONTACT_FIELDS = Object.fromEntries(['plan', 'trial', 'coupon'].map((name) => [name, [`contact.customFields.${name}`]]));

const conditionsOf = (random, fields = ANY_FIELDS) => ({
  logicalOperator: random.pick(['AND', 'OR']),
  conditions: Array.from({ length: 1 + random.below(3) }, () => conditionOf(random, fields)),
});

const hours = (random, list) => ({ duration: random.pick(list), unit: 'hours' });
const spanWait = (random) => random.pick([() => hours(random, [6, 12, 24, 36]), () => ({ duration: 2, unit: 'days' })])();

const waitOf = (random) => random.pick([
  spanWait, spanWait,
  () => ({ localTime: random.pick(['08:50', '18:50']), ...(random.below(2) && { weekdays: random.pick([['monday'], ['sunday', 'wednesday'], ['friday', 'saturday', 'tuesday']]) }) }),
  () => ({ until: { field: random.pick(['payload.at', 'at']), ...(random.below(2) && { offset: { ...hours(random, [6, 24]), before: random.below(2) === 0 } }) } }),
])(random);

function triggerOf(random) {
  const reentry = random.pick([undefined, { mode: 'always' }, { mode: 'once' }, { mode: 'after', duration: 30 * 60 + 30, unit: 'minutes' }]);
  return { mode: 'event', triggerEventId: 'own', ...(reentry && { reentry }), ...(random.below(3) === 0 && { exit: conditionsOf(random, CONTACT_FIELDS) }) };
}

class GraphMaker {
  nodes = [];
  connections = [];
  #random;
  #closed = []; // subtrees that refer to nothing in front of them
  #shares = 0;

  constructor(random) {
    this.#random = random;
    this.#add('start', 'trigger', triggerOf(random));
    this.#connect('start', undefined, this.#grow(0, [], []));
  }

  #add(id, type, config) {
    this.nodes.push({ id, type, config });
    return id;
  }

  /** A connection has ends of its own: another one of the same ends goes by way of a wait. */
  #connect(from, branch, to) {
    const isTaken = this.connections.some((connection) => connection.from === from && connection.to === to.id);
    const end = isTaken ? this.#wait(hours(this.#random, [6]), to.id) : to.id;
    this.connections.push({ from, to: end, ...(branch && { branch }) });
  }

  #wait(config, to) {
    const id = this.#add(`n${this.nodes.length}`, 'wait', config);
    this.connections.push({ from: id, to });
    return id;
  }

  /** [type, config, branches] of a node that may follow these messages. */
  #draw(mails, isLeaf) {
    const random = this.#random;
    const kinds = {
      sendEmail: () => ['sendEmail', {}, [undefined]],
      wait: () => ['wait', waitOf(random), [undefined]],
      event: () => ['wait', { event: { triggerEventId: random.pick(['own', 'other', 'other']), timeout: hours(random, [24, 48, 72]) } }, ['event', 'timeout']],
      filter: () => ['filter', conditionsOf(random), ['true', 'false']],
      choice: () => ['split', conditionsOf(random), ['left', 'right']],
      share: () => ['split', { leftPercentage: random.pick(this.#shares++ < SHARES_MAX ? [0, 30, 50, 100] : [0, 100]) }, ['left', 'right']],
      engagement: () => {
        const branches = random.pick([undefined, ['clicked', 'otherwise'], ['opened', 'otherwise'], ['otherwise']]);
        const config = { sourceNodeId: random.pick(mails), window: hours(random, [24, 48]), ...(branches && { branches }) };
        return ['filter', config, branches ?? ['clicked', 'opened', 'otherwise']];
      },
    };
    const names = ['sendEmail', 'sendEmail', 'wait', 'event', 'event', 'filter', 'choice', 'share', ...(mails.length > 0 ? ['engagement', 'engagement'] : [])];
    return kinds[random.pick(isLeaf ? ['sendEmail', 'wait'] : names)]();
  }

  /** Makes a subtree: {id, isClosed}. `before` are the nodes in front of it. */
  #grow(depth, mails, before) {
    const random = this.#random;
    if (this.#closed.length > 0 && random.below(6) === 0) return { id: random.pick(this.#closed), isClosed: true };
    const isLeaf = depth >= DEPTH_MAX || this.nodes.length > NODES_MAX;
    const [type, config, branches] = this.#draw(mails, isLeaf);
    const id = this.#add(`n${this.nodes.length}`, type, config);
    let isClosed = config.sourceNodeId === undefined;
    if (isLeaf) return { id, isClosed };
    for (const branch of branches) {
      const isNeeded = branch === branches.at(-1) && !this.connections.some(({ from }) => from === id); // one branch must lead on
      if (branch && random.below(12) === 0 && !isNeeded) continue;
      const isLoop = config.leftPercentage === undefined && before.length > 0 && branch && random.below(4) === 0;
      const next = isLoop ? { id: this.#wait(spanWait(random), random.pick(before)) } : this.#grow(depth + 1, type === 'sendEmail' ? [...mails, id] : mails, [...before, id]);
      this.#connect(id, branch, next);
      isClosed &&= !isLoop && next.isClosed;
    }
    if (isClosed) this.#closed.push(id);
    return { id, isClosed };
  }
}

// ---- Contacts ----

const payloadOf = (random) => ({
  ...(random.below(3) > 0 && { plan: random.pick(PLANS) }),
  ...(random.below(3) > 0 && { trial: random.below(2) === 0 }),
  ...(random.below(4) === 0 && { coupon: 'C10' }),
  ...(random.below(6) > 0 && { at: random.pick([-30, 0, 18, 54, 102]) }),
  order: { total: random.below(100) },
});

const REACTIONS = [
  [], [], [{ type: 'opened', hours: 6 }], [{ type: 'clicked', hours: 6 }], [{ type: 'opened', hours: 6 }, { type: 'clicked', hours: 18 }], [{ type: 'clicked', hours: 78 }],
];

const engagementOf = (random, graph) => Object.fromEntries(graph.nodes.filter(({ type }) => type === 'sendEmail')
  .map(({ id }) => [id, Array.from({ length: 3 }, () => random.pick(REACTIONS))]));

/** Fires of an address are at different hours; the first starts a run. */
function contactOf(random, graph) {
  const later = new Set(Array.from({ length: random.below(5) }, () => 6 * (1 + random.below(20))));
  return {
    firstName: random.pick(NAMES),
    isMailable: random.below(8) > 0,
    fires: [0, ...[...later].sort((a, b) => a - b)].map((hour) => ({
      hour, trigger: hour === 0 ? 'own' : random.pick(['own', 'other', 'other']), payload: payloadOf(random), engagement: engagementOf(random, graph),
    })),
  };
}

// ---- What is expected of a case ----

/** A fire as the service gets it. A trigger that nothing listens for refuses fires, so these are left out. */
export function firesOf({ graph }, contact, baseUs) {
  const isHeard = contact.fires.some(({ trigger }) => trigger === 'other') && graph.nodes.some(({ config }) => config.event?.triggerEventId === 'other');
  const instant = (hour) => baseUs + hour * HOUR_US;
  return contact.fires.filter(({ trigger }) => trigger === 'own' || isHeard).map((fire) => ({
    ...fire, at: instant(fire.hour), payload: { ...fire.payload, ...('at' in fire.payload && { at: new Date(instant(fire.payload.at) / 1000).toISOString() }) },
  }));
}

/** The fires that start runs, each with `interpret(splits)`, which gives its run. */
export function runsOf(drawn, contact, baseUs, zone) {
  const fires = firesOf(drawn, contact, baseUs);
  const own = fires.filter(({ trigger }) => trigger === 'own');
  const starts = startsOf(drawn.graph, own);
  return own.filter((fire, i) => starts[i]).map((fire) => ({
    fire,
    interpret: (splits, visitsMax) => interpret(drawn.graph, {
      contact: { firstName: contact.firstName, customFields: {} }, isMailable: contact.isMailable, zone, fires, startedAt: fire.at, payload: fire.payload, splits, visitsMax,
      engagement: Object.fromEntries(Object.entries(fire.engagement ?? {}).map(([id, mails]) => [id, mails.map((hits) => hits.map(({ type, hours: after }) => ({ type, after: after * HOUR_US })))])),
    }),
  }));
}

export const isShare = ({ config }) => config.leftPercentage > 0 && config.leftPercentage < 100;

/** Every run ends soon, whichever branches the splits by share take. */
export function endsSoon(drawn, contact, baseUs, zone) {
  const shares = drawn.graph.nodes.filter(isShare).map(({ id }) => id);
  for (const { interpret: run } of runsOf(drawn, contact, baseUs, zone))
    for (let way = 0; way < 1 << shares.length; way++) {
      const { path } = run((id) => (shares.includes(id) ? (way & (1 << shares.indexOf(id)) ? 'left' : 'right') : undefined), VISITS_MAX);
      if (path.length >= VISITS_MAX || path.at(-1).at > baseUs + HOURS_MAX * HOUR_US) return false;
    }
  return true;
}

/** The exit conditions do not hold from the beginning. */
const begins = (drawn, contact, baseUs, zone) => runsOf(drawn, contact, baseUs, zone)[0].interpret(() => 'left', VISITS_MAX).path[0].status === 'completed';

// ---- Cases ----

export function randomCase(random, contactCount, baseUs, zone) {
  for (;;) {
    const { nodes, connections } = new GraphMaker(random);
    const drawn = { graph: { nodes, connections }, contacts: [] };
    for (let i = 0; i < TRIES * contactCount && drawn.contacts.length < contactCount; i++) {
      const contact = contactOf(random, drawn.graph);
      if (endsSoon(drawn, contact, baseUs, zone) && (begins(drawn, contact, baseUs, zone) || random.below(8) === 0)) drawn.contacts.push(contact);
    }
    if (drawn.contacts.length === contactCount) return drawn;
  }
}

/** Beside the changes of the clocks, and a day that only leap years have. Every base is at twenty past an hour, no local time of a wait is. */
const BASES = [
  ['2027-03-26T07:20:00Z', 'Europe/Lisbon'], ['2027-10-29T18:20:00Z', 'Europe/Lisbon'], ['2027-03-12T12:20:00Z', 'America/New_York'],
  ['2027-11-05T03:20:00Z', 'America/New_York'], ['2028-02-27T20:20:00Z', 'Asia/Kolkata'], ['2027-12-30T10:20:00Z', 'Australia/Lord_Howe'],
];
const KILLS = 6;
const POINTS = 40; // most worlds have more; few points are at times of their own, because each costs a second
const KILL_WITHIN_MS = 300;

/** {seed, base, zone, kills: [{point, ms}], cases}. */
export function randomWorld(random, seed, count, contactCount) {
  const [base, zone] = BASES[seed % BASES.length];
  const cases = Array.from({ length: count }, () => randomCase(random, contactCount, Date.parse(base) * 1000, zone));
  const kills = Array.from({ length: KILLS }, () => ({ point: random.below(POINTS), ms: random.below(KILL_WITHIN_MS) }));
  return { seed, base, zone, kills, cases };
}
