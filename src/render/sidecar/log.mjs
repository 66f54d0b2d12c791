// The log: one JSON object per line on standard error. It never contains content or a URL.

/** @param {"info"|"warn"|"error"} level */
export function log(level, event, fields = {}) {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
}
