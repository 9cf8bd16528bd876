/** Types of images that pages show. The bytes decide, whatever their server says. */
type ImageType =
  | ('image/png' | 'image/jpeg' | 'image/gif')
  | ('image/webp' | 'image/x-icon' | 'image/svg+xml');

const SIGNATURES: readonly (readonly [ImageType, RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
  ['image/x-icon', /^\x00\x00\x01\x00/],
];

/** What may stand before the first element of an SVG: a mark of the byte order, a declaration, comments, a DOCTYPE. */
const BEFORE_SVG = /^\ufeff?(?:\s|<\?xml[^>]*\?>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>)*/;

/** The type of an image by its first bytes; null: it is none that pages show. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.subarray(0, 4_096));
  const latin = head.toString('latin1');
  const found = SIGNATURES.find(([, signature]) => signature.test(latin));
  if (found !== undefined) return found[0];
  const text = head.toString('utf8').replace(BEFORE_SVG, '');
  return /^<svg[\s>]/.test(text) ? 'image/svg+xml' : null;
}
