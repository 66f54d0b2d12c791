// The HTML of a caller as a fragment in which every element is closed, so that it cannot end the element around it. The pipeline of
// imports sanitises it afterwards.

import { parseFragment, serialize } from '#libraries/html';

export const balanced = (source) => serialize(parseFragment(source));
