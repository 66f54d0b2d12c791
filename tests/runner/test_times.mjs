// A reporter of Node's test runner: a line of JSON for each test, {name, seconds, ok}.
export default async function* testTimes(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details.type === 'suite' || data.skip !== undefined) continue;
    if (data.name === data.file || data.name.endsWith('.test.mjs')) continue; // the file as a whole
    yield `${JSON.stringify({ name: data.name, seconds: data.details.duration_ms / 1000, ok: type === 'test:pass' })}\n`;
  }
}
