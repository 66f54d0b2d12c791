import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Schedule } from './schedule.mjs';

/** A world whose tasks end when the test says so; `log` is what happened, in order. */
function worldOf(steps, capacity = 2) {
  const log = [];
  const open = new Map();
  const ended = new Map();
  const runTask = (step, task) => new Promise((resolve) => {
    log.push(`+${task.name}`);
    open.set(task.name, resolve);
  });
  const schedule = new Schedule({ steps, capacity, runTask, onStep: (step, outcome) => ended.set(step.name, outcome) });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name, ok = true) => {
    log.push(`-${name}`);
    open.get(name)({ ok });
    open.delete(name);
    await settle();
  };
  const running = () => [...open.keys()].sort().join(' ');
  return { done: schedule.run(), log, ended, end, running, settle };
}

const stepOf = (name, tasks, more = {}) => ({ name, tasks: () => tasks.map((task) => ({ weight: 1, ...task })), ...more });

test('a step starts when those it needs have ended', async () => {
  const world = worldOf([stepOf('use', [{ name: 'use' }], { needs: ['build'] }), stepOf('build', [{ name: 'build' }]), stepOf('other', [{ name: 'other' }])]);
  await world.settle();
  assert.equal(world.running(), 'build other');
  await world.end('build');
  assert.equal(world.running(), 'other use');
  await world.end('use');
  await world.end('other');
  await world.done;
  assert.deepEqual([...world.ended.values()].map(({ ok }) => ok), [true, true, true]);
});

test('a step whose need has failed is not run and has failed; one that runs anyway does', async () => {
  const world = worldOf([
    stepOf('build', [{ name: 'build' }]), stepOf('use', [{ name: 'use' }], { needs: ['build'] }),
    stepOf('after', [{ name: 'after' }], { needs: ['use'] }), stepOf('report', [{ name: 'report' }], { needs: ['after'], runsAnyway: true }),
  ]);
  await world.settle();
  await world.end('build', false);
  assert.equal(world.running(), 'report');
  await world.end('report');
  await world.done;
  assert.deepEqual([...world.ended].map(([name, { ok }]) => `${name} ${ok}`).sort(), ['after false', 'build false', 'report true', 'use false']);
  assert.match(world.ended.get('use').reason, /needs/);
});

test('a need that was not chosen holds nothing up', async () => {
  const world = worldOf([stepOf('use', [{ name: 'use' }], { needs: ['build'] })]);
  await world.settle();
  await world.end('use');
  await world.done;
});

test('weights fill the machine, long tasks first, and a heavy one is not overtaken', async () => {
  const tasks = [
    { name: 'short', weight: 0.5, estimate: 1 }, { name: 'long', weight: 1.5, estimate: 9 }, { name: 'heavy', weight: 2, estimate: 8 },
    { name: 'light', weight: 0.25, estimate: 0 },
  ];
  const world = worldOf([stepOf('all', tasks)]);
  await world.settle();
  assert.equal(world.running(), 'light long');
  await world.end('light');
  assert.equal(world.running(), 'long');
  await world.end('long');
  assert.equal(world.running(), 'heavy');
  await world.end('heavy');
  assert.equal(world.running(), 'short');
  await world.end('short');
  await world.done;
});

test('a task heavier than the machine runs by itself', async () => {
  const world = worldOf([stepOf('all', [{ name: 'huge', weight: 9 }])]);
  await world.settle();
  assert.equal(world.running(), 'huge');
  await world.end('huge');
  await world.done;
});

test('exclusive tasks run alone, when nothing else is left', async () => {
  const world = worldOf([
    stepOf('timed', [{ name: 'x', exclusive: true }, { name: 'y', exclusive: true }]),
    stepOf('build', [{ name: 'build' }]), stepOf('use', [{ name: 'use' }], { needs: ['build'] }),
    stepOf('report', [{ name: 'report' }], { needs: ['timed', 'use'] }),
  ]);
  await world.settle();
  assert.equal(world.running(), 'build');
  await world.end('build');
  assert.equal(world.running(), 'use');
  await world.end('use');
  assert.equal(world.running(), 'x');
  await world.end('x');
  assert.equal(world.running(), 'y');
  await world.end('y', false);
  assert.equal(world.ended.get('timed').ok, false);
  await world.done;
});

test('a step without tasks, and one whose tasks cannot be found, have failed', async () => {
  const world = worldOf([stepOf('empty', []), { name: 'broken', tasks: () => Promise.reject(new Error('no build')) }]);
  await world.done;
  assert.equal(world.ended.get('empty').ok, false);
  assert.equal(world.ended.get('broken').reason, 'no build');
});

test('a task that cannot be run has failed', async () => {
  const ended = [];
  const schedule = new Schedule({
    steps: [stepOf('all', [{ name: 'x' }])], capacity: 1, runTask: () => Promise.reject(new Error('no program')), onStep: (step, outcome) => ended.push(outcome),
  });
  await schedule.run();
  assert.equal(ended[0].ok, false);
  assert.match(ended[0].results[0].reason, /no program/);
});
