// An automation in the database of a mailing (tests/faults/mailing.mjs), made by SQL: its version, and runs for contacts.

const VERSION = 501;
const AUTOMATION = 51;

export const link = (from, to, branch) => ({ from, to, ...(branch && { branch }) });
export const triggerNode = { id: 'start', type: 'trigger', config: { mode: 'event' } };
export const waitNode = (id, duration, unit) => ({ id, type: 'wait', config: { duration, unit } });
export const splitNode = (id, leftPercentage) => ({ id, type: 'split', config: { leftPercentage } });

/** A message node with a design of its own. */
export async function mailNode(mailing, id) {
  const { emailId, emailVersionId } = await mailing.installation.call('import_email', { content: mailing.letter, title: id, subjectLine: id });
  return { id, type: 'sendEmail', config: { emailId, emailVersionId, domainId: mailing.domainId, subject: id, ...(mailing.from && { fromAddress: mailing.from.email }) } };
}

export async function addAutomation(mailing, nodes, connections) {
  const graph = (value) => `'${JSON.stringify(value)}'::jsonb`;
  await mailing.sql(`insert into automations (brand_id, id, name, latest_version_id, live_version_id, created_at, updated_at)
      overriding system value values (1, ${AUTOMATION}, 'Welcome', ${VERSION}, ${VERSION}, now(), now());
    insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, created_at)
      overriding system value values (1, ${VERSION}, ${AUTOMATION}, 1, ${graph(nodes)}, ${graph(connections)}, '', now())`);
}

/** Starts a run for each of these contacts, as a fire does. */
export const startRuns = (mailing, addresses) => mailing.sql(`
  insert into automation_runs (brand_id, automation_id, version_id, contact_id, email, email_key, node_id, due_at, started_at)
  select c.brand_id, ${AUTOMATION}, ${VERSION}, c.id, c.email, c.email_key, 'start', now(), now()
    from contacts c where c.email_key = any ('{${addresses.map((address) => address.toLowerCase()).join()}}');
  select pg_notify('posthorn_step', '1')`);
