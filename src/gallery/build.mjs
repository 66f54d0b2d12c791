// Generates the C data of the template gallery (src/engine/templates/gallery.h). The renderer sidecar prepares every
// template, as for an import, and the result becomes constant C data.
//
//   build.mjs SIDECAR_FOLDER OUTPUT.c [strict]
//
// A template that cannot be prepared is left out with a warning, so that it does not stop the build of the service. With
// `strict`, every problem is an error; a test uses it to check the gallery of a release.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { createInterface } from 'node:readline';

const CATEGORIES = ['welcome', 'newsletter', 'promotional', 'product-launch', 'product-update', 'cart-abandonment',
  'event-invitation', 'event-reminder', 'feedback-request', 're-engagement', 'referral', 'business', 'internal', 'general'];
const FORMATS = { '.html': 'html', '.mjml': 'mjml' };
const PICTURES = { '.png': 'image/png', '.jpg': 'image/jpeg', '.webp': 'image/webp', '.gif': 'image/gif' };
const MAX_PICTURE_BYTES = 60000;
const MAX_STEPS = 12;
const MAX_ID_CHARS = 64;

const [sidecarFolder, output, strict] = process.argv.slice(2);
const folder = import.meta.dirname;
const problems = [];

const addProblem = (text) => problems.push(text);

// ---- Sidecar ----

class Sidecar {
  #process = spawn(process.execPath, [join(sidecarFolder, 'main.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  #lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  #id = 0;

  async prepare(format, content) {
    this.#process.stdin.write(`${JSON.stringify({ id: ++this.#id, op: 'prepare', format, content })}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('the sidecar has ended');
    const reply = JSON.parse(value);
    if (!reply.ok) throw new Error(reply.error.message);
    return reply.result;
  }

  close() {
    this.#process.stdin.end();
  }
}

// ---- Reading ----

function readGallery() {
  try {
    const { templates, flows } = JSON.parse(readFileSync(join(folder, 'gallery.json'), 'utf8'));
    return { templates, flows };
  } catch (problem) {
    addProblem(`gallery.json: ${problem.message}`);
    return { templates: [], flows: [] };
  }
}

const isText = (value, max) => typeof value === 'string' && value.length > 0 && [...value].length <= max;

function checkTemplate(template, rendered) {
  if (!isText(template.id, MAX_ID_CHARS) || !/^tpl_[a-z0-9_-]+$/.test(template.id)) return 'the id must be tpl_ and lower-case letters, digits, _ and -';
  if (rendered.has(template.id)) return 'another template has the same id';
  if (!isText(template.title, 200)) return 'the title must have 1 to 200 characters';
  if (!isText(template.subjectLine, 250)) return 'the subjectLine must have 1 to 250 characters';
  if (!CATEGORIES.includes(template.category)) return 'the category must be one of the contract';
  if (Number.isNaN(Date.parse(template.updatedAt))) return 'updatedAt must be a date-time';
  if (!FORMATS[extname(template.source ?? '')] || !existsSync(join(folder, template.source))) return 'the source must name an .mjml or .html file of this folder';
  return null;
}

// A picture is optional: a wrong one becomes a problem, and the template has no picture.
function readPicture(template) {
  if (template.preview === undefined) return null;
  const type = PICTURES[extname(template.preview)];
  const bytes = type && existsSync(join(folder, template.preview)) ? readFileSync(join(folder, template.preview)) : null;
  if (bytes === null || bytes.length > MAX_PICTURE_BYTES) {
    addProblem(`template ${template.id}: the preview ${template.preview} is missing, has an unknown type or is over ${MAX_PICTURE_BYTES} bytes`);
    return null;
  }
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  return { name: `gallery-${hash}${extname(template.preview)}`, type, bytes };
}

async function renderTemplates(templates) {
  const rendered = new Map();
  const sidecar = new Sidecar();
  for (const template of templates) {
    try {
      const wrong = checkTemplate(template, rendered);
      if (wrong) throw new Error(wrong);
      const prepared = await sidecar.prepare(FORMATS[extname(template.source)], readFileSync(join(folder, template.source), 'utf8'));
      rendered.set(template.id, { ...template, prepared, picture: readPicture(template), index: rendered.size });
    } catch (problem) {
      addProblem(`template ${template.id}: ${problem.message}`);
    }
  }
  sidecar.close();
  return rendered;
}

