import { randomUUID } from 'node:crypto';

/** The id of a request: the client's own where it is a plain one. @param given the header `X-Request-Id` */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}
