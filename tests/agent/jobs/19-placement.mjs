// Placement tests of a design: where a message has arrived, and why another test cannot be made from the sandbox domain.

import assert from 'node:assert/strict';
import { named } from '../mistakes.mjs';
import { letter } from '../seeds.mjs';

export default {
  title: 'Placement',
  brief: () => 'The design "Campaign" was tested for its placement. How many of the seed mailboxes show it in the inbox?',
  given: () => ({ title: 'Campaign' }),
  needs: ['list_emails', 'create_inbox_placement_test', 'get_inbox_placement_results'],
  calls: 2,
  async seed(place) {
    await place.importDesign('Campaign', letter('Campaign', 'Tea'));
    await place.sql(`with made as (
        insert into placement_tests (brand_id, email_id, version_id, domain_id, subject, from_address, status, created_at, updated_at)
        select e.brand_id, e.id, e.latest_version_id, d.id, 'Hello', 'a@b.example', 'completed', now(), now()
          from emails e join domains d on d.brand_id = e.brand_id and d.kind = 'sandbox' where e.brand_id = $BRAND returning brand_id, id)
      insert into placement_observations (brand_id, test_id, seed_organization_id, seed_id, provider, email, state, due_at, placement, folder)
      select brand_id, id, 0, 1, 'alpha', 'x@seeds.example', 'done', now(), placement, folder
        from made, (values ('inbox', 'INBOX'), ('inbox', 'INBOX'), ('spam', 'Junk')) as o (placement, folder)`);
  },

  async golden(assistant, { title }) {
    const { data } = await assistant.call('list_emails', {});
    const { emailId } = data.find((design) => design.title === title);
    const { data: tests } = await assistant.call('get_inbox_placement_results', { emailId });
    const { inbox, total } = tests[0].results.overall;
    return `${inbox} of ${total}.`;
  },

  check(place, answer) {
    assert.match(answer, /2 of 3/);
  },

  mistakes: {
    get_inbox_placement_results: [named('emailId', 'id')],
  },
};
