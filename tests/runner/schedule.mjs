// Runs steps as a graph. A step is a list of tasks that may start when the steps it needs have ended well; a task has a weight,
// which is the number of cores it keeps busy. Tasks run side by side until the machine is full, and exclusive ones alone, when
// nothing else is left to run.
//
//   step: {name, needs: [names], tasks: () => [task] or a promise of it}
//   task: {name, weight, estimate: seconds, exclusive?}

/** Tasks of no more than this weight start whether or not others wait for a place. */
const LIGHT = 0.25;

export class Schedule {
  #steps;
  #capacity;
  #runTask;
  #onStep;
  #states = new Map();
  #ready = [];
  #running = new Set();
  #finish;

  /** `runTask(step, task)` promises {ok, …}; `onStep(step, {ok, results, reason?})` hears of every step once. */
  constructor({ steps, capacity, runTask, onStep = () => {} }) {
    this.#steps = steps;
    this.#capacity = capacity;
    this.#runTask = runTask;
    this.#onStep = onStep;
    for (const step of steps) this.#states.set(step.name, { phase: 'waiting', results: [], left: 0 });
  }

  /** Resolves when every step has ended. */
  run() {
    const done = new Promise((resolve) => (this.#finish = resolve));
    this.#advance();
    return done;
  }

  #state(step) {
    return this.#states.get(step.name);
  }

  /** Steps that were not chosen are taken to have ended well. */
  #needs(step) {
    return (step.needs ?? []).map((name) => this.#states.get(name)).filter(Boolean);
  }

  #advance() {
    for (const step of this.#steps) {
      if (this.#state(step).phase !== 'waiting') continue;
      const needs = this.#needs(step);
      const failed = step.runsAnyway ? undefined : needs.find(({ ok }) => ok === false);
      if (failed) this.#endStep(step, { ok: false, reason: 'a step that it needs has failed' });
      else if (needs.every(({ phase }) => phase === 'ended')) this.#open(step);
    }
    this.#startTasks();
    if ([...this.#states.values()].every(({ phase }) => phase === 'ended')) this.#finish();
  }

  async #open(step) {
    const state = this.#state(step);
    state.phase = 'opening';
    try {
      const tasks = await step.tasks();
      state.phase = 'running';
      state.left = tasks.length;
      this.#ready.push(...tasks.map((task) => ({ step, task })));
      if (tasks.length === 0) this.#endStep(step, { ok: false, reason: 'there is nothing to run' });
    } catch (problem) {
      this.#endStep(step, { ok: false, reason: problem.message });
    }
    this.#advance();
  }

  #endStep(step, { ok, reason }) {
    const state = this.#state(step);
    Object.assign(state, { phase: 'ended', ok });
    this.#onStep(step, { ok, reason, results: state.results });
  }

  // ---- Choosing tasks ----

  #used() {
    return [...this.#running].reduce((sum, { task }) => sum + task.weight, 0);
  }

  /** What others wait for comes first, then what takes long: a long task that starts last keeps one core busy and the others idle. */
  #byUrgency() {
    const urgency = ({ step, task }) => (step.urgent ? 1e6 : 0) + (task.estimate ?? 0);
    return [...this.#ready].sort((a, b) => urgency(b) - urgency(a));
  }

  #startTasks() {
    if ([...this.#running].some(({ task }) => task.exclusive)) return;
    let isFull = false;
    for (const entry of this.#byUrgency().filter(({ task }) => !task.exclusive)) {
      const fits = this.#running.size === 0 || this.#used() + entry.task.weight <= this.#capacity;
      const mayStart = entry.task.weight <= LIGHT || !isFull; // a heavy task is not overtaken for ever
      if (fits && mayStart) this.#start(entry);
      else isFull = true;
    }
    const isOpening = [...this.#states.values()].some(({ phase }) => phase === 'opening');
    if (this.#running.size === 0 && !isOpening && this.#ready.length > 0) this.#start(this.#byUrgency()[0]);
  }

  async #start(entry) {
    const { step, task } = entry;
    const state = this.#state(step);
    this.#ready.splice(this.#ready.indexOf(entry), 1);
    this.#running.add(entry);
    const result = await this.#runTask(step, task).catch((problem) => ({ ok: false, reason: problem.stack }));
    this.#running.delete(entry);
    state.results.push({ task, ...result });
    if (--state.left === 0) this.#endStep(step, { ok: state.results.every(({ ok }) => ok) });
    this.#advance();
  }
}
