// The arguments of import_email for a responsive newsletter of about 30 KB, the same in every run.

export function newsletter() {
  const article = (number) => `
    <tr><td class="card" style="padding:24px;border-bottom:1px solid #e4e7eb">
      <h2 style="margin:0 0 8px;font:600 20px/1.3 Georgia,serif">Story ${number}: what the harbour looked like this week</h2>
      <p style="margin:0 0 12px;font:16px/1.5 Georgia,serif;color:#334">Hello {{ firstName | default: 'there' }}, ${
  'the tide tables for the coming days, the ferries that run late, and the market hours. '.repeat(8)}</p>
      <a href="https://example.com/stories/${number}?from=newsletter" style="color:#0a5bd3">Read story ${number}</a>
    </td></tr>`;
  const content = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour weekly</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<style>@media (max-width:600px){.card{padding:16px !important}.wide{width:100% !important}}</style></head>
<body style="margin:0;background:#f4f5f7"><table role="presentation" width="100%"><tr><td align="center">
<table role="presentation" class="wide" width="600" style="background:#fff">${
  Array.from({ length: 26 }, (_, index) => article(index + 1)).join('')}
</table></td></tr></table></body></html>`;
  return { content, title: 'Harbour weekly' };
}
