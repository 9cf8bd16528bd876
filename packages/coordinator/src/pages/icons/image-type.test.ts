import { expect, test } from 'vitest';
import { imageTypeOf } from './image-type.ts';

test.each([
  ['a PNG', Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'), 'image/png'],
  ['a JPEG', Buffer.from('\xff\xd8\xff\xe0', 'latin1'), 'image/jpeg'],
  ['a GIF', Buffer.from('GIF89a'), 'image/gif'],
  ['a WebP', Buffer.from('RIFF\x00\x01\x00\x00WEBPVP8 ', 'latin1'), 'image/webp'],
  ['an ICO', Buffer.from([0, 0, 1, 0, 1, 0]), 'image/x-icon'],
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'],
  [
    'an SVG behind a declaration',
    Buffer.from('<?xml version="1.0"?>\n<!-- a comment -->\n<svg width="1">'),
    'image/svg+xml',
  ],
  ['a page', Buffer.from('<!doctype html><svg>'), null],
  ['a page that begins as a comment', Buffer.from('<!-- <svg> --><script>alert(1)</script>'), null],
  ['nothing', Buffer.alloc(0), null],
])('%s is told by its first bytes', (_name, bytes, type) => {
  expect(imageTypeOf(bytes)).toBe(type);
});
