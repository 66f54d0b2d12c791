// What the tests of random automations rest on: the shrinker, with a function of the case as the fault, and what the generator draws.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../lib/random.mjs';
import { isShare, randomWorld, runsOf } from './random_graphs.mjs';
import { shrink, shrinkWorld } from './shrinking.mjs';

const WORLDS = 3;
const worlds = Array.from({ length: WORLDS }, (_, seed) => randomWorld(new Random(seed), seed, 25, 3));
const baseOf = ({ base }) => Date.parse(base) * 1000;

test('a list shrinks to what the fault needs, in batches', async () => {
  const list = Array.from({ length: 40 }, (_, at) => at);
  let widest = 0;
  const judge = async (lists) => {
    widest = Math.max(widest, lists.length);
    return lists.map((one) => one.includes(7) && one.includes(31));
  };
  assert.deepEqual(await shrink(list, (one) => one.map((_, at) => one.toSpliced(at, 1)), judge, 5), [7, 31]);
  assert.equal(widest, 5);
});

/** A fault of filters that needs a fire after the first, and a kill at one point. */
const isFaulty = ({ graph, contacts }, kills) =>
  kills.some(({ point }) => point === 3) && graph.nodes.some(({ type, config }) => type === 'filter' && config.conditions) && contacts.some(({ fires }) => fires.length > 1);

test('a case shrinks to the nodes, fires and kills of its fault', async () => {
  const world = { ...worlds[1], kills: [{ point: 1, ms: 5 }, { point: 3, ms: 9 }, { point: 8, ms: 2 }] };
  const drawn = world.cases.find((one) => isFaulty(one, world.kills));
  const smallest = await shrinkWorld(world, drawn, async ({ cases, kills }) => cases.map((one) => ({ faults: isFaulty(one, kills) ? ['it differs'] : [], isRefused: false })));
  const [{ graph, contacts }] = smallest.cases;
  assert.deepEqual(graph.nodes.map(({ type }) => type), ['trigger', 'filter']);
  assert.equal(graph.nodes[1].config.conditions.length, 1);
  assert.equal(contacts.length, 1);
  assert.equal(contacts[0].fires.length, 2);
  for (const { payload, engagement } of contacts[0].fires) assert.deepEqual([Object.keys(payload), engagement], [['order'], {}]);
  assert.deepEqual(smallest.kills, [{ point: 3, ms: 9 }]);
});

test('a graph that the service refuses is not taken for the fault', async () => {
  const [world] = worlds;
  const [drawn] = world.cases;
  const smallest = await shrinkWorld(world, drawn, async ({ cases }) => cases.map((one) => ({ faults: ['it differs'], isRefused: one !== drawn })));
  assert.deepEqual(smallest.cases, [drawn]);
});

/** What a run does: the kinds of its nodes with their ends, and whether it passes a node twice. */
function* traitsOf({ graph }, { path, status }) {
  const kindOf = ({ type, config }) => [type, ...Object.keys(config).filter((name) => ['event', 'localTime', 'until', 'sourceNodeId', 'conditions', 'leftPercentage'].includes(name))].join(' ');
  for (const { nodeId, status: end, branch } of path) yield `${kindOf(graph.nodes.find(({ id }) => id === nodeId))} ${end} ${branch}`.trim();
  yield status;
  if (new Set(path.map(({ nodeId }) => nodeId)).size < path.length) yield 'loop';
}

test('the generator draws what automations can do', () => {
  const seen = new Map();
  const note = (trait) => seen.set(trait, (seen.get(trait) ?? 0) + 1);
  for (const world of worlds)
    for (const drawn of world.cases)
      for (const contact of drawn.contacts) {
        const runs = runsOf(drawn, contact, baseOf(world), world.zone);
        const shares = new Set(drawn.graph.nodes.filter(isShare).map(({ id }) => id));
        for (const run of runs) for (const trait of traitsOf(drawn, run.interpret((id) => (shares.has(id) ? 'left' : undefined)))) note(trait);
        if (runs.length > 1) note('another run');
        if (contact.fires.filter(({ trigger }) => trigger === 'own').length > runs.length) note('a refused fire');
        if (!contact.isMailable) note('skipped messages');
      }
  const wanted = [
    'loop', 'another run', 'a refused fire', 'skipped messages', 'failed', 'wait completed', 'wait event completed event', 'wait event completed timeout', 'wait localTime completed',
    'wait until completed', 'wait until failed', 'filter conditions completed true', 'filter conditions completed false', 'filter sourceNodeId completed clicked',
    'filter sourceNodeId completed opened', 'filter sourceNodeId completed otherwise', 'split conditions completed left', 'split leftPercentage completed left',
    'split leftPercentage completed right', 'trigger skipped', 'wait skipped', 'wait event skipped',
  ];
  assert.deepEqual(wanted.filter((trait) => !seen.has(trait)), []);
});
