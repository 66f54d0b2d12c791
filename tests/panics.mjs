// The process may end only for a fault of the program or of the machine, never for the data of a caller (src/base/panic.h).
// Refuses abort and assert in src, and a panic without a literal reason. Prints each reason with the places that give it.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const OTHERS = new Set(['src/codegen', 'src/base/panic.c', 'src/base/panic.h']); // generators run at build, for their author
const REASON = /\bpanic\((PANIC_[A-Z_]+|"[^"]+")\)/;

function sourcesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules' || OTHERS.has(relative(root, path))) return [];
    return entry.isDirectory() ? sourcesBelow(path) : /\.[ch]$/.test(entry.name) ? [path] : [];
  });
}

const places = new Map();
const wrong = [];
for (const path of sourcesBelow(join(root, 'src'))) {
  readFileSync(path, 'utf8').split('\n').forEach((line, index) => {
    const place = `${relative(root, path)}:${index + 1}`;
    const code = line.replace(/\/\*.*?\*\/|^\s*\*.*/g, '');
    if (/(?<![\w.>])(abort|assert)\(/.test(code)) wrong.push(`${place}: abort and assert end the process for all callers; use an error, unwind_throw or panic`);
    if (!/\bpanic\(/.test(code)) return;
    const reason = REASON.exec(code)?.[1];
    if (reason === undefined) wrong.push(`${place}: a panic needs a literal reason`);
    else places.set(reason, [...(places.get(reason) ?? []), place]);
  });
}

for (const [reason, found] of [...places].sort((a, b) => b[1].length - a[1].length))
  console.log(`${String(found.length).padStart(4)}  ${reason}  ${found.length > 6 ? `${found.slice(0, 6).join(', ')}, …` : found.join(', ')}`);
for (const problem of wrong) console.error(problem);
const passed = [...places.values()].reduce((sum, found) => sum + found.length, 0);
console.log(`panics: ${passed} passed, ${wrong.length} failed`);
process.exit(wrong.length === 0 ? 0 : 1);
