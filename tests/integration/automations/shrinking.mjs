// Makes a case that fails smaller while it still fails. shrink() knows nothing of automations; smallerCases() and smallerKills() give
// what is a little less than a case or a list of kills.

import { endsSoon } from './random_graphs.mjs';

/**
 * `smaller(value)` gives smaller values, the smallest first; `judge(values)` gives for each whether it still fails. Values are judged
 * `width` at a time, because a play of many cases takes hardly longer than that of one. Gives a value of which nothing smaller fails.
 */
export async function shrink(value, smaller, judge, width = 40) {
  const candidates = smaller(value);
  for (let from = 0; from < candidates.length; from += width) {
    const batch = candidates.slice(from, from + width);
    const at = (await judge(batch)).indexOf(true);
    if (at >= 0) return shrink(batch[at], smaller, judge, width);
  }
  return value;
}

const without = (list, at) => list.toSpliced(at, 1);
const replaced = (list, at, item) => list.with(at, item);
const withoutKey = (object, key) => Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));

export const smallerKills = (kills) => (kills.length === 0 ? [] : [[], ...kills.map((kill, at) => without(kills, at))]);

// ---- Graphs ----

/** Only what the trigger reaches, and no connection to a node that is not there. */
function reached({ nodes, connections }) {
  const ids = new Set(['start']);
  for (const id of ids) for (const { from, to } of connections) if (from === id && nodes.some((node) => node.id === to)) ids.add(to);
  return { nodes: nodes.filter(({ id }) => ids.has(id)), connections: connections.filter(({ from, to }) => ids.has(from) && ids.has(to)) };
}

const isSame = (a, b) => a.from === b.from && a.to === b.to;

/** The graph without a node: what led to it leads to one of those behind it, or nowhere. */
function withoutNode({ nodes, connections }, id) {
  const rest = nodes.filter((node) => node.id !== id);
  const behind = [...new Set(connections.filter(({ from, to }) => from === id && to !== id).map(({ to }) => to)), undefined];
  return behind.map((next) => {
    const led = connections.filter(({ from }) => from !== id).map((one) => (one.to === id ? { ...one, to: next } : one)).filter(({ to }) => to !== undefined);
    return reached({ nodes: rest, connections: led.filter((one, at) => led.findIndex((other) => isSame(one, other)) === at) });
  });
}

const smallerGroups = (group) => (group.conditions.length > 1 ? group.conditions.map((condition, at) => ({ ...group, conditions: without(group.conditions, at) })) : []);

function smallerConfigs({ type, config }) {
  if (type === 'trigger') return ['exit', 'reentry'].filter((key) => config[key]).map((key) => withoutKey(config, key)).concat(config.exit ? smallerGroups(config.exit).map((exit) => ({ ...config, exit })) : []);
  if (config.leftPercentage > 0 && config.leftPercentage < 100) return [0, 100].map((leftPercentage) => ({ leftPercentage }));
  if (config.conditions) return smallerGroups(config);
  return config.weekdays ? [withoutKey(config, 'weekdays')] : [];
}

function smallerGraphs(graph) {
  const { nodes, connections } = graph;
  return [
    ...nodes.filter(({ type }) => type !== 'trigger').flatMap(({ id }) => withoutNode(graph, id)),
    ...connections.map((connection, at) => reached({ nodes, connections: without(connections, at) })),
    ...nodes.flatMap((node, at) => smallerConfigs(node).map((config) => ({ nodes: replaced(nodes, at, { ...node, config }), connections }))),
  ].filter(({ nodes: left }) => left.length > 1).sort((a, b) => a.nodes.length - b.nodes.length);
}

// ---- Contacts ----

function smallerEngagements(engagement) {
  return Object.entries(engagement).flatMap(([id, mails]) => [
    withoutKey(engagement, id), ...mails.flatMap((hits, at) => hits.map((hit, i) => ({ ...engagement, [id]: replaced(mails, at, without(hits, i)) }))),
  ]);
}

function smallerFires(fire) {
  const { payload, engagement } = fire;
  return [
    ...(Object.keys(engagement).length > 0 ? [{ ...fire, engagement: {} }, ...smallerEngagements(engagement).map((less) => ({ ...fire, engagement: less }))] : []),
    ...Object.keys(payload).filter((key) => key !== 'order').map((key) => ({ ...fire, payload: withoutKey(payload, key) })),
  ];
}

function smallerContacts(contact) {
  const { fires } = contact;
  return [
    ...fires.slice(1).map((fire, at) => ({ ...contact, fires: without(fires, at + 1) })),
    ...(contact.isMailable ? [] : [{ ...contact, isMailable: true }]),
    ...fires.flatMap((fire, at) => smallerFires(fire).map((less) => ({ ...contact, fires: replaced(fires, at, less) }))),
  ];
}

// ---- Cases ----

/** Engagement with messages that the graph does not have is no part of a case. */
function tidy({ graph, contacts }) {
  const ids = new Set(graph.nodes.filter(({ type }) => type === 'sendEmail').map(({ id }) => id));
  const keep = (engagement) => Object.fromEntries(Object.entries(engagement).filter(([id, mails]) => ids.has(id) && mails.flat().length > 0));
  return { graph, contacts: contacts.map((contact) => ({ ...contact, fires: contact.fires.map((fire) => ({ ...fire, engagement: keep(fire.engagement) })) })) };
}

/** Only cases whose runs all end. */
export function smallerCases(drawn, baseUs, zone) {
  const { graph, contacts } = drawn;
  return [
    ...(contacts.length > 1 ? [...contacts.map((contact) => ({ graph, contacts: [contact] })), ...contacts.map((contact, at) => ({ graph, contacts: without(contacts, at) }))] : []),
    ...smallerGraphs(graph).map((less) => ({ graph: less, contacts })),
    ...contacts.flatMap((contact, at) => smallerContacts(contact).map((less) => ({ graph, contacts: replaced(contacts, at, less) }))),
  ].map(tidy).filter((less) => less.contacts.every((contact) => endsSoon(less, contact, baseUs, zone)));
}

/**
 * The smallest world with one case that still differs. `play(world)` gives the faults of each case. A case that differs only beside
 * others, or only by chance, stays as it is.
 */
export async function shrinkWorld(world, drawn, play) {
  const baseUs = Date.parse(world.base) * 1000;
  const judgeCases = (kills) => async (cases) => (await play({ ...world, kills, cases })).map(({ faults, isRefused }) => faults.length > 0 && !isRefused);
  const [withoutKills] = await judgeCases([])([drawn]);
  const kills = withoutKills ? [] : world.kills;
  const smallest = await shrink(drawn, (one) => smallerCases(one, baseUs, world.zone), judgeCases(kills));
  const fewest = await shrink(kills, smallerKills, async ([less]) => judgeCases(less)([smallest]), 1);
  return { ...world, kills: fewest, cases: [smallest] };
}
