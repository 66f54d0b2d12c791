// Runs the named benches one after another. Each figure is printed as soon as it is known.

import { readdirSync } from 'node:fs';
import os from 'node:os';

import { QUICK, cleanUp } from './programs.mjs';
import { Report } from './report.mjs';

const folder = new URL('./benches/', import.meta.url);
const available = readdirSync(folder).filter((file) => file.endsWith('.mjs')).map((file) => file.slice(0, -'.mjs'.length)).sort();

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => process.exit(1));
}
process.on('exit', cleanUp);

const names = process.argv.length > 2 ? process.argv.slice(2) : available;
const unknown = names.filter((name) => !available.includes(name));
if (unknown.length > 0) {
  console.error(`No bench named ${unknown.join(', ')}. There are: ${available.join(', ')}.`);
  process.exit(2);
}

const started = Date.now();
console.log(`${os.cpus().length} cores, ${os.cpus()[0].model.trim()}, Linux ${os.release()}, node ${process.version}; `
  + `load before the run ${os.loadavg()[0].toFixed(2)}`);
if (QUICK) console.log('BENCH_QUICK: this run shows that the benches work. Its figures are not measurements.');

const report = new Report();
for (const name of names) {
  report.section(name);
  try {
    const bench = await import(new URL(`${name}.mjs`, folder));
    await bench.run(report);
  } catch (error) {
    report.failure(error.message);
  }
  cleanUp();
}

console.log('');
console.log(`${Math.round((Date.now() - started) / 1000)} s, load after the run ${os.loadavg()[0].toFixed(2)}`);
process.exitCode = report.failed ? 1 : 0;
