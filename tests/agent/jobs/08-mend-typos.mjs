// Typos in the subject and the body of a design are mended without touching anything else.

import assert from 'node:assert/strict';
import { asText, cutShort, extra, insteadOfId, named } from '../mistakes.mjs';
import { letter } from '../seeds.mjs';

const TITLE = 'Opening hours';
const SUBJECT = "{{ firstName | default: 'Hello' }}, our new oppening hours";
const FILLER = Array.from({ length: 60 }, (_, i) => `Paragraph ${i} of a long letter, which stays as it is, with a <b>bold</b> word and {{ firstName | default: 'you' }}.`);
const BODY = letter(TITLE, 'We are open on Wendesday and <b>Thur</b>sday from nine.', ...FILLER, 'You will recieve a letter each month.');
const TYPOS = [['oppening', 'opening'], ['Wendesday', 'Wednesday'], ['recieve', 'receive']];

export default {
  title: 'Mend typos in subject and body',
  brief: () => `In the design "${TITLE}" correct these typos, in the subject and in the text: ${TYPOS.map(([find, right]) => `"${find}" is "${right}"`).join(', ')}. Change nothing else.`,
  given: () => ({ title: TITLE, typos: TYPOS.flat() }),
  needs: ['list_emails', 'edit_email.replacements'],
  calls: 2,
  async seed(place) {
    place.designId = await place.importDesign(TITLE, BODY, { subjectLine: SUBJECT });
    place.before = await htmlOf(place);
  },

  async golden(assistant, { title, typos }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const pairs = typos.filter((_, i) => i % 2 === 0).map((find, i) => ({ find, with: typos[2 * i + 1] }));
    await assistant.call('edit_email', { emailId, replacements: pairs });
    return `Corrected ${pairs.length} typos.`;
  },

  async check(place) {
    const wanted = TYPOS.reduce((text, [find, right]) => text.replaceAll(find, right), place.before);
    assert.equal(await htmlOf(place), wanted, 'every other byte stays');
    const { subjectLine } = await place.rest('GET', `/v1/emails/${place.designId}`);
    assert.equal(subjectLine, SUBJECT.replace('oppening', 'opening'));
  },

  mistakes: {
    list_emails: [extra('limit', '10', 10), extra('sortBy', 'title', 'updatedAt'), extra('status', 'draft', 'ready'), extra('search', TITLE)],
    edit_email: [
      named('replacements', 'edits'),
      named('replacements', 'changes'),
      named('replacements.0.find', 'search'),
      named('replacements.0.with', 'replace'),
      named('replacements.0.find', 'old'),
      named('replacements.0.with', 'replacement'),
      asText('replacements'),
      named('emailId', 'id'),
      cutShort('emailId'),
      insteadOfId('emailId', TITLE),
    ],
  },
};

const htmlOf = async (place) => (await place.rest('GET', `/v1/emails/${place.designId}?include=html`)).html;
