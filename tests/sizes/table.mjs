// The table: a line for each series, with what its largest size cost.

const COLUMNS = [
  ['operation', 30], ['input', 34], ['size', -9], ['answer', -26], ['serve MB', -8], ['ms', -7], ['runner MB', -9], ['ms', -7], ['growth', -11],
];

const pad = (text, width) => (width < 0 ? String(text).padStart(-width) : String(text).padEnd(width));
const mib = (kib) => Math.round(kib / 1024);
const ms = (us) => Math.round(us / 1000);
const sized = (bytes) => (bytes >= 10_000 ? `${Math.round(bytes / 1000)} KB` : `${bytes} B`);

export const heading = () => COLUMNS.map(([name, width]) => pad(name, width)).join(' ') + '  verdict';

/** The steepest of time and memory, such as 1.1/0.9. */
function steepest(exponents) {
  const most = (what) => Math.max(-Infinity, ...Object.entries(exponents).filter(([name, value]) => name.endsWith(what) && value !== null).map(([, value]) => value));
  const shown = (value) => (value === -Infinity ? '-' : value.toFixed(1));
  return `${shown(most('time'))}/${shown(most('memory'))}`;
}

/** `result`: {name, input, points, exponents, problems, isKnown}. */
export function line({ name, input, points, exponents, problems, known }) {
  const last = points.filter(Boolean).at(-1);
  const answer = last?.answer === undefined ? '' : last.answer.ok ? last.answer.status ?? 'ok' : last.answer.body?.error?.code ?? last.answer.status;
  const cells = last === undefined
    ? [name, input, '', '', '', '', '', '', '']
    : [name, input, sized(last.bytes), answer, mib(last.serve.peakKib), ms(last.serve.us), mib(last.runner.peakKib), ms(last.runner.us), steepest(exponents)];
  const refused = last?.answer?.body?.error?.message;
  const verdict = problems.length > 0 ? `${known ? 'known' : 'FAILED'}: ${problems.join('; ')}` : refused ? `ok, refused: ${refused}` : 'ok';
  return `${COLUMNS.map(([, width], i) => pad(cells[i], width)).join(' ')}  ${verdict.replaceAll('\n', ' ').slice(0, 300)}`;
}
