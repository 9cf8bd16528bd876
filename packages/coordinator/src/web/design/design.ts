import { type Asset, asset } from '../assets.ts';
import { textFile } from '../text-file.ts';

const TOKENS = textFile(new URL('./tokens.css', import.meta.url));
const BASE = textFile(new URL('./base.css', import.meta.url));
const FORMS = textFile(new URL('./forms.css', import.meta.url));
const STATES = textFile(new URL('./states.css', import.meta.url));
const PRINT = textFile(new URL('./print.css', import.meta.url));

/** The style of every page: the tokens, then the elements. Of two rules that are alike, the later one counts. */
export const BASE_STYLE: Asset = asset('base.css', [TOKENS, BASE, FORMS, STATES, PRINT].join('\n'));

/** The icon of svc, light or dark as the browser prefers. */
export const ICON: Asset = asset('icon.svg', textFile(new URL('./icon.svg', import.meta.url)));
