// The email and the recipients of the sending benches. import_email takes the email as it is, and the peers fill in its merge fields
// themselves. A message, with its plain text, headers and encoding, has about 10 KB.

const STORIES = 10;

export function campaignEmail() {
  const story = (number) => `
    <tr><td style="padding:20px 24px;border-bottom:1px solid #e4e7eb">
      <h2 style="margin:0 0 8px;font:600 19px Georgia,serif">Story ${number}: the café at the harbour</h2>
      <p style="margin:0 0 12px;font:16px Georgia,serif;color:#334">${
  'The tide tables for the coming days, the ferries that run late, and the market hours. '.repeat(2)}</p>
      <a href="https://example.com/stories/${number}?from=letter" style="color:#0a5bd3">Read story ${number}</a>
    </td></tr>`;
  const content = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour letter</title></head>
<body style="margin:0;background:#f4f5f7"><table role="presentation" width="600" align="center" style="background:#fff">
    <tr><td style="padding:24px"><h1>Hello {{ firstName | default: 'there' }} {{ lastName }},</h1>
      <p>your plan is {{ plan | default: 'none' }} and your score {{ score }}; this went to {{ email }}.</p></td></tr>${
  Array.from({ length: STORIES }, (_, index) => story(index + 1)).join('')}
    <tr><td style="padding:24px"><p>{{ firstName }}, <a href="{{ unsubscribeUrl }}">unsubscribe here</a>.</p></td></tr>
</table></body></html>`;
  return { content, title: 'Harbour letter' };
}

const FIRST = ['Ada', 'Bob', 'Cyd', 'Dan', 'Eve', 'Fay', 'Gus', 'Hal'];
const LAST = ['Lovelace', 'Smith', 'Müller', 'Jones', 'García', 'Kim'];
const PLANS = ['free', 'pro', 'team'];

// The recipient of that number. The addresses are in no order.
export function recipient(index) {
  const random = Math.imul(index, 2654435761) >>> 0;
  return {
    email: `reader${random}.${index}@example${random % 97}.com`,
    firstName: FIRST[random % FIRST.length],
    lastName: LAST[random % LAST.length],
    plan: PLANS[random % PLANS.length],
    score: random % 1000,
  };
}
