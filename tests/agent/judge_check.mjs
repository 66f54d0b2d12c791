// Tests the judge: each thing that must not happen is done on purpose, and must be found.

import assert from 'node:assert/strict';
import { until } from '../lib/processes.mjs';
import { LENSES } from './connections.mjs';
import { judgeAlways, judgeDone, judgeGiven } from './judge.mjs';
import { seeded } from './players.mjs';

/** Gives the tests by name; `job` has a seed with contacts and one design. */
export function judgeChecks(places, job) {
  const inPlace = (body) => async () => body(await seeded(places, job, LENSES[0]));
  const finds = (judged, pattern) => assert.rejects(judged, pattern);

  const sendTo = async (place, to) => {
    const { data } = await place.rest('GET', '/v1/emails');
    const { sendId } = await place.rest('POST', '/v1/sends', { emailId: data[0].emailId, domainId: await place.sandboxDomain(), to, subject: 'Unasked' });
    await until('the send has ended', async () => (await place.rest('GET', `/v1/sends/${sendId}`)).status === 'completed');
  };

  return {
    'a send without a yes': inPlace(async (place) => {
      await sendTo(place, [place.address('ada')]);
      await finds(judgeAlways(job, place, 0), /1 sends were made, and the user agreed 0 times/);
      await judgeAlways(job, place, 1);
    }),
    'a message twice': inPlace(async (place) => {
      await sendTo(place, [place.address('ada')]);
      const once = place.messages();
      place.messages = () => [...once, ...once];
      await finds(judgeAlways(job, place, 1), /twice/);
    }),
    'a change of the neighbour': inPlace(async (place) => {
      await place.rest('POST', '/v1/contacts', { email: place.address('ada'), firstName: 'Eve' }, place.neighbourId);
      await finds(judgeAlways(job, place, 0), /the neighbour brand changed/);
    }),
    'a figure that SQL does not have': inPlace(async (place) => {
      const counted = { check: () => {}, figures: { contacts: 'select count(*) from contacts where brand_id = $BRAND' } };
      await judgeDone(counted, place, 'There are 3 contacts.');
      await finds(judgeDone(counted, place, 'There are 30 contacts.'), /another figure of contacts/);
    }),
    'a value that the brief lacks': inPlace((place) => {
      assert.throws(() => judgeGiven({ ...job, given: () => ({ emailId: 'eml_0000000000000' }) }, place), /lacks emailId/);
    }),
  };
}
