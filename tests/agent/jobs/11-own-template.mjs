// A template of the gallery becomes a design of the brand, with the brand's own name in its text.

import assert from 'node:assert/strict';
import { cutShort, extra, insteadOfId, named, valued } from '../mistakes.mjs';

const THEIRS = 'Fernhill Books';
const OURS = 'Tea Garden';

export default {
  title: 'A template made one’s own',
  brief: () => `Take the welcome template of ${THEIRS} called "A place on the shelf" as a design named "Our welcome", and put our name, ${OURS}, wherever its text says ${THEIRS}.`,
  given: () => ({ brand: THEIRS, template: 'A place on the shelf', category: 'welcome', title: 'Our welcome', name: OURS }),
  needs: ['search_templates', 'clone_email', 'edit_email.replacements'],
  calls: 3,
  seed: () => {},

  async golden(assistant, { brand, template, category, title, name }) {
    const { data } = await assistant.call('search_templates', { query: template, category });
    const { emailId } = await assistant.call('clone_email', { emailId: data[0].emailId, title });
    await assistant.call('edit_email', { emailId, replacements: [{ find: brand, with: name, all: true }] });
    return `"${title}" is ready.`;
  },

  async check(place) {
    const { data } = await place.rest('GET', '/v1/emails');
    assert.deepEqual(data.map(({ title }) => title), ['Our welcome']);
    const { html } = await place.rest('GET', `/v1/emails/${data[0].emailId}?include=html`);
    const { html: source } = await place.rest('GET', '/v1/templates/tpl_welcome_fernhill?include=html');
    const shown = (text) => text.replace(/<[^>]*>/g, ' ');
    assert.ok(shown(source).includes(THEIRS), 'the template names its brand');
    assert.ok(!shown(html).includes(THEIRS) && shown(html).includes(OURS));
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
