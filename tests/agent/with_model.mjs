// The jobs with a model that the environment names (model/model.mjs). Prints for each job the successes of all tries, the mean calls,
// errors and tokens, and what went wrong. Skipped, and said so, when no model is named.
//
//   AGENT_URL=… AGENT_MODEL=… node tests/agent/with_model.mjs [JOB…]

import { fileURLToPath } from 'node:url';
import { evaluateModel } from './model/run.mjs';

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await evaluateModel(process.argv.slice(2), console.log);
