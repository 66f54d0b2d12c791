// Deadlines in processor time. The time of other programs does not count, so a busy machine accepts the same content as an
// idle one.

/** Measures one piece of work from construction on: wall-clock time, and processor time of the whole process. */
export class WorkClock {
  #begun = performance.now();
  #used = process.cpuUsage();

  /** True when the work has used `ms` of processor time, or `waitMs` of wall-clock time. */
  hasHad(ms, waitMs) {
    const passed = performance.now() - this.#begun;
    if (passed < ms || passed >= waitMs) return passed >= ms;
    const { user, system } = process.cpuUsage(this.#used);
    return (user + system) / 1000 >= ms;
  }
}
