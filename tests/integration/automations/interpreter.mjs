// An interpreter of automations that knows only the documents: nothing of SQL, of the stepper or of the sender. It gives the path of a
// run, with its branches and times, and the messages that it sends. Times are microseconds since 1970.
//
// The world of a run acts at points in time: events are fired, and recipients open and click. A run that is due at the time of an act
// is stepped before the act; a run that the act wakes knows it. With `isExact` (a simulation) whatever has the same time is known.

const UNIT_US = { ms: 1e3, seconds: 1e6, minutes: 60e6, hours: 3600e6, days: 86400e6, weeks: 604800e6 };
const VISITS_MAX = 1000;

export const spanOf = ({ duration, unit }) => duration * UNIT_US[unit];
const timeOf = (text) => Date.parse(text) * 1000;

// ---- What is known ----

const knows = (run, at) => at < run.at || (at === run.at && (run.isWoken || run.isExact));

/** Each fire saves the scalar members of its payload as fields of the contact. */
function contactOf(run) {
  const contact = structuredClone(run.contact);
  for (const { at, payload } of run.fires)
    if (knows(run, at) || at === run.startedAt)
      for (const [name, value] of Object.entries(payload))
        if (name !== 'email' && typeof value !== 'object') contact.customFields[name] = value;
  return contact;
}

const follow = (value, names) => names.reduce((at, name) => (at !== null && typeof at === 'object' ? at[name] : undefined), value);

function valueOf(field, run) {
  const [root, ...names] = field.split('.');
  const { payload } = run;
  if (root === 'payload') return follow(payload, names);
  const contact = contactOf(run);
  if (root === 'contact') return follow(contact, names);
  return Object.hasOwn(payload, root) ? follow(payload, [root, ...names]) : follow({ ...contact.customFields, ...contact }, [root, ...names]);
}

// ---- Conditions ----

const lower = (value) => (typeof value === 'string' ? value.toLowerCase() : '');

const HOLDS = {
  equals: (value, wanted) => value === wanted,
  contains: (value, wanted) => lower(value).includes(wanted.toLowerCase()),
  starts_with: (value, wanted) => lower(value).startsWith(wanted.toLowerCase()),
  in: (value, wanted) => wanted.includes(value),
  gt: (value, wanted) => value > wanted,
  gte: (value, wanted) => value >= wanted,
  lt: (value, wanted) => value < wanted,
  lte: (value, wanted) => value <= wanted,
  between: (value, [least, most]) => value >= least && value <= most,
  is_true: (value) => value === true,
  is_false: (value) => value === false,
  before: (value, wanted) => timeOf(value) < timeOf(wanted),
  after: (value, wanted) => timeOf(value) > timeOf(wanted),
  exists: () => true,
};

function conditionHolds({ field, operator, value: wanted }, run) {
  const value = valueOf(field, run);
  const has = value !== undefined && value !== null;
  if (operator.endsWith('_empty')) return (has && value !== '') === (operator === 'is_not_empty');
  const isNegated = operator.startsWith('not_');
  return (has && HOLDS[isNegated ? operator.slice(4) : operator](value, wanted)) !== isNegated;
}

const groupHolds = ({ logicalOperator, conditions }, run) =>
  conditions[logicalOperator === 'AND' ? 'every' : 'some']((condition) => conditionHolds(condition, run));

// ---- Local times ----

const clocks = new Map();

function clockOf(timeZone) {
  if (!clocks.has(timeZone)) clocks.set(timeZone, new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }));
  return clocks.get(timeZone);
}

/**
 * Goes on until a clock in the zone shows the time; zones differ by quarters of an hour, so most minutes cannot be it. A run arrives a
 * little later than planned, unless it is exact.
 */
function localTime({ localTime: wanted, weekdays }, run) {
  const clock = clockOf(run.zone);
  const quarter = Number(wanted.slice(3)) % 15;
  let minute = Math.ceil(run.enteredAt / 60e6);
  if (!run.isExact && minute * 60e6 === run.enteredAt) minute++;
  for (minute += (15 + quarter - (minute % 15)) % 15; ; minute += 15) {
    const parts = Object.fromEntries(clock.formatToParts(minute * 60e3).map(({ type, value }) => [type, value]));
    if (`${parts.hour}:${parts.minute}` === wanted && (weekdays ?? [parts.weekday.toLowerCase()]).includes(parts.weekday.toLowerCase())) return minute * 60e6;
  }
}

// ---- Nodes: {branch}, {failed}, or {until, wakes}: look again at this time, or at the first of these acts ----

const dueAt = (run, until) => (run.at >= until ? {} : { until, wakes: [] });

function untilDate({ field, offset }, run) {
  const date = timeOf(valueOf(field, run));
  return Number.isNaN(date) ? { failed: true } : dueAt(run, date + (offset ? spanOf(offset) * (offset.before ? -1 : 1) : 0));
}

