// Search for a text in linear time, for every text and every input (Knuth, Morris and Pratt).

/**
 * The starts of the occurrences of `find`, from left to right, that `accepts` and that do not overlap. `most` bounds them.
 * @param {(start: number) => boolean} [accepts]
 */
export function findText(text, find, accepts = () => true, most = Infinity) {
  const fallback = fallbacksOf(find);
  const starts = [];
  let length = 0;
  for (let at = 0; at < text.length && starts.length < most; at++) {
    while (length > 0 && text.charCodeAt(at) !== find.charCodeAt(length)) length = fallback[length];
    if (text.charCodeAt(at) === find.charCodeAt(length)) length++;
    if (length < find.length) continue;
    const start = at + 1 - length;
    const isAccepted = accepts(start);
    if (isAccepted) starts.push(start);
    length = isAccepted ? 0 : fallback[length];
  }
  return starts;
}

/** For each length of a prefix, the longest shorter prefix that is also its end. */
function fallbacksOf(find) {
  const fallback = new Uint32Array(find.length + 1);
  let length = 0;
  for (let i = 1; i < find.length; i++) {
    while (length > 0 && find.charCodeAt(i) !== find.charCodeAt(length)) length = fallback[length];
    if (find.charCodeAt(i) === find.charCodeAt(length)) length++;
    fallback[i + 1] = length;
  }
  return fallback;
}
