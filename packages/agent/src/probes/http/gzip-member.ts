const EXTRA = 0x04;
const NAME = 0x08;
const COMMENT = 0x10;
const HEADER_CHECKSUM = 0x02;
const RESERVED = 0xe0;

/**
 * Where the compressed data of the first gzip member begin (RFC 1952, section 2.3); undefined when `bytes` do
 * not begin with a whole, valid header.
 */
export function gzipDataStart(bytes: Uint8Array): number | undefined {
  const flags = bytes[3] ?? RESERVED;
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b || bytes[2] !== 8 || (flags & RESERVED) !== 0) return undefined;
  let start = 10;
  if ((flags & EXTRA) !== 0) start += 2 + (bytes[start] ?? 0) + 256 * (bytes[start + 1] ?? 0);
  for (const text of [NAME, COMMENT]) {
    if ((flags & text) === 0) continue;
    const end = bytes.indexOf(0, start);
    if (end === -1) return undefined;
    start = end + 1;
  }
  if ((flags & HEADER_CHECKSUM) !== 0) start += 2;
  return start < bytes.length ? start : undefined;
}
