import type { Verdicts } from './case.ts';

/** What nearly all vendors mean by their refusals. */
export const COMMON_VERDICTS: Verdicts = {
  301: 'retry',
  302: 'retry',
  307: 'retry',
  400: 'permanent-message',
  401: 'permanent-channel',
  403: 'permanent-channel',
  404: 'permanent-channel',
  408: 'retry',
  409: 'retry',
  410: 'permanent-channel',
  413: 'permanent-message',
  415: 'permanent-message',
  422: 'permanent-message',
  425: 'retry',
  429: 'retry',
  500: 'retry',
  502: 'retry',
  503: 'retry',
  504: 'retry',
};