/** In a loop an event ends one visit of a node only. */
function forEvent({ triggerEventId, timeout }, node, run) {
  const until = run.enteredAt + spanOf(timeout);
  const last = run.path.findLast(({ nodeId }) => nodeId === node.id);
  const isNew = ({ at }) => last === undefined || (last.branch === 'event' ? at > last.eventAt : at >= last.at);
  const events = run.fires.filter((fire) => fire.trigger === triggerEventId && fire.at > run.startedAt && isNew(fire));
  const first = events.find(({ at }) => knows(run, at));
  if (first !== undefined) return { branch: 'event', eventAt: first.at };
  return run.at >= until ? { branch: 'timeout' } : { until, wakes: events.map(({ at }) => at) };
}

function engaged(config, run) {
  const branches = config.branches ?? ['clicked', 'opened', 'otherwise'];
  const mail = run.mails.findLast(({ nodeId }) => nodeId === config.sourceNodeId);
  if (mail === undefined || !mail.isSent) return { branch: 'otherwise' };
  const until = run.enteredAt + spanOf(config.window);
  const firstOf = (types) => Math.min(...mail.hits.filter(({ type }) => types.includes(type)).map(({ at }) => at));
  const clicked = firstOf(['clicked']);
  const opened = firstOf(['opened', 'clicked']);
  const isOver = run.at >= until;
  const counts = (at) => knows(run, at) && at <= until;
  if (branches.includes('clicked') && counts(clicked)) return { branch: 'clicked' };
  if (branches.includes('opened') && counts(opened) && (isOver || !branches.includes('clicked'))) return { branch: 'opened' };
  return isOver ? { branch: 'otherwise' } : { until, wakes: [clicked, opened] };
}

const STEP = {
  trigger: () => ({}),
  sendEmail(node, run) {
    const drawn = run.engagement[node.id]?.[run.mails.filter(({ nodeId }) => nodeId === node.id).length] ?? [];
    run.mails.push({ nodeId: node.id, at: run.at, isSent: run.isMailable, hits: drawn.map(({ type, after }) => ({ type, at: run.at + after })) });
    return {};
  },
  wait(node, run) {
    const { config } = node;
    if (config.until) return untilDate(config.until, run);
    if (config.event) return forEvent(config.event, node, run);
    return dueAt(run, config.localTime ? localTime(config, run) : run.enteredAt + spanOf(config));
  },
  filter: ({ config }, run) => (config.sourceNodeId === undefined ? { branch: String(groupHolds(config, run)) } : engaged(config, run)),
  split({ id, config }, run) {
    const forced = run.splits(id);
    if (forced === undefined && config.conditions !== undefined) return { branch: groupHolds(config, run) ? 'left' : 'right' };
    return { branch: config.leftPercentage === 0 ? 'right' : config.leftPercentage === 100 ? 'left' : forced };
  },
};

// ---- Runs ----

/** Looks at the node until the run leaves it. The exit conditions of the trigger are checked at each look. */
function visit(node, exit, run) {
  run.enteredAt = run.at;
  for (;;) {
    if (exit !== undefined && groupHolds(exit, run)) return { status: 'skipped' };
    const { until, wakes, failed, ...left } = STEP[node.type](node, run);
    if (failed) return { status: 'failed' };
    if (until === undefined) return { status: 'completed', ...left };
    const wake = Math.min(...wakes.filter((at) => !knows(run, at)));
    run.isWoken = wake < until;
    run.at = run.isWoken ? wake : until;
  }
}

/**
 * One run of a graph.
 *
 *     contact      {customFields: {…}, firstName, …} before any fire
 *     payload, startedAt
 *     fires        [{at, trigger, payload}] of the address, in the order of time, with that which started the run
 *     engagement   {nodeId: [[{type, after}], …]}: of each message of a node, after the hand-over
 *     isMailable   false: every message is skipped
 *     splits(id)   the branch of a split by share, which only the product knows, or that of a test
 *     zone, isExact
 *
 * Gives {status, path: [{nodeId, status, branch, enteredAt, at}], mails: [{nodeId, at, isSent, hits}]}.
 */
export function interpret({ nodes, connections }, given) {
  const run = { fires: [], engagement: {}, isMailable: true, isExact: false, splits: () => undefined, isWoken: true, ...given, at: given.startedAt, path: [], mails: [] };
  let node = nodes.find(({ type }) => type === 'trigger');
  const { exit } = node.config;
  while (node !== undefined) {
    if (run.path.length === (given.visitsMax ?? VISITS_MAX)) return { status: 'failed', ...run };
    const { status, branch = '', eventAt } = visit(node, exit, run);
    run.path.push({ nodeId: node.id, status, branch, enteredAt: run.enteredAt, at: run.at, eventAt });
    if (status !== 'completed') return { ...run, status: status === 'failed' ? 'failed' : 'completed' };
    const from = node.id;
    const next = connections.find((connection) => connection.from === from && (connection.branch ?? '') === branch);
    node = nodes.find(({ id }) => id === next?.to);
  }
  return { ...run, status: 'completed' };
}

/** Which fires of the trigger of an automation start a run: [true, false, …], by its rule of re-entry. */
export function startsOf({ nodes }, fires) {
  const { reentry } = nodes.find(({ type }) => type === 'trigger').config;
  let last;
  return fires.map(({ at }) => {
    const mode = last === undefined ? 'always' : reentry?.mode ?? 'always';
    const isStarted = mode === 'always' || (mode === 'after' && at - last >= spanOf(reentry));
    if (isStarted) last = at;
    return isStarted;
  });
}
