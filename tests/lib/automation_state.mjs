// What a test of automations prints when it has waited in vain: the processes, the rows that wait, and the locks.

const TABLES = {
  jobs: "select id, kind, state, attempts, run_after, turn, lease_owner, lease_until, result_error from jobs where state in ('queued', 'running', 'failed')",
  launches: 'select id, status, pause_reason, error, total_recipients, open_runs from audience_runs',
  runs: 'select status, node_id, visit, is_held, count(*), min(due_at), max(due_at) from automation_runs group by 1, 2, 3, 4',
  suspects: 'select run_id, batch_runs, alone from step_crashes',
  ranges: 'select send_id, from_ordinal, next_ordinal, to_ordinal, lease_owner, lease_until from send_ranges where next_ordinal <= to_ordinal or lease_owner is not null',
  retries: 'select * from send_retries',
  'held sends': 'select id, status, held_at from sends where held_at is not null',
  sessions: "select pid, application_name, state, wait_event_type, wait_event, left(query, 80) from pg_stat_activity where backend_type = 'client backend'",
  locks: 'select pid, locktype, relation::regclass, mode from pg_locks where not granted',
  clock: 'select now()',
};
const LOG_LINES = 30;

/** `mailing` as in tests/faults/mailing.mjs. */
export async function stateOf(mailing) {
  const { installation } = mailing;
  const parts = [`runner ${installation.runnerPid}, server ${installation.postmasterPid}`];
  for (const [name, statement] of Object.entries(TABLES)) {
    const rows = await mailing.sql(statement).catch((problem) => problem.message.split('\n')[1] ?? problem.message);
    parts.push(`${name}:\n${rows}`);
  }
  return [...parts, installation.runnerLog.trim().split('\n').slice(-LOG_LINES).join('\n')].join('\n');
}
