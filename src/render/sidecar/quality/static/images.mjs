// Checks of images: alternative texts, sizes, endless animations, and mails that are only images.

import { attribute } from '../../html/document.mjs';
import { named } from './report.mjs';
import { WORD_LETTER } from './words.mjs';

export const IDS = ['imageAlt', 'imageAltFileName', 'imageOnly', 'imageSize', 'imageAnimation'];

const FILE_NAME = /^[^\s/]+\.(?:png|jpe?g|gif|webp|svg|avif|bmp|tiff?|heic)$/i;
const CAMERA_NAME = /^(?:img|dsc|dscn|dscf|pxl|image|photo|picture|screenshot|untitled|bild|foto)[\s_-]*\d+$/i;
/** An image that can hold a message is at least this wide; logos and icons are narrower. */
const MESSAGE_PX = 200;
/** A mail with an image and fewer characters of text than this says nothing without its images. A letter that is a word counts more. */
const LEAST_TEXT = 100;
const CHARS_OF_WORD = 4;
const WORD = new RegExp(`[${WORD_LETTER}]`, 'gu');

/** The file name of an address without its ending, or ''. */
const fileOf = (src) => {
  const [path] = src.split(/[?#]/, 1);
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.[a-z]{2,5}$/i, '').toLowerCase();
};

function isFileName(alt, src) {
  if (FILE_NAME.test(alt) || CAMERA_NAME.test(alt)) return true;
  return /[_\d-]/.test(alt) && !/\s/.test(alt) && alt.toLowerCase() === fileOf(src);
}

/** An image of one pixel, which counts opens or holds a space. */
const isPixel = (element) => ['width', 'height'].some((name) => /^[01](?:px)?$/.test(attribute(element, name) ?? ''));

const isSilent = (element) => attribute(element, 'aria-hidden') === 'true' || ['presentation', 'none'].includes(attribute(element, 'role'));

function checkAlt({ element, src, alt }, tree, report) {
  const place = { element, tree, key: src };
  if (alt === null && !isSilent(element)) report.add('imageAlt', { ...place, message: `The image ${named(src)} has no alternative text.` });
  if (alt && isFileName(alt, src)) report.add('imageAltFileName', { ...place, message: `The alternative text ${named(alt)} is the name of a file.` });
}

/** The width as it is written, or null. */
const widthOf = (element, tree) => attribute(element, 'width') || (tree.styles.of(attribute(element, 'style') ?? '').values.get('width') ?? null);

/** False for an image that is written as narrower than a message needs. */
function canHoldMessage(element, tree) {
  const [, px] = /^(\d{1,5})(?:px)?$/.exec(widthOf(element, tree) ?? '') ?? [];
  return px === undefined || Number(px) >= MESSAGE_PX;
}

function checkSize({ element, src }, tree, report) {
  if (widthOf(element, tree) === null) report.add('imageSize', { element, tree, key: src, message: `The image ${named(src)} has no width.` });
}

function checkAnimations(images, pictures, tree, report) {
  const animated = images.filter(({ src }) => pictures !== null && Object.hasOwn(pictures, src));
  if (animated.length === 0) {
    report.skip('imageAnimation', images.length === 0 ? 'The mail has no images.' : 'The images could not be read.');
    return;
  }
  for (const { element, src } of animated) {
    const { frames, loops } = pictures[src];
    if (frames > 1 && loops === 0) {
      report.add('imageAnimation', { element, tree, key: src, message: `The image ${named(src)} has ${frames} frames and repeats without an end.` });
    }
  }
}

const charsOf = (text) => [...text].length + (CHARS_OF_WORD - 1) * (text.match(WORD)?.length ?? 0);

function checkImageOnly(images, tree, report) {
  const wide = images.filter(({ element }) => canHoldMessage(element, tree));
  const chars = charsOf(tree.visibleText.replace(/\s/g, '').slice(0, LEAST_TEXT));
  const hasMergedText = tree.texts.some(({ value }) => tree.fragments.hasTemplate(value));
  if (wide.length > 0 && chars < LEAST_TEXT && !hasMergedText) {
    const count = wide.length === 1 ? 'an image' : `${wide.length} images`;
    report.add('imageOnly', { element: wide[0].element, tree, key: 'imageOnly', message: `The mail has ${count} and ${chars} characters of text.` });
  }
}

export function check({ tree, pictures }, report) {
  const images = tree.images.filter(({ isHidden, element }) => !isHidden && !isPixel(element));
  for (const image of images) {
    checkAlt(image, tree, report);
    checkSize(image, tree, report);
  }
  checkImageOnly(images, tree, report);
  checkAnimations(images, pictures, tree, report);
  if (images.length === 0) for (const id of ['imageAlt', 'imageAltFileName', 'imageOnly', 'imageSize']) report.skip(id, 'The mail has no images.');
}
