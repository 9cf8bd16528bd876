import type { Verdicts } from './case.ts';

/** Expected verdicts on the answers of a vendor's API whose address the operator sets. */
export const API_VERDICTS: Verdicts = {
  200: 'retry',
  201: 'retry',
  202: 'retry',
  204: 'retry',
  301: 'retry',
  307: 'retry',
  400: 'permanent-message',
  401: 'retry',
  402: 'retry',
  403: 'retry',
  404: 'retry',
  405: 'retry',
  408: 'retry',
  410: 'retry',
  413: 'permanent-message',
  415: 'permanent-message',
  422: 'permanent-message',
  425: 'retry',
  429: 'retry',
  500: 'retry',
  502: 'retry',
  503: 'retry',
  504: 'retry',
  599: 'retry',
};
