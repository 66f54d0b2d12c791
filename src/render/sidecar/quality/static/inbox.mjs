// Checks of the two lines that an inbox shows before a mail is opened: subject and preheader.

import { fold } from './mail_tree.mjs';
import { named } from './report.mjs';

export const IDS = ['subjectMissing', 'subjectLength', 'subjectCapitals', 'preheaderMissing', 'preheaderShort', 'preheaderRepeated'];

const SUBJECT_CHARS = 60;
const PREHEADER_CHARS = 30;
/** Letters from which on capitals are a subject and not an abbreviation. */
const CAPITALS_LETTERS = 8;
const EXPRESSION = /\{\{[^{}]*\}\}|\{%[^{}]*%\}/g;

const lengthOf = (text) => [...text].length;
const bare = (text) => fold(text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' '));

function checkSubject(subject, report) {
  if (subject === '') {
    report.add('subjectMissing', { key: 'subject', message: 'The mail has no subject.' });
    for (const id of ['subjectLength', 'subjectCapitals']) report.skip(id, 'The mail has no subject.');
    return;
  }
  const chars = lengthOf(subject.replace(EXPRESSION, ''));
  if (chars > SUBJECT_CHARS) {
    report.add('subjectLength', { key: 'subject', source: subject, message: `The subject has ${chars} characters; inboxes show about ${SUBJECT_CHARS}.` });
  }
  const letters = subject.replace(EXPRESSION, '').match(/[\p{Lu}\p{Ll}]/gu) ?? [];
  if (letters.length >= CAPITALS_LETTERS && !letters.some((letter) => /\p{Ll}/u.test(letter))) {
    report.add('subjectCapitals', { key: 'subject', source: subject, message: 'The subject is written in capitals.' });
  }
}

function checkPreheader(preheader, subject, report) {
  if (preheader === '') {
    report.add('preheaderMissing', { key: 'preheader', message: 'The mail has no preheader, so inboxes show the beginning of its text.' });
    for (const id of ['preheaderShort', 'preheaderRepeated']) report.skip(id, 'The mail has no preheader.');
    return;
  }
  const chars = lengthOf(preheader);
  const [shown, repeated] = [bare(preheader), bare(subject)];
  if (repeated !== '' && shown.startsWith(repeated)) {
    report.add('preheaderRepeated', { key: 'preheader', source: preheader, message: `The preheader ${named(preheader)} repeats the subject.` });
  } else if (chars < PREHEADER_CHARS) {
    report.add('preheaderShort', { key: 'preheader', source: preheader, message: `The preheader has ${chars} characters; with fewer than ${PREHEADER_CHARS} inboxes add the beginning of the text.` });
  }
}

export function check({ shown, subject, shownSubject, previewText }, report) {
  const line = fold(shownSubject ?? subject ?? '');
  checkSubject(line, report);
  checkPreheader(fold(previewText ?? '') || shown.preheader, line, report);
}
