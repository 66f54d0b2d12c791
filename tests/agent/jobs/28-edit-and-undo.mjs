// A design is edited by a prompt, the versions are compared, and the edit is undone.

import assert from 'node:assert/strict';
import { until } from '../../lib/processes.mjs';
import { cutShort, insteadOfId, named } from '../mistakes.mjs';

const TITLE = 'Spring letter';
const PROMPT = 'Replace "Fresh leaves" with "The first leaves" and make the button green.';
const LETTER = `A newsletter.
---
# Spring tea

Fresh leaves for {{ firstName }}, picked in April.

[To the shop](https://tea.example/shop)`;

export default {
  title: 'Edit by a prompt, compare, undo',
  brief: () => `Try this on the design "${TITLE}": ${PROMPT} Tell me which parts differ from the version before, then bring that version back.`,
  given: () => ({ title: TITLE, prompt: PROMPT }),
  needs: ['list_emails', 'edit_email.prompt', 'get_email.compareWith', 'restore_email_version'],
  calls: 5,
  async seed(place) {
    const { emailId } = await place.rest('POST', '/v1/emails', { prompt: LETTER, subjectLine: 'Spring' });
    place.designId = emailId;
    await until('the seeded design is ready', async () => (await place.rest('GET', `/v1/emails/${emailId}`)).status === 'ready', 120_000);
    await place.rest('PATCH', `/v1/emails/${emailId}`, { title: TITLE });
    place.firstHtml = await htmlOf(place);
  },

  async golden(assistant, { title, prompt }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId, emailVersionId } = data.find((design) => design.title === title);
    const { runId } = await assistant.call('edit_email', { emailId, prompt });
    await assistant.poll('get_email', { emailId, runId, waitSeconds: 50 }, ({ status }) => status !== 'generating');
    const difference = await assistant.call('get_email', { emailId, compareWith: 'previous' });
    assert.ok(difference.changed.some(({ members }) => members.some(({ after }) => String(after).includes('The first leaves'))), JSON.stringify(difference));
    await assistant.call('restore_email_version', { emailId, emailVersionId });
    return `${difference.changed.map(({ type }) => type).join(', ')} differed; the version before is back.`;
  },

  async check(place) {
    assert.equal(await htmlOf(place), place.firstHtml, 'the first bytes are back');
    const { versions } = await place.rest('GET', `/v1/emails/${place.designId}?include=versions`);
    assert.deepEqual(versions.map(({ madeBy }) => madeBy).slice(-2), ['instruction', 'composer'], 'both versions are kept');
    assert.equal(await place.count('select count(*) from generations where brand_id = $BRAND'), 2);
  },

  mistakes: {
    edit_email: [named('prompt', 'instruction'), named('prompt', 'changes'), cutShort('emailId'), insteadOfId('emailId', TITLE), named('emailId', 'designId')],
    get_email: [named('runId', 'run_id'), named('waitSeconds', 'wait')],
    'get_email#2': [named('compareWith', 'compare'), named('compareWith', 'compare_with')],
    restore_email_version: [named('emailVersionId', 'versionId'), cutShort('emailVersionId'), insteadOfId('emailVersionId', 'previous')],
  },
};

const htmlOf = async (place) => (await place.rest('GET', `/v1/emails/${place.designId}?include=html`)).html;
