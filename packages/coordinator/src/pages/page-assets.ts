import { type Asset, asset, textFile } from '../web/assets.ts';
import { STATES, stateMark } from '../web/design/states.ts';
import { barClass } from './bars.ts';

/**
 * The shapes of the states as CSS masks, so that a page does not repeat the shape wherever it shows a state.
 */
const SHAPES = STATES.map((state) => {
  const drawing = stateMark(state).toString().replace('<svg', '<svg xmlns="http://www.w3.org/2000/svg"');
  return `.state-${state}, .status-page .${barClass(state)} { --shape: url("data:image/svg+xml,${encodeURIComponent(drawing)}"); }`;
}).join('\n');

export const PAGE_STYLE: Asset = asset(
  'status-page.css',
  `${textFile(new URL('./status-page.css', import.meta.url))}\n${SHAPES}\n`,
);

/**
 * Script that shows the figures of single days under the pointer, and loads newer content without a reload.
 */
export const PAGE_SCRIPT: Asset = asset(
  'status-page.js',
  textFile(new URL('./status-page.js', import.meta.url)),
);

/** The assets that status pages load in addition to the common assets. */
export const PAGE_ASSETS: readonly Asset[] = [PAGE_STYLE, PAGE_SCRIPT];
