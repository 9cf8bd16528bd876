import type { Answer } from './answer.ts';
import { ENDINGS, NO_BODIES } from './families/bodies.ts';
import { BOUNDS, FOREIGN, INTERIM } from './families/bounds.ts';
import { CHUNKS } from './families/chunks.ts';
import { CODINGS } from './families/codings.ts';
import { LENGTHS_OF_BODIES, TRANSFER_ENCODINGS } from './families/framing.ts';
import { HEADERS } from './families/headers.ts';
import { LINE_ENDS } from './families/line-ends.ts';
import { COOKIE_ANSWERS, REDIRECTS } from './families/redirects.ts';
import { STATUS_LINES } from './families/status-lines.ts';

/** Every answer on which the HTTP probe is compared with other clients. */
export const CORPUS: readonly Answer[] = [
  ...STATUS_LINES,
  ...LINE_ENDS,
  ...HEADERS,
  ...LENGTHS_OF_BODIES,
  ...TRANSFER_ENCODINGS,
  ...CHUNKS,
  ...NO_BODIES,
  ...ENDINGS,
  ...REDIRECTS,
  ...COOKIE_ANSWERS,
  ...CODINGS,
  ...BOUNDS,
  ...INTERIM,
  ...FOREIGN,
];
