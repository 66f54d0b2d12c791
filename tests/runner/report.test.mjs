import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Report } from './report.mjs';

test('a failed step prints its trouble and its last lines, without the events of servers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'report-'));
  try {
    const log = join(folder, 'cases.task.log');
    const event = '{"time":"2026-01-01T00:00:00Z","level":"info","event":"call","status":422,"errorCode":"EMAIL_IMPORT_FAILED"}';
    const quiet = Array(60).fill('ok');
    writeFileSync(log, [...Array(60).fill(event), 'FAILED emails.import/jsx.json', ...quiet, ...Array(60).fill(event), '431 passed, 1 failed', ''].join('\n'));
    const printed = [];
    new Report({ print: (line) => printed.push(line), folder }).stepEnded({ name: 'cases' }, { ok: false, results: [{ ok: false, task: { name: 'cases' }, log }] });
    assert.match(printed[0], /^FAILED +cases/);
    assert.equal(printed[1], 'FAILED emails.import/jsx.json');
    assert.equal(printed.at(-1), '431 passed, 1 failed');
    assert.equal(printed.filter((line) => line.includes('"event"')).length, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
