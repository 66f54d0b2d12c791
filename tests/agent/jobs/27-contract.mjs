// A trigger is declared from an example payload, and a faulty payload is checked against its contract before anything is fired.

import assert from 'node:assert/strict';
import { asText, insteadOfId, cutShort, missing, named, valued } from '../mistakes.mjs';

const example = { email: 'ada@example.com', plan: 'pro', total: 12.5, items: [{ sku: 'A1' }] };
const faulty = { email: 'bob@example.com', plan: 'pro', total: 'much', items: [{}] };

export default {
  title: 'A contract from an example',
  brief: () => `Our shop will send the event "Order placed" with payloads such as ${JSON.stringify(example)}. Make its trigger with these fields; keys that are not declared must be refused. Then tell me what is wrong with ${JSON.stringify(faulty)}.`,
  given: () => ({ title: 'Order placed', example, faulty }),
  unquoted: ['example', 'faulty'],
  needs: ['infer_payload_contract', 'save_trigger', 'set_trigger_contract', 'check_trigger'],
  calls: 4,
  seed: () => {},

  async golden(assistant, { title, example: payload, faulty: wrong }) {
    const { fields } = await assistant.call('infer_payload_contract', { example: payload });
    const { triggerEventId } = await assistant.call('save_trigger', { title, payloadSchema: { fields } });
    await assistant.call('set_trigger_contract', { triggerEventId, enforcement: 'strict' });
    const { valid, errors } = await assistant.call('check_trigger', { triggerEventId, payload: wrong });
    return valid ? 'Nothing.' : errors.map(({ field, message }) => `${field}: ${message}`).join('\n');
  },
  answer: [/^total: /m, /^items\.0\.sku: /m],

  async check(place) {
    assert.deepEqual(await place.rows('select title, enforcement from triggers where brand_id = $BRAND'), ['Order placed|strict']);
    assert.equal(await place.count('select count(*) from trigger_instances where brand_id = $BRAND'), 0, 'nothing was fired');
    assert.equal(await place.count('select count(*) from contacts where brand_id = $BRAND'), 0, 'nobody was saved');
  },

  mistakes: {
    infer_payload_contract: [named('example', 'payload'), asText('example')],
    save_trigger: [named('title', 'name'), named('payloadSchema', 'schema'), asText('payloadSchema'), valued('payloadSchema.fields.0.type', 'email', 'string'), missing('title')],
    set_trigger_contract: [named('enforcement', 'mode'), valued('enforcement', 'Strict'), named('triggerEventId', 'triggerId'), cutShort('triggerEventId')],
    check_trigger: [named('payload', 'data'), named('triggerEventId', 'id'), insteadOfId('triggerEventId', 'Order placed')],
  },
};
