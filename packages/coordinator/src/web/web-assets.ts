import { type Asset, asset, textFile } from './assets.ts';

const TOKENS = textFile(new URL('./design/tokens.css', import.meta.url));
const BASE = textFile(new URL('./design/base.css', import.meta.url));
const FORMS = textFile(new URL('./design/forms.css', import.meta.url));
const STATES = textFile(new URL('./design/states.css', import.meta.url));
const PRINT = textFile(new URL('./design/print.css', import.meta.url));

/** The style of every page. The order matters: of two rules of equal weight, the later one applies. */
export const BASE_STYLE: Asset = asset('base.css', [TOKENS, BASE, FORMS, STATES, PRINT].join('\n'));

/** The icon of svc, light or dark by the browser's preference. */
export const ICON: Asset = asset('icon.svg', textFile(new URL('./design/icon.svg', import.meta.url)));

/** The script that shows times in the visitor's zone. */
export const TIMES_SCRIPT: Asset = asset('times.js', textFile(new URL('./times.js', import.meta.url)));

/** The assets that pages of all kinds load. */
export const WEB_ASSETS: readonly Asset[] = [BASE_STYLE, ICON, TIMES_SCRIPT];
