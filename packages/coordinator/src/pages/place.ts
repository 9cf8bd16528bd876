import type { Words } from './words.ts';

/** Where and in which words a page is rendered. */
export type Place = {
  /** Scheme and host under which visitors see the page, without a slash at the end. */
  readonly origin: string;
  /** Path of the page below the host, without a slash at the end: `/status/main`, or '' on a domain of its own. */
  readonly path: string;
  readonly words: Words;
  /** The instant of the shown data, epoch ms, when newer data cannot be read; null: the data is current. */
  readonly staleSince: number | null;
};

/** Address of the page itself. */
export function addressOf({ origin, path }: Place): string {
  return `${origin}${path === '' ? '/' : path}`;
}

/**
 * Scheme and host of a page on a domain of its own, without a slash at the end. Scheme and port are those of the service.
 *
 * @param publicUrl SVC_PUBLIC_URL
 */
export function originOfDomain(domain: string, publicUrl: string): string {
  const own = new URL(new URL(publicUrl).origin);
  own.hostname = domain;
  return own.origin;
}
