// A template of the gallery becomes a design of the brand, and its text says what is true of the brand.

import assert from 'node:assert/strict';
import { cutShort, extra, insteadOfId, named, valued } from '../mistakes.mjs';

const TEMPLATE = 'A place on the shelf';
const CHANGES = [
  ['The shop is open Tuesday to Sunday, ten until six.', 'The garden is open daily, nine until eight.'],
  ['There is usually cake.', 'There is always tea.'],
  ['Nora', 'Maria'],
];

export default {
  title: 'A template made one’s own',
  brief: () => `Take the welcome template "${TEMPLATE}" as a design named "Our welcome", and change its text: ${CHANGES.map(([find, right]) => `"${find}" becomes "${right}"`).join(', ')}.`,
  given: () => ({ template: TEMPLATE, category: 'welcome', title: 'Our welcome', changes: CHANGES }),
  needs: ['search_templates', 'clone_email', 'edit_email.replacements'],
  calls: 3,
  seed: () => {},

  async golden(assistant, { template, category, title, changes }) {
    const { data } = await assistant.call('search_templates', { query: template, category });
    const { emailId } = await assistant.call('clone_email', { emailId: data[0].emailId, title });
    const replacements = changes.map(([find, right]) => ({ find, with: right, all: true }));
    await assistant.call('edit_email', { emailId, replacements });
    return `"${title}" is ready.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/emails');
    assert.deepEqual(data.map(({ title }) => title), ['Our welcome']);
    const { html } = await place.rest('GET', `/v1/emails/${data[0].emailId}?include=html`);
    const { html: source } = await place.rest('GET', '/v1/templates/tpl_welcome_fernhill');
    assert.equal(html, CHANGES.reduce((text, [find, right]) => text.replaceAll(find, right), source), 'every other byte stays');
    for (const [find, right] of CHANGES) assert.ok(source.includes(find) && html.includes(right), find);
  },

  peer: {
    brief: (tag) => `Make a template called "Our welcome ${tag}" with the subject "Welcome" and the text "Welcome to the Tea Garden."`,
    async check(api, tag) {
      const { data } = await api('/templates?limit=100');
      assert.equal(data.filter(({ name }) => name === `Our welcome ${tag}`).length, 1);
    },
  },

  mistakes: {
    search_templates: [named('query', 'search'), named('query', 'q'), valued('category', 'Welcome'), named('category', 'type'), extra('limit', '5', 5)],
    clone_email: [named('emailId', 'templateId'), named('emailId', 'template_id'), named('title', 'name'), cutShort('emailId'), insteadOfId('emailId', 'A place on the shelf')],
    edit_email: [named('replacements.0.find', 'from'), named('replacements.0.with', 'to'), valued('replacements.0.all', 'true'), named('replacements.0.all', 'replaceAll'), named('emailId', 'email_id')],
  },
};
