// Deadlines of work that this process does: what other programs on the machine take does not count, so that a busy machine
// refuses no content that a quiet one accepts.

/** Measures one piece of work from its construction on, by the clock and by the processor time of the whole process. */
export class WorkClock {
  #begun = performance.now();
  #used = process.cpuUsage();

  /** Whether the work has had `ms` of processor time, or has taken `waitMs` by the clock. */
  hasHad(ms, waitMs) {
    const passed = performance.now() - this.#begun;
    if (passed < ms || passed >= waitMs) return passed >= ms;
    const { user, system } = process.cpuUsage(this.#used);
    return (user + system) / 1000 >= ms;
  }
}
