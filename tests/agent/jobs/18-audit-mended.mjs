// A check before a campaign finds an image without a text, and the assistant mends it.

import assert from 'node:assert/strict';
import { cutShort, named, valued } from '../mistakes.mjs';
import { letter } from '../seeds.mjs';

const ALT = 'A pot of tea';

export default {
  title: 'Pre-flight audit, mended',
  brief: () => `Check the design "Campaign" before we send it. If an image has no alternative text that says something, make it "${ALT}"; then check again and tell me what is left.`,
  given: () => ({ title: 'Campaign', alt: ALT }),
  needs: ['list_emails', 'audit_email', 'edit_email.replacements', 'get_email'],
  calls: 5,
  seed: (place) => place.importDesign('Campaign', letter('Campaign', 'Tea', '<img src="https://example.com/tea.png" alt="tea_final.png">')),

  async golden(assistant, { title, alt }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const { findings } = await assistant.call('audit_email', { emailId });
    const finding = findings.find(({ message }) => /alternative text|alt/i.test(message));
    assert.ok(finding, 'the image is found');
    await assistant.call('edit_email', { emailId, replacements: [{ find: 'tea_final.png', with: alt }] });
    const after = await assistant.call('audit_email', { emailId });
    return `${after.findings.length} findings are left.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/emails');
    const { html } = await place.rest('GET', `/v1/emails/${data[0].emailId}?include=html`);
    assert.ok(html.includes(`alt="${ALT}"`));
  },

  mistakes: {
    audit_email: [named('emailId', 'id'), cutShort('emailId')],
    edit_email: [named('replacements.0.find', 'old'), valued('replacements', (list) => JSON.stringify(list))],
  },
};
