// The engine "static" of an audit: checks that need the parsed mail and nothing else. README.md describes the request and the report.

import { readTree } from './mail_tree.mjs';
import { CheckReport } from './report.mjs';
import { supportDate } from '../client_support.mjs';
import * as compatibility from './compatibility.mjs';
import * as images from './images.mjs';
import * as inbox from './inbox.mjs';
import * as links from './links.mjs';
import * as mergeTags from './merge_tags.mjs';
import * as placeholders from './placeholders.mjs';
import * as plainText from './plain_text.mjs';
import * as sender from './sender.mjs';
import * as size from './size.mjs';
import * as structure from './structure.mjs';
import * as typography from './typography.mjs';

/** The families. Those of the first list need the trees of the mail. */
const OF_TREE = [images, structure, typography, links, inbox, placeholders, plainText, sender, compatibility];
const OF_SOURCE = [mergeTags, size];

/** The ids of all checks, in the order of the report. */
export const CHECK_IDS = [...OF_TREE, ...OF_SOURCE].flatMap(({ IDS }) => IDS);

const VERSION = '1.0.0';

function metricsOf(tree, pictures, htmlBytes) {
  const addresses = new Set(tree.images?.map(({ src }) => src));
  const gifs = [...addresses].filter((src) => /\.gif(?:[?#]|$)/i.test(src.slice(-300)) || pictures?.[src]?.frames > 1);
  return { htmlBytes, linkCount: tree.links?.filter(({ href }) => href !== null).length ?? 0, imageCount: addresses.size, gifCount: gifs.length };
}

/**
 * @param {{design: string, html?: string|null, text?: string|null, subject?: string|null, shownSubject?: string|null, previewText?: string|null,
 *   purpose?: string|null, address?: string|null, emptyTags?: object[]|null, pictures?: object|null}} mail
 * @returns the report (README.md)
 */
export function checkMail({ design, html = null, text = null, subject = null, shownSubject = null, previewText = null, purpose: given = null, address = null, emptyTags = null, pictures = null }) {
  const purpose = given ?? 'marketing';
  const report = new CheckReport(CHECK_IDS);
  const tree = readTree(design);
  const shown = html === null ? tree : readTree(html);
  const htmlBytes = Buffer.byteLength(html ?? design);
  const mail = { design, tree, shown, text, subject, shownSubject, previewText, purpose, address, emptyTags, pictures, htmlBytes };
  const problem = tree.problem ?? shown.problem;
  if (problem === null) for (const family of OF_TREE) family.check(mail, report);
  else for (const id of OF_TREE.flatMap(({ IDS }) => IDS)) report.skip(id, problem);
  for (const family of OF_SOURCE) family.check(mail, report);
  return {
    engine: { name: 'posthorn-static', version: VERSION, dataDate: supportDate() },
    checks: report.toResult(),
    metrics: metricsOf(tree, pictures, htmlBytes),
  };
}
