import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageBytes } from './message-bytes.ts';

const piece = fc.oneof(
  fc.record({ kind: fc.constant('ascii' as const), value: fc.string({ unit: 'binary-ascii' }) }),
  fc.record({ kind: fc.constant('text' as const), value: fc.string({ unit: 'grapheme' }) }),
  fc.record({ kind: fc.constant('count' as const), value: fc.maxSafeNat() }),
);

function write(
  message: MessageBytes,
  pieces: readonly (typeof piece extends fc.Arbitrary<infer T> ? T : never)[],
) {
  for (const each of pieces) {
    if (each.kind === 'count') message.count(each.value);
    else message[each.kind](each.value);
  }
}

const textOf = (pieces: readonly { value: string | number }[]) => pieces.map(({ value }) => value).join('');

test('holds what was written, as UTF-8, however much it is', () => {
  fc.assert(
    fc.property(fc.array(piece), fc.array(piece), (first, second) => {
      const message = new MessageBytes(1);
      write(message, first);
      const kept = message.copy();
      const { length } = message;
      expect(length).toBe(kept.length);
      write(message, second);
      expect(message.copy()).toEqual(Buffer.from(textOf([...first, ...second])));
      message.cut(length);
      expect(message.copy()).toEqual(kept);
    }),
  );
});

test.each([0, 9, 10, 999_999_999, 1_000_000_000, 1_000_000_001, 1_764_000_000_000, Number.MAX_SAFE_INTEGER])(
  'writes %d as its digits',
  (value) => {
    const message = new MessageBytes(16);
    message.count(value);
    expect(Buffer.from(message.copy()).toString()).toBe(String(value));
  },
);

test('a later message does not change a copy', () => {
  const message = new MessageBytes(16);
  message.ascii('first');
  const first = message.copy();
  message.cut(0);
  message.ascii('other');
  expect(Buffer.from(first).toString()).toBe('first');
});
