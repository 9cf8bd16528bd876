import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from './byte-writer.ts';

function written(write: (writer: ByteWriter) => void): string {
  const writer = new ByteWriter();
  write(writer);
  return Buffer.from(writer.written()).toString();
}

test('a number is written as JSON has it', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true })),
      (value) => {
        expect(Number(written((writer) => writer.decimal(value)))).toBe(value + 0);
      },
    ),
  );
});

test('billionths are read as what they are, to the last digit', () => {
  const billionths = fc.oneof(
    fc.maxSafeNat(),
    fc.nat(),
    fc.nat(9_007_199).map((seconds) => seconds * 1e9),
    fc.nat(9_007_198).map((seconds) => seconds * 1e9 + 999_999_999),
  );
  fc.assert(
    fc.property(billionths, (value) => {
      const text = written((writer) => writer.billionths(value));
      expect(Number(text)).toBe(value / 1e9);
      expect(text).toMatch(/^(?:0|[1-9]\d*)(?:\.\d{0,8}[1-9])?$/);
    }),
  );
  expect(written((writer) => writer.billionths(2 ** 60))).toBe(String(2 ** 60 / 1e9));
});

test('what is longer than the buffer has room, bytes long and short', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 20 }), (parts) => {
      const writer = new ByteWriter();
      for (const part of parts) writer.raw(part);
      expect(Buffer.from(writer.written()).equals(Buffer.concat(parts))).toBe(true);
    }),
  );
});
