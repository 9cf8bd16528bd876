import type { Asset } from './assets.ts';
import { BASE_STYLE, ICON } from './design/design.ts';
import { TIMES_SCRIPT } from './scripts/scripts.ts';

/** What pages of every kind load. */
export const WEB_ASSETS: readonly Asset[] = [BASE_STYLE, ICON, TIMES_SCRIPT];
