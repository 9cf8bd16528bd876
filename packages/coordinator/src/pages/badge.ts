import { shortened } from '../alerts/shortening.ts';
import type { State } from '../web/design/states.ts';
import { escapeXml } from './feeds.ts';
import { stateOfOverall } from './page-states.ts';
import type { PageView } from './page-view.ts';
import type { Place } from './place.ts';

/** Colours of the right half. White text on each of them has a contrast of at least 4.5:1. */
const COLOURS: Readonly<Record<State, string>> = {
  operational: '#17744a',
  degraded: '#8a5c00',
  partial_outage: '#a8490f',
  down: '#bb2a25',
  maintenance: '#43599f',
  unknown: '#5f6672',
};

const HEIGHT = 20;
const PADDING = 7;
/** Maximum width of the title, px: about 40 characters. */
const TITLE_WIDTH = 272;

/**
 * Renders a badge for other websites: the title of the page and its state in words.
 * The badge works inside `<img>`, because it has no links and loads nothing.
 */
export function badgeSvg({ page, overall }: PageView, { words }: Place): string {
  const title = shortened(page.attributes.title, (text) => textWidth(text) <= TITLE_WIDTH);
  const word = words.text.overall[overall];
  const left = textWidth(title) + 2 * PADDING;
  const right = textWidth(word) + 2 * PADDING;
  const half = (x: number, width: number, text: string) =>
    `<text x="${x + width / 2}" y="14" textLength="${width - 2 * PADDING}" lengthAdjust="spacingAndGlyphs">${escapeXml(text)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="${HEIGHT}" role="img" aria-label="${escapeXml(`${title}: ${word}`)}"><title>${escapeXml(`${title}: ${word}`)}</title><clipPath id="r"><rect width="${left + right}" height="${HEIGHT}" rx="4"/></clipPath><g clip-path="url(#r)"><rect width="${left}" height="${HEIGHT}" fill="#3a3f47"/><rect x="${left}" width="${right}" height="${HEIGHT}" fill="${COLOURS[stateOfOverall(overall)]}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${half(0, left, title)}${half(left, right, word)}</g></svg>
`;
}

/**
 * Matches a character that has a width. Combining marks, and characters after a zero-width joiner, have none.
 */
const SHOWN = /(?!\u200d)[^\p{M}\p{Cf}\p{Emoji_Modifier}](?<!\u200d.)/gsu;

/**
 * Estimates the width of a text in Verdana of 11 px, from the classes of its letters, px. The badge fits the
 * text into this width. Combining marks, and the characters that a joiner adds to an emoji, have no width.
 */
export function textWidth(text: string): number {
  let width = 0;
  for (const [character] of text.matchAll(SHOWN)) {
    if (
      /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|\p{Extended_Pictographic}/u.test(
        character,
      )
    )
      width += 11;
    else if (/[ijlI.,:;'|!]/.test(character)) width += 4;
    else if (/[frt()[\] -]/.test(character)) width += 4.8;
    else if (/[mwMW%@]/.test(character)) width += 10;
    else if (/\p{Lu}/u.test(character)) width += 8;
    else width += 6.8;
  }
  return Math.ceil(width);
}
