import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { readBatch } from './note-batch.ts';
import { NoteQueue } from './note-queue.ts';

const MIB = 1_024 * 1_024;

function queue() {
  const clock = new FakeClock();
  const sent: number[][] = [];
  const seen = { overflows: 0 };
  const notes = new NoteQueue({
    clock,
    send: (batch) => {
      const ids: number[] = [];
      readBatch(batch, (id) => ids.push(id));
      sent.push(ids);
    },
    onOverflow: () => {
      seen.overflows += 1;
    },
  });
  return { clock, sent, seen, notes };
}

const note = (id: number, length = 10) => ({ id, bytes: new Uint8Array(length) });

test('notes are sent together, soon, or when something must come after them', () => {
  const { clock, sent, notes } = queue();
  notes.add(note(1));
  notes.add(note(2));
  clock.advance(999);
  expect(sent).toEqual([]);
  clock.advance(1);
  expect(sent).toEqual([[1, 2]]);
  notes.add(note(3));
  notes.send();
  notes.send();
  clock.advance(1_000);
  expect(sent).toEqual([[1, 2], [3]]);
});

test('what is sent and not read is bounded', () => {
  const { seen, notes } = queue();
  for (const id of [1, 2, 3]) {
    notes.add(note(id, 20 * MIB));
    notes.send();
  }
  notes.read(1);
  notes.add(note(4, 20 * MIB));
  notes.send();
  expect(seen.overflows).toBe(0);
  notes.read(1);
  notes.add(note(5, 20 * MIB));
  notes.send();
  expect(seen.overflows).toBe(1);
});

test('another thread is sent nothing of before', () => {
  const { clock, sent, notes } = queue();
  notes.add(note(1));
  notes.clear();
  clock.advance(1_000);
  expect(sent).toEqual([]);
});
