import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TextBytes } from './text-bytes.ts';

type Piece = { readonly write: (text: TextBytes) => void; readonly expected: string };

const tenths = fc.nat().map((value) => value / 10);
const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc
    .string({ unit: 'binary-ascii' })
    .map((value) => ({ write: (text: TextBytes) => text.ascii(value), expected: value })),
  fc
    .string({ unit: 'grapheme' })
    .map((value) => ({ write: (text: TextBytes) => text.text(value), expected: value })),
  fc
    .maxSafeNat()
    .map((value) => ({ write: (text: TextBytes) => text.count(value), expected: String(value) })),
  fc
    .oneof(tenths, fc.double())
    .map((value) => ({ write: (text: TextBytes) => text.decimal(value), expected: String(value) })),
);

const expectedOf = (pieces: readonly Piece[]) => pieces.map(({ expected }) => expected).join('');

test('holds what was written, as UTF-8, however much it is', () => {
  fc.assert(
    fc.property(fc.array(piece), fc.array(piece), (first, second) => {
      const text = new TextBytes(1);
      for (const { write } of first) write(text);
      const kept = text.copy();
      const { length } = text;
      expect(length).toBe(kept.length);
      for (const { write } of second) write(text);
      expect(text.copy()).toEqual(Buffer.from(expectedOf([...first, ...second])));
      text.cut(length);
      expect(text.copy()).toEqual(kept);
    }),
  );
});

test.each([
  ...[0, 9, 10, 999_999_999, 1_000_000_000, 1_000_000_001, 1_764_000_000_000, Number.MAX_SAFE_INTEGER],
  ...[8_999_999_999_999_999, 9_000_000_000_000_000, 9_006_999_999_999_999],
])('writes %d as its digits', (value) => {
  const text = new TextBytes(16);
  text.count(value);
  expect(text.asciiText()).toBe(String(value));
});

test.each([0, -0, 0.1, 12.5, 12, 86_400_000, 2 ** 31 / 10, 2 ** 31, 0.25, -1.5, 1e-7, 1e21, Number.NaN])(
  'writes %d as strings have it',
  (value) => {
    const text = new TextBytes(16);
    text.decimal(value);
    expect(text.asciiText()).toBe(String(value));
  },
);

test('a later text does not change a copy', () => {
  const text = new TextBytes(16);
  text.ascii('first');
  const first = text.copy();
  text.cut(0);
  text.ascii('other');
  expect(Buffer.from(first).toString()).toBe('first');
});
