// Designs go into a folder that does not exist yet, and an old folder gets another name.

import assert from 'node:assert/strict';
import { cutShort, extra, insteadOfId, named } from '../mistakes.mjs';

export default {
  title: 'Tidy folders',
  brief: () => 'Put the designs "Spring sale" and "Spring news" into a new folder "Spring 2026", and rename the folder "Old" to "Archive".',
  given: () => ({ titles: ['Spring sale', 'Spring news'], folder: 'Spring 2026', old: 'Old', renamed: 'Archive' }),
  needs: ['list_emails', 'update_email_metadata', 'list_email_groups', 'save_email_group'],
  calls: 5,
  async seed(place) {
    for (const title of ['Spring sale', 'Spring news', 'Autumn']) await place.rest('POST', '/v1/emails/tpl_welcome_fernhill/clone', { title });
    await place.rest('POST', '/v1/email-groups', { name: 'Old' });
  },

  async golden(assistant, { titles, folder, old, renamed }) {
    const { data } = await assistant.call('list_emails', {});
    const designs = data.filter(({ title }) => titles.includes(title));
    for (const { emailId } of designs) await assistant.call('update_email_metadata', { emailId, groupName: folder });
    const groups = await assistant.call('list_email_groups', {});
    const { groupId } = groups.data.find(({ groupName }) => groupName === old);
    await assistant.call('save_email_group', { groupId, name: renamed });
    return `${designs.length} designs are in "${folder}".`;
  },
  figures: { designs: "select count(*) from emails e join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id where e.brand_id = $BRAND and g.name = 'Spring 2026'" },

  async check(place) {
    assert.deepEqual(await place.rows('select name from email_groups where brand_id = $BRAND order by 1'), ['Archive', 'Spring 2026']);
    assert.deepEqual(await place.rows('select e.title, g.name from emails e left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id where e.brand_id = $BRAND order by 1'),
      ['Autumn|', 'Spring news|Spring 2026', 'Spring sale|Spring 2026']);
  },

  mistakes: {
    update_email_metadata: [
      named('groupName', 'group'),
      named('groupName', 'folder'),
      named('groupName', 'group_name'),
      named('emailId', 'email_id'),
      cutShort('emailId'),
      insteadOfId('emailId', 'Spring sale'),
    ],
    'update_email_metadata#2': [named('groupName', 'folderName'), named('groupName', 'name'), named('emailId', 'id'), named('emailId', 'designId'), extra('status', 'ready')],
    list_email_groups: [extra('limit', '20', 20), extra('limit', 1000, 100), extra('name', 'Old'), extra('search', 'Old')],
    save_email_group: [
      named('name', 'groupName'),
      named('name', 'title'),
      named('groupId', 'id'),
      named('groupId', 'group_id'),
      cutShort('groupId'),
    ],
  },
};
