// The log: one JSON object a line on standard error. Never content, never a URL.

/** @param {"info"|"warn"|"error"} level */
export function log(level, event, fields = {}) {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
}
