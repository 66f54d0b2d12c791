// The server under test, on a port that the system chooses.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const START_LIMIT_MS = 120_000;

/** Starts `posthorn serve` and waits until it listens: {url, stop()}. What it logs as a warning or an error is passed on. */
export async function startServer(binary, data) {
  // The page of errors has the same address in every transport, so that their replies are equal.
  const child = spawn(binary, ['serve', '--data', data, '--listen', '127.0.0.1:0', '--log-level', 'info', '--docs-url', 'https://posthorn.example/docs'],
    { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server does not listen')), START_LIMIT_MS);
    ended.then((how) => reject(new Error(`the server ended (${how})`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      const listening = /"event":"serve\.listening".*"port":(\d+)/.exec(line);
      if (!/"level":"(info|debug)"/.test(line)) process.stderr.write(`${line}\n`);
      if (!listening) return;
      clearTimeout(timer);
      resolve(Number(listening[1]));
    });
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}
