// Writes the manual page posthorn(1) from the help of the binary, which prints its tables of commands and options, and from the
// generated page about the command line.
//
//     node man_page.mjs BINARY COMMAND_LINE_MD OUTPUT
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const [binary, guidePath, outputPath] = process.argv.slice(2);
if (!outputPath) {
  console.error('usage: man_page.mjs BINARY COMMAND_LINE_MD OUTPUT');
  process.exit(2);
}

// ---- roff ----

const ESCAPES = { '\\': '\\e', '-': '\\-', '…': '...', '→': '->' };

/** Text of one line. A period or an apostrophe at its start would make it a roff request. */
const plain = (text) => text.replace(/[\\…→-]/g, (character) => ESCAPES[character]).replace(/^[.']/, '\\&$&');

/** Markdown's `code`, **bold** and [links](…) in one line. */
function inline(text) {
  const parts = text.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').split(/(`[^`]+`|\*\*[^*]+\*\*)/);
  const roff = parts.map((part) => (/^(`|\*\*)/.test(part) ? `\\fB${plain(part.replace(/^(`|\*\*)|(`|\*\*)$/g, ''))}\\fR` : plain(part)));
  return roff.join('').replace(/^[.']/, '\\&$&');
}

const section = (title) => `.SH ${title.toUpperCase()}`;
const example = (lines) => ['.PP', '.nf', '.RS 4', ...lines.map(plain), '.RE', '.fi'];
/** A term and its lines of text. */
const entry = (term, ...lines) => ['.TP', `\\fB${plain(term)}\\fR`, lines.filter((line) => line !== '').map(plain).join('\n.br\n')];

// ---- Output of the binary ----

const help = (...words) => execFileSync(binary, [...words, '--help'], { encoding: 'utf8' });

/** The verbs of `posthorn admin`, which prints them on standard error when none is given. */
function adminVerbs() {
  const { stderr } = spawnSync(binary, ['admin'], { encoding: 'utf8' });
  return [...stderr.matchAll(/^ {2}(\S.*)$/gm)].flatMap(([, line]) => line.split(' | '));
}

/** {title, commands: [{name, usage, text}], domains} of the general help. */
function readGeneral(text) {
  const lines = text.split('\n');
  const commands = lines.flatMap((line) => {
    const [, usage, what] = /^ {2}posthorn (.+ \[options\]) +(\S.*)$/.exec(line) ?? [];
    return usage === undefined ? [] : [{ name: usage.split(' ')[0], usage, text: what }];
  });
  const domains = text.slice(text.indexOf('--key):')).split('\n').slice(1).join(' ').trim().split(/\s+/);
  return { title: lines[0], commands, domains };
}

/** Flag → {argument, text, variable, commands} of all commands, in the order of their first use. */
function readOptions(texts) {
  const options = new Map();
  for (const [name, printed] of texts) {
    for (const [, flag, argument, text, variable] of printed.matchAll(/^ {2}(--?[a-z-]+) (\S*) +(\S.*?)(?: \[(POSTHORN_\w+)\])?$/gm)) {
      const option = options.get(flag) ?? { argument, text, variable, commands: [] };
      option.commands.push(name);
      options.set(flag, option);
    }
  }
  return options;
}

// ---- The page about the command line ----

/** A block of Markdown (lines without a blank line between them) as roff. */
function writeBlock(lines) {
  if (lines[0].startsWith('- ')) return lines.flatMap((line) => ['.IP \\(bu 2', inline(line.replace(/^- /, ''))]);
  if (lines[0].startsWith('|')) {
    const rows = lines.slice(2).map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
    return rows.flatMap(([left, right]) => ['.TP', inline(left.startsWith('`') ? left : `**${left}**`), inline(right)]);
  }
  return ['.PP', ...lines.map(inline)];
}

function writeGuide(markdown) {
  const out = [];
  const text = markdown.replace(/^<!--.*-->\n/, '').replace(/^# .*\n/m, '');
  for (const block of text.split(/\n{2,}/).map((part) => part.trim()).filter((part) => part !== '')) {
    const [first, ...rest] = block.split('\n');
    if (first.startsWith('## ')) out.push(section(first.slice(3) === 'Commands' ? 'Operations' : first.slice(3)));
    else if (first.startsWith('```')) out.push(...example(rest.slice(0, -1)));
    else out.push(...writeBlock([first, ...rest]));
  }
  return out;
}

// ---- The whole page ----

const { title, commands, domains } = readGeneral(help());
const [, name, version, purpose] = /^(\S+) (\S+): (.*)$/.exec(title) ?? [];
// Every domain has the same options.
const optionTexts = [...commands.map(({ name: command }) => [command, help(command)]), ['DOMAIN VERB', help(domains[0])]];
const options = readOptions(optionTexts);
const verbs = adminVerbs();
if (commands.length === 0 || verbs.length === 0 || options.size === 0 || purpose === undefined)
  throw new Error('the help of the binary cannot be read');

const page = [
  `.TH ${name.toUpperCase()} 1 "" "${name} ${version}"`,
  section('Name'), `${name} \\- ${plain(purpose)}`,
  section('Synopsis'), ...commands.flatMap(({ usage }) => [`\\fB${name}\\fR ${plain(usage)}`, '.br']), `\\fB${name}\\fR DOMAIN VERB [OPERANDS] [options]`,
  section('Commands'), ...commands.flatMap(({ name: command, text }) => entry(command, text)),
  '.SS posthorn admin', ...example(verbs),
  section('Options'), 'A flag overrides its environment variable, which is in brackets.',
  ...[...options].flatMap(([flag, { argument, text, variable, commands: users }]) => entry(`${flag} ${argument}`.trim(),
    `${text}${variable === undefined ? '' : ` [${variable}]`}`,
    users.length === optionTexts.length ? '' : `Commands: ${users.join(', ')}.`)),
  section('Operations and their arguments'), ...writeGuide(readFileSync(guidePath, 'utf8')),
];
writeFileSync(outputPath, `${page.join('\n')}\n`);
