// The latest change of a design is undone: its version before becomes the latest again, and no version is lost.

import assert from 'node:assert/strict';
import { asText, cutShort, extra, insteadOfId, named, valued } from '../mistakes.mjs';
import { letter } from '../seeds.mjs';

const TITLE = 'Price list';

export default {
  title: 'Undo',
  brief: () => `The last change of the design "${TITLE}" was wrong. Bring back the version before it.`,
  given: () => ({ title: TITLE }),
  needs: ['list_emails', 'get_email', 'restore_email_version'],
  calls: 3,
  async seed(place) {
    place.designId = await place.importDesign(TITLE, letter(TITLE, 'Tea costs 3.50'));
    await place.importDesign('Other', letter('Other', 'Nothing to undo'));
    // A second version, as an edit makes it.
    await place.rows(`insert into email_versions (brand_id, email_id, version, html, plain_text, html_code, text_code, links, paths, report, created_at)
      select v.brand_id, v.email_id, 2, replace(v.html, '3.50', '350'), v.plain_text, v.html_code, v.text_code, v.links, v.paths, v.report, v.created_at
        from email_versions v join emails e on e.brand_id = v.brand_id and e.id = v.email_id where e.brand_id = $BRAND and e.title = '${TITLE}'`);
    await place.rows(`update emails e set latest_version_id = v.id from email_versions v
      where e.brand_id = $BRAND and e.title = '${TITLE}' and v.brand_id = e.brand_id and v.email_id = e.id and v.version = 2`);
    assert.match(await htmlOf(place), /350/);
  },

  async golden(assistant, { title }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const { versions } = await assistant.call('get_email', { emailId, include: ['versions'] });
    const before = versions[1];
    await assistant.call('restore_email_version', { emailId, emailVersionId: before.emailVersionId });
    return 'The version before is the latest again.';
  },

  async check(place) {
    assert.match(await htmlOf(place), /Tea costs 3\.50/);
    const { versions } = await place.rest('GET', `/v1/emails/${place.designId}?include=versions`);
    assert.equal(versions.length, 3, 'a restored version is a new one');
  },

  mistakes: {
    list_emails: [extra('query', TITLE), extra('sort_by', 'updatedAt')],
    get_email: [
      named('include', 'includes'),
      valued('include', 'versions'),
      valued('include', ['version']),
      valued('include', ['history']),
      named('emailId', 'designId'),
      asText('include'),
    ],
    restore_email_version: [
      named('emailVersionId', 'versionId'),
      named('emailVersionId', 'email_version_id'),
      cutShort('emailVersionId'),
      insteadOfId('emailVersionId', 'previous'),
      named('emailId', 'id'),
    ],
  },
};

const htmlOf = async (place) => (await place.rest('GET', `/v1/emails/${place.designId}?include=html`)).html;
