import type { Words } from './words.ts';

/** The address and the language for which a page is rendered. */
export type Place = {
  /** Scheme and host of the address that visitors use, without a final slash. */
  readonly origin: string;
  /**
   * Path of the page below the host, without a final slash: `/status/main`, or '' on the page's own domain.
   */
  readonly path: string;
  readonly words: Words;
  /** If newer data cannot be read, the instant of the shown data, epoch ms; null: the data is current. */
  readonly staleSince: number | null;
};

/** Returns the address of the page itself. */
export function addressOf({ origin, path }: Place): string {
  return `${origin}${path === '' ? '/' : path}`;
}

/**
 * Returns the origin of a page on its own domain, without a
 * final slash. Scheme and port are those of the service's URL.
 *
 * @param publicUrl SVC_PUBLIC_URL
 */
export function originOfDomain(domain: string, publicUrl: string): string {
  const own = new URL(new URL(publicUrl).origin);
  own.hostname = domain;
  return own.origin;
}
