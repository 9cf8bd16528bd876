import { domainToASCII } from 'node:url';

/**
 * Writes a name as DNS carries it: IDNA names in their ASCII form (`xn--…`). ASCII names stay as they are,
 * because IDNA would refuse some names that DNS allows.
 *
 * @returns null when the name has no ASCII form
 */
export function asciiDomainName(name: string): string | null {
  if (/^[\x00-\x7f]*$/.test(name)) return name;
  const ascii = domainToASCII(name);
  return ascii === '' ? null : ascii;
}
