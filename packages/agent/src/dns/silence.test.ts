import { describe, expect, test } from 'vitest';
import { Silence } from './silence.ts';

describe('silence', () => {
  test('about one name is not total, about two names it is', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 0);
    expect(silence.isTotal(0, 5_000)).toBe(false);
    silence.recordQuestion('two', 4_900);
    // The question is new, so nothing is known yet.
    expect(silence.isTotal(0, 5_000)).toBe(false);
    expect(silence.isTotal(0, 5_400)).toBe(true);
  });

  test('in a short attempt counts after half of it', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 0);
    // If the event loop is late, the question about the other name begins late.
    silence.recordQuestion('two', 250);
    expect(silence.isTotal(0, 450)).toBe(false);
    expect(silence.isTotal(0, 600)).toBe(true);
  });

  test('about two names is not total before an answer could have come', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 0);
    silence.recordQuestion('two', 0);
    expect(silence.isTotal(0, 100)).toBe(false);
    expect(silence.isTotal(0, 300)).toBe(true);
  });

  test('about one name is total where the servers could not be reached for another question meanwhile', () => {
    const silence = new Silence();
    silence.recordReply('one', 0);
    silence.recordQuestion('one', 1_000);
    silence.recordUnreachable(1_300);
    expect(silence.isTotal(1_000, 1_600)).toBe(true);
    silence.recordEnd('one');
    silence.recordQuestion('one', 2_200);
    expect(silence.isTotal(2_200, 2_800)).toBe(true);
    // The failure is too long ago: the servers may be back.
    silence.recordEnd('one');
    silence.recordQuestion('one', 2_400);
    expect(silence.isTotal(2_400, 3_000)).toBe(false);
  });

  test('is total when the servers answered at first, and could not be reached later', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 1_000);
    silence.recordReply('one', 1_010);
    silence.recordUnreachable(1_500);
    expect(silence.isTotal(1_000, 1_600)).toBe(true);
  });

  test('is total when the servers answered at first, and later leave a known name unanswered', () => {
    const silence = new Silence();
    silence.recordReply('known', 0);
    silence.recordQuestion('one', 1_000);
    silence.recordQuestion('two', 1_000);
    silence.recordReply('two', 1_010);
    expect(silence.isTotal(1_000, 5_000)).toBe(false);
    expect(silence.otherNameToAsk('one', 1_000, 1_040)).toBeNull();
    expect(silence.otherNameToAsk('one', 1_000, 1_100)).toBe('two');
    expect(silence.isTotal(1_000, 1_200)).toBe(false);
    // Further questions to silent servers do not change the result.
    expect(silence.otherNameToAsk('one', 1_000, 2_100)).toBe('two');
    expect(silence.isTotal(1_000, 2_200)).toBe(true);
    silence.recordReply('two', 2_300);
    expect(silence.isTotal(1_000, 5_000)).toBe(false);
  });

  test('is not total once a server has answered again', () => {
    const silence = new Silence();
    silence.recordUnreachable(900);
    silence.recordReply('two', 950);
    silence.recordQuestion('one', 1_000);
    expect(silence.isTotal(1_000, 1_600)).toBe(false);
  });

  test('about given-up names is remembered until a server answers', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 0);
    silence.recordEnd('one');
    silence.recordGivenUp('one');
    silence.recordQuestion('two', 10_000);
    expect(silence.isTotal(10_000, 11_000)).toBe(true);
    silence.recordReply('three', 11_000);
    expect(silence.isTotal(10_000, 12_000)).toBe(false);
    expect(silence.isTotal(11_500, 12_000)).toBe(false);
  });

  test('two questions about one name are one name', () => {
    const silence = new Silence();
    silence.recordQuestion('one', 0);
    silence.recordQuestion('one', 0);
    silence.recordEnd('one');
    expect(silence.isTotal(0, 5_000)).toBe(false);
    silence.recordEnd('one');
    silence.recordQuestion('two', 5_000);
    expect(silence.isTotal(5_000, 6_000)).toBe(false);
  });
});

describe('another name', () => {
  test('is the one that was answered last, and not the silent one itself', () => {
    const silence = new Silence();
    expect(silence.otherNameToAsk('one', 0, 1_000)).toBeNull();
    silence.recordReply('two', 0);
    silence.recordReply('one', 1);
    silence.recordQuestion('one', 10);
    expect(silence.otherNameToAsk('one', 10, 1_000)).toBe('two');
  });

  test('is asked for once a second, but not while others wait or just after an answer', () => {
    const silence = new Silence();
    silence.recordReply('two', 0);
    silence.recordQuestion('one', 10);
    expect(silence.otherNameToAsk('one', 10, 500)).toBe('two');
    expect(silence.otherNameToAsk('one', 10, 1_000)).toBeNull();
    expect(silence.otherNameToAsk('one', 10, 1_500)).toBe('two');
    silence.recordQuestion('three', 2_000);
    expect(silence.otherNameToAsk('one', 10, 3_000)).toBeNull();
    silence.recordEnd('three');
    silence.recordReply('two', 3_000);
    expect(silence.otherNameToAsk('one', 10, 3_040)).toBeNull();
    expect(silence.otherNameToAsk('one', 10, 3_060)).toBe('two');
  });
});