function checkFlow(flow, templates) {
  if (!/^[a-z0-9-]{1,128}$/.test(flow.slug ?? '')) return 'the slug must be lower-case letters, digits and -';
  if (!isText(flow.title, 200) || !isText(flow.brand?.name, 200)) return 'title and brand.name are required';
  if (!Array.isArray(flow.steps) || flow.steps.length === 0 || flow.steps.length > MAX_STEPS) return `the flow must have 1 to ${MAX_STEPS} steps`;
  for (const [index, step] of flow.steps.entries()) {
    if (step.order !== index + 1) return `step ${index + 1} must have the order ${index + 1}, not ${step.order}`;
    if (!Number.isInteger(step.dayOffset) || step.dayOffset < (flow.steps[index - 1]?.dayOffset ?? 0)) return `the dayOffset of step ${step.order} is missing or lower than that of the previous step`;
    if (!isText(step.subject, 250)) return `the subject of step ${step.order} must have 1 to 250 characters`;
    if (!templates.has(step.template)) return `step ${step.order} names the unknown template ${step.template}`;
  }
  return null;
}

// ---- Writing ----

// A C string literal of a text or of bytes, split into lines of about 110 characters.
function literal(text) {
  if (text === undefined || text === null) return 'NULL';
  const pieces = [];
  let piece = '';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (byte === 0x0a) piece += '\\n';
    else if ('"\\?'.includes(character)) piece += `\\${character}`;
    else if (byte < 0x20 || byte > 0x7e) piece += `\\${byte.toString(8).padStart(3, '0')}`;
    else piece += character;
    if (piece.length > 110) {
      pieces.push(piece);
      piece = '';
    }
  }
  return [...pieces, piece].map((part) => `"${part}"`).join('\n        ');
}

const writeTemplate = ({ prepared, ...template }) => `    {
        .id = ${literal(template.id)},
        .title = ${literal(template.title)},
        .category = ${literal(template.category)},
        .brand = ${literal(template.brand)},
        .subject_line = ${literal(template.subjectLine)},
        .preview_text = ${literal(prepared.previewText || null)},
        .html = ${literal(prepared.html)},
        .text = ${literal(prepared.text)},
        .links_json = ${literal(JSON.stringify(prepared.links))},
        .picture = ${template.picture ? `&picture_${template.index}` : 'NULL'},
        .updated_at_us = ${Date.parse(template.updatedAt) * 1000},
    },
`;

const writePicture = ({ picture, index }) => (picture ? `static const struct gallery_picture picture_${index} = {
    .name = ${literal(picture.name)},
    .content_type = ${literal(picture.type)},
    .bytes = ${literal(picture.bytes)},
    .size = ${picture.bytes.length},
};

` : '');

const writeStep = (step, templates) =>
  `    { ${step.order}, ${step.dayOffset}, ${literal(step.subject)}, ${literal(step.previewText)}, &gallery_templates[${templates.get(step.template).index}] },\n`;

const writeSteps = (flow, index, templates) =>
  `static const struct gallery_step steps_${index}[] = {\n${flow.steps.map((step) => writeStep(step, templates)).join('')}};\n\n`;

const writeFlow = (flow, index) => `    {
        .slug = ${literal(flow.slug)},
        .title = ${literal(flow.title)},
        .brand = ${literal(flow.brand.name)},
        .type = ${literal(flow.type)},
        .category = ${literal(flow.category)},
        .steps = steps_${index},
        .step_count = ${flow.steps.length},
    },
`;

// C has no empty array: without items, the array has one zero entry, which the count leaves out.
const array = (type, name, items) => `const struct ${type} ${name}[] = {\n${items.join('') || '    { 0 },\n'}};\n`;

function writeSource(templates, flows) {
  return `/* Generated from src/gallery by build.mjs. */
#include "engine/templates/gallery.h"

${[...templates.values()].map(writePicture).join('')}${array('gallery_template', 'gallery_templates', [...templates.values()].map(writeTemplate))}const size_t gallery_template_count = ${templates.size};

${flows.map((flow, index) => writeSteps(flow, index, templates)).join('')}${array('gallery_flow', 'gallery_flows', flows.map(writeFlow))}const size_t gallery_flow_count = ${flows.length};
`;
}

// ---- Main program ----

const gallery = readGallery();
const templates = await renderTemplates(gallery.templates);
const flows = gallery.flows.filter((flow) => {
  const wrong = checkFlow(flow, templates);
  if (wrong) addProblem(`flow ${flow.slug}: ${wrong}`);
  return !wrong;
});
const source = writeSource(templates, flows);
mkdirSync(dirname(output), { recursive: true });
if (!existsSync(output) || readFileSync(output, 'utf8') !== source) writeFileSync(output, source);
for (const problem of problems) console.error(`gallery: ${strict ? 'error' : 'left out'}: ${problem}`);
console.log(`gallery: ${templates.size} templates, ${flows.length} flows`);
process.exitCode = strict && problems.length > 0 ? 1 : 0;
