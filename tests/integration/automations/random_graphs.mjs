// Random automations, payloads and reactions of recipients, from a seed. Every branch leads on, so each graph can be published.

const HOUR_S = 3600;
const PLANS = ['free', 'pro', 'Team'];
const DEPTH_MAX = 6;

const condition = (random) => random.pick([
  () => ({ field: 'payload.plan', operator: random.pick(['equals', 'not_equals', 'contains', 'starts_with']), value: random.pick([...PLANS, 'p']) }),
  () => ({ field: 'payload.order.total', type: 'number', operator: random.pick(['gt', 'lte']), value: random.below(100) }),
  () => ({ field: 'payload.trial', type: 'bool', operator: 'is_true' }),
  () => ({ field: 'payload.coupon', operator: random.pick(['exists', 'not_exists']) }),
  () => ({ field: random.pick(['plan', 'contact.customFields.plan']), operator: 'equals', value: random.pick(PLANS) }),
  () => ({ field: 'contact.firstName', operator: 'contains', value: random.pick(['a', 'B', 'x']) }),
])();

const conditions = (random) => ({
  logicalOperator: random.pick(['AND', 'OR']),
  conditions: Array.from({ length: 1 + random.below(3) }, () => condition(random)),
});

const hours = (random, list) => ({ duration: random.pick(list), unit: 'hours' });

/** `mail(nodeId)` gives the config of a sendEmail node. */
export function randomGraph(random, triggerEventId, mail) {
  const nodes = [{ id: 'start', type: 'trigger', config: { mode: 'event', triggerEventId } }];
  const connections = [];
  const closed = []; // subtrees that refer to no message in front of them
  const add = (type, config) => {
    const node = { id: `n${nodes.length}`, type, config };
    nodes.push(node);
    if (type === 'sendEmail') node.config = mail(node.id);
    return node;
  };
  const kinds = {
    sendEmail: () => [add('sendEmail'), [undefined]],
    wait: () => [add('wait', hours(random, [6, 12, 24])), [undefined]],
    filter: () => [add('filter', conditions(random)), ['true', 'false']],
    split: () => [add('split', random.below(2) === 0 ? { leftPercentage: random.pick([0, 30, 50, 100]) } : conditions(random)), ['left', 'right']],
    engagement(mails) {
      const branches = random.pick([undefined, ['clicked', 'otherwise'], ['opened', 'otherwise']]);
      const node = add('filter', { sourceNodeId: random.pick(mails), window: hours(random, [24, 48]), ...(branches && { branches }) });
      return [node, branches ?? ['clicked', 'opened', 'otherwise']];
    },
  };
  /** Makes a subtree: {id, isClosed}. */
  function grow(depth, mails) {
    if (closed.length > 0 && random.below(6) === 0) return { id: random.pick(closed), isClosed: true };
    const isLeaf = depth >= DEPTH_MAX || nodes.length > 40;
    const kind = isLeaf ? random.pick(['wait', 'sendEmail']) : random.pick(['sendEmail', 'sendEmail', 'wait', 'filter', 'split', ...(mails.length > 0 ? ['engagement', 'engagement'] : [])]);
    const [node, branches] = kinds[kind](mails);
    let isClosed = kind !== 'engagement';
    if (isLeaf) return { id: node.id, isClosed };
    for (const branch of branches) {
      const next = grow(depth + 1, kind === 'sendEmail' ? [...mails, node.id] : mails);
      // Two branches to one node would be two connections of the same ends.
      if (connections.some(({ from, to }) => from === node.id && to === next.id)) next.id = add('wait', hours(random, [6])).id;
      connections.push({ from: node.id, to: next.id, ...(branch && { branch }) });
      isClosed &&= next.isClosed;
    }
    if (isClosed) closed.push(node.id);
    return { id: node.id, isClosed };
  }
  connections.push({ from: 'start', to: grow(0, []).id });
  return { nodes, connections };
}

export function randomPayload(random, email, marker) {
  return {
    email,
    ...(random.below(3) > 0 && { plan: random.pick(PLANS) }),
    ...(random.below(3) > 0 && { trial: random.below(2) === 0 }),
    ...(random.below(3) === 0 && { coupon: 'C10' }),
    order: { total: random.below(100), note: marker },
  };
}

/** What a recipient does with the messages of a graph: {nodeId: [{type, afterS}]}. */
export function randomEngagement(random, graph) {
  const mails = graph.nodes.filter(({ type }) => type === 'sendEmail');
  return Object.fromEntries(mails.map(({ id }) => [id, random.pick([
    [], [], [{ type: 'opened', afterS: 3 * HOUR_S }], [{ type: 'clicked', afterS: 3 * HOUR_S }],
    [{ type: 'opened', afterS: 3 * HOUR_S }, { type: 'clicked', afterS: 9 * HOUR_S }], [{ type: 'clicked', afterS: 76.5 * HOUR_S }], // never at the end of a window
  ])]));
}
