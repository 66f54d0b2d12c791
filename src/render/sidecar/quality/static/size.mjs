// Check of the size of the HTML as it is sent: Gmail hides what follows about 102 KB.

import { CLIP_WARNING_BYTES } from '../../limits.mjs';

export const IDS = ['htmlSize'];

const CLIP_BYTES = 102 * 1024;

export function check({ htmlBytes }, report) {
  const size = `The HTML has ${Math.ceil(htmlBytes / 1024)} KB`;
  if (htmlBytes >= CLIP_BYTES) report.add('htmlSize', { key: 'size', severity: 'error', message: `${size}; Gmail hides what follows ${CLIP_BYTES / 1024} KB.` });
  else if (htmlBytes >= CLIP_WARNING_BYTES) report.add('htmlSize', { key: 'size', message: `${size}; Gmail hides what follows ${CLIP_BYTES / 1024} KB.` });
}
