/**
 * Reads the old spellings of IPv4 addresses that the system's resolver accepts (inet_aton(3)): one to four
 * parts, each decimal, octal (`0177`) or hexadecimal (`0x7f`). The last part fills the remaining bytes:
 * `127.1`, `0x7f000001`, `2130706433`.
 *
 * @returns the dotted form, or null when `text` is none of these
 */
export function numericAddress(text: string): string | null {
  const parts = text.split('.');
  if (parts.length > 4) return null;
  const numbers = parts.map(numberOf);
  const last = numbers.pop() ?? Number.NaN;
  if (!numbers.every((number) => number <= 0xff) || !(last < 256 ** (4 - numbers.length))) return null;
  const value = numbers.reduce((sum, number, index) => sum + number * 256 ** (3 - index), last);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
}

function numberOf(part: string): number {
  if (/^0x[0-9a-f]+$/i.test(part)) return Number.parseInt(part, 16);
  if (/^0[0-7]+$/.test(part)) return Number.parseInt(part, 8);
  return /^(0|[1-9]\d*)$/.test(part) ? Number(part) : Number.NaN;
}
