// The budgets of the golden players (budgets.json) and the page docs/agents.md, which is made from them. A budget may only shrink: a run
// refuses a larger figure, and `shrink` writes smaller ones. A larger one is written by hand, in a commit that says why.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, 'budgets.json');
const PAGE = join(import.meta.dirname, '../../docs/agents.md');
/** The estimate of the page: English and JSON have about four characters a token. */
const CHARACTERS_A_TOKEN = 4;
const BUDGETED = ['calls', 'errors', 'bytes'];
/** Counts in a result have more or fewer digits from run to run. */
const LEEWAY_BYTES = 32;

export const readBudgets = () => JSON.parse(readFileSync(FILE, 'utf8'));

/** The sentence of what is above its budget; null when nothing is. */
export function excess(name, figures, budgets) {
  const budget = budgets[name];
  if (budget === undefined) return 'has no budget yet; run tests/agent/main.mjs shrink';
  const above = BUDGETED.filter((what) => figures[what] > budget[what] + (what === 'bytes' ? LEEWAY_BYTES : 0));
  return above.length === 0 ? null : above.map((what) => `${figures[what]} ${what}, of which the budget allows ${budget[what]}`).join('; ');
}

/** Writes the smaller figures, and those of new jobs. */
export function shrink(measured) {
  const budgets = readBudgets();
  for (const [name, figures] of Object.entries(measured)) {
    const old = budgets[name] ?? {};
    const smaller = Object.entries(figures).map(([what, value]) => [what, Math.min(value, old[what] ?? Infinity)]);
    budgets[name] = { ...Object.fromEntries(smaller), mistakes: figures.mistakes };
  }
  const lines = Object.entries(budgets).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, budget]) => `  ${JSON.stringify(name)}: ${JSON.stringify(budget)}`);
  writeFileSync(FILE, `{\n${lines.join(',\n')}\n}\n`);
}

const tokens = (bytes) => Math.ceil(bytes / CHARACTERS_A_TOKEN);
const grouped = (number) => number.toLocaleString('en-US');

function rowOf(name, job, budget, waiting) {
  const number = Number(name.slice(0, 2));
  if (waiting === undefined && budget === undefined) return `| ${number} | ${job.title} | not measured | | | | |`;
  if (waiting !== undefined) return `| ${number} | ${job.title} | waits for ${waiting.join(', ')} | | | | |`;
  const { calls, errors, bytes, mistakes } = budget;
  return `| ${number} | ${job.title} | ${calls} of ${job.calls} | ${errors} | ${grouped(bytes)} | ${grouped(tokens(bytes))} | ${mistakes} |`;
}

/** The page for these jobs; `waiting` gives what each job waits for. */
export function pageOf(jobs, budgets, waiting, list) {
  const built = Object.keys(jobs).filter((name) => waiting[name] === undefined && budgets[name] !== undefined);
  const sum = (what) => built.reduce((total, name) => total + budgets[name][what], 0);
  const rows = Object.entries(jobs).map(([name, job]) => rowOf(name, job, budgets[name], waiting[name]));
  return `<!-- Made by tests/agent/main.mjs; edit that instead. -->

# What a job costs an assistant

An assistant reads the list of tools once and the results of its calls as it works; both use up its context. \`tests/agent\` plays ${rows.length} jobs with
nothing but what the server answers, and keeps the figures of the shortest way as budgets that may only shrink
([tests/README.md](../tests/README.md#the-jobs-of-assistants)).

- **Calls**: made, of those that the job needs. Repetitions of a call that waits count as one.
- **Errors**: refused calls.
- **Bytes**: the bodies of all results, as a host shows them to its model.
- **Tokens**: an estimate, ${CHARACTERS_A_TOKEN} bytes a token.
- **Mistakes**: recorded mistakes of models, made at the steps of the job; all but the few that the run prints are accepted as meant, or mended in one
  call from nothing but the reply.

| # | Job | Calls | Errors | Bytes | Tokens | Mistakes |
|---:|---|---|---:|---:|---:|---:|
${rows.join('\n')}
| | **All ${built.length} jobs of built tools** | ${sum('calls')} | ${sum('errors')} | ${grouped(sum('bytes'))} | ${grouped(tokens(sum('bytes')))} | ${sum('mistakes')} |

The list has ${list.tools} tools in at most ${grouped(list.bytes)} bytes, about ${grouped(tokens(list.bytes))} tokens.
`;
}

/** Whether the page is as the run makes it; `write` makes it so. */
export function checkPage(text, write) {
  if (write) writeFileSync(PAGE, text);
  let written = '';
  try {
    written = readFileSync(PAGE, 'utf8');
  } catch {
    // It is made by the first run with `shrink`.
  }
  return written === text;
}
