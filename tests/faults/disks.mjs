// Campaigns whose disk is full: for the journal, for the capture outbox. A small file system in memory stands in; where none can
// be mounted the rows are left out, and say so.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { pause, until } from '../lib/processes.mjs';
import { verify } from './verify.mjs';
import { Mailing, addressesOf } from './mailing.mjs';

const LIMIT_MS = 120_000;
const STILL_MS = 3000;
/** What the full disk put off is tried again a second later; how long that pause is by default is not the question here. */
const SOON = { RETRY_AFTER: 1 };

/** A file system of a few KiB in the data folder; {isFull(), grow(), unmount()}. */
export function mountSmall(folder, size) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', folder], { stdio: 'ignore' });
  return {
    isFull: () => {
      const { bavail, blocks } = statfsSync(folder);
      return bavail < blocks / 10;
    },
    grow: () => execFileSync('mount', ['-o', 'remount,size=256m', folder]),
    unmount: () => execFileSync('umount', ['-l', folder]),
  };
}

export function canMount(folder) {
  try {
    mountSmall(folder, '64k').unmount();
    return true;
  } catch {
    return false;
  }
}

/** Waits until the disk is full and `count` gives the same for some seconds, with less than everything done. */
async function untilStuck(disk, count, recipients) {
  let last = -1;
  await until('the campaign is stuck', async () => {
    const now = await count();
    const stuck = now === last && now > 0 && disk.isFull(); // on a busy machine it may also pause for other reasons
    last = now;
    if (!stuck) await pause(STILL_MS);
    return stuck;
  }, LIMIT_MS);
  if (last >= recipients) throw new Error('the disk was not full before the campaign had ended');
  return last;
}

/** The server is down while the small file system comes into its folder. */
async function prepareSmall({ mailing, name, size }) {
  await mailing.installation.stop();
  const disk = mountSmall(join(mailing.installation.data, name), size);
  const { dispose } = mailing.installation;
  mailing.installation.dispose = async function disposeAndUnmount() {
    await this.run('stop');
    disk.unmount();
    return dispose.call(this);
  };
  return disk;
}

export async function fullForJournal({ recipients, startSink, log }) {
  const sink = await startSink();
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), sinks: [sink], options: SOON });
  const disk = await prepareSmall({ mailing, name: 'journal', size: '256k' });
  const send = await mailing.start();
  log('  the campaign has begun');
  const stuckAt = await untilStuck(disk, async () => (await sink.stats()).messages, recipients);
  const row = await mailing.read(send);
  disk.grow();
  log('  the disk has room again');
  await mailing.ended(send, LIMIT_MS);
  const figures = verify({ addresses: mailing.addresses, records: sink.takeRecords(), outcome: await mailing.outcome(send) });
  if (row?.status !== 'running') figures.breaches.push(`while the disk was full the send was ${row?.status}`);
  return { ...figures, disturbance: `full at ${stuckAt} messages` };
}

export async function fullForOutbox({ recipients }) {
  const mailing = await Mailing.prepare({ addresses: addressesOf(recipients), isSandbox: true, options: SOON });
  const disk = await prepareSmall({ mailing, name: 'outbox', size: '2m' });
  const { installation } = mailing;
  const send = await mailing.start();
  const stuckAt = await untilStuck(disk, () => installation.outbox().length, recipients);
  const row = await mailing.read(send);
  disk.grow();
  await mailing.ended(send, LIMIT_MS);
  const records = installation.outbox().map((name) => {
    const text = installation.readMessage(name);
    return {
      atNs: 0n, session: name, replied: true,
      recipient: /^To: .*?([^\s<>]+@[^\s<>]+?)>?\r$/m.exec(text)?.[1], messageId: /^Message-ID: *(\S+)\r$/m.exec(text)?.[1],
    };
  });
  const figures = verify({ addresses: mailing.addresses, records, outcome: await mailing.outcome(send) });
  if (row?.status !== 'running') figures.breaches.push(`while the disk was full the send was ${row?.status}`);
  const rests = readdirSync(join(installation.data, 'outbox/tmp'));
  if (rests.length > 0) figures.breaches.push(`${rests.length} unfinished messages are left in the outbox`);
  return { ...figures, disturbance: `full at ${stuckAt} messages` };
}
