import { type Asset, asset } from '../web/assets.ts';
import { STATES, stateMark } from '../web/design/states.ts';
import { textFile } from '../web/text-file.ts';
import { barClass } from './bars.ts';

/** The shapes of the states as masks, so that a page need not repeat them at each state. */
const SHAPES = STATES.map((state) => {
  const drawing = stateMark(state).toString().replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');
  return `.state-${state}, .status-page .${barClass(state)} { --shape: url("data:image/svg+xml,${encodeURIComponent(drawing)}"); }`;
}).join('\n');

export const PAGE_STYLE: Asset = asset(
  'status-page.css',
  `${textFile(new URL('./status-page.css', import.meta.url))}\n${SHAPES}\n`,
);

/** Figures of single days under the pointer, and newer content without a reload. */
export const PAGE_SCRIPT: Asset = asset(
  'status-page.js',
  textFile(new URL('./status-page.js', import.meta.url)),
);

/** What status pages load beyond the common assets. */
export const PAGE_ASSETS: readonly Asset[] = [PAGE_STYLE, PAGE_SCRIPT];
