// An interpreter of automations that knows nothing of SQL, of the stepper or of the sender. It gives the path, the branches and the
// mails that a run must have. Times are seconds after the fire.

const UNIT_S = { minutes: 60, hours: 3600, days: 86400, weeks: 604800 };
export const secondsOf = ({ duration, unit }) => duration * UNIT_S[unit];

// ---- Conditions ----

const follow = (value, names) => names.reduce((at, name) => (at !== null && typeof at === 'object' ? at[name] : undefined), value);

function valueOf(field, { contact, payload }) {
  const [root, ...names] = field.split('.');
  if (root === 'payload') return follow(payload, names);
  if (root === 'contact') return follow(names[0] === 'customFields' ? contact.customFields : contact, names[0] === 'customFields' ? names.slice(1) : names);
  return Object.hasOwn(payload, root) ? follow(payload, [root, ...names]) : follow({ ...contact.customFields, ...contact }, [root, ...names]);
}

const HOLDS = {
  equals: (value, wanted) => value === wanted,
  contains: (value, wanted) => value.toLowerCase().includes(wanted.toLowerCase()),
  starts_with: (value, wanted) => value.toLowerCase().startsWith(wanted.toLowerCase()),
  gt: (value, wanted) => value > wanted,
  lte: (value, wanted) => value <= wanted,
  is_true: (value) => value === true,
  exists: () => true,
};

function conditionHolds({ field, operator, value: wanted }, facts) {
  const negated = operator.startsWith('not_');
  const value = valueOf(field, facts);
  const holds = value !== undefined && value !== null && HOLDS[negated ? operator.slice(4) : operator](value, wanted);
  return holds !== negated;
}

const groupHolds = ({ logicalOperator, conditions }, facts) =>
  conditions[logicalOperator === 'AND' ? 'every' : 'some']((condition) => conditionHolds(condition, facts));

// ---- Nodes ----

/** What a recipient did with the message of a node: [{type, afterS}], seconds after the hand-over. */
function engagementBranch(config, at, run) {
  const branches = config.branches ?? ['clicked', 'opened', 'otherwise'];
  const sent = run.mails.find(({ nodeId }) => nodeId === config.sourceNodeId);
  if (sent === undefined) return { branch: 'otherwise', at };
  const ends = Math.max(at, sent.at) + secondsOf(config.window);
  const first = (types) => Math.min(...(run.engagement[config.sourceNodeId] ?? []).filter(({ type }) => types.includes(type)).map(({ afterS }) => sent.at + afterS), Infinity);
  const times = { clicked: first(['clicked']), opened: first(['opened', 'clicked']) };
  const best = branches.filter((name) => name !== 'otherwise');
  for (const [i, name] of best.entries()) {
    if (times[name] > ends) continue;
    // The best branch is taken when it happens, any other only when no better one can come any more.
    return { branch: name, at: Math.max(at, i === 0 ? times[name] : ends) };
  }
  return { branch: 'otherwise', at: best.length === 0 ? at : ends };
}

const STEP = {
  trigger: (config, at) => ({ branch: undefined, at }),
  sendEmail(config, at, run, node) {
    run.mails.push({ nodeId: node.id, at });
    return { branch: undefined, at };
  },
  wait: (config, at) => ({ branch: undefined, at: at + secondsOf(config) }),
  filter(config, at, run) {
    if (config.sourceNodeId !== undefined) return engagementBranch(config, at, run);
    return { branch: String(groupHolds(config, run)), at };
  },
  split(config, at, run, node) {
    if (config.conditions !== undefined) return { branch: groupHolds(config, run) ? 'left' : 'right', at };
    return { branch: run.splits(node.id), at };
  },
};

/**
 * `run`: {contact, payload, engagement, splits}; splits(nodeId) tells the branch of a split by share, which only the product knows.
 * Gives {path: [{nodeId, branch, at}], mails: [{nodeId, at}]}; `at` of a path entry is the time at which the node was left.
 */
export function interpret(graph, { contact, payload, engagement, splits }) {
  const run = { contact, payload, engagement, splits, mails: [] };
  const path = [];
  let at = 0;
  let node = graph.nodes.find(({ type }) => type === 'trigger');
  while (node !== undefined) {
    const left = STEP[node.type](node.config, at, run, node);
    at = left.at;
    path.push({ nodeId: node.id, branch: left.branch, at });
    const from = node.id;
    const next = graph.connections.find((connection) => connection.from === from && connection.branch === left.branch);
    node = graph.nodes.find(({ id }) => id === next?.to);
  }
  return { path, mails: run.mails };
}
