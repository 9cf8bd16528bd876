import { expect, test } from 'vitest';
import { forTerminal } from './terminal.ts';

test.each([
  ['Grüße, שלום 日本 👩‍💻\tx\ny', 'Grüße, שלום 日本 👩‍💻\tx\ny'],
  ['\u001b[31mred', '\\u{1b}[31mred'],
  ['a\rb\u0007', 'a\\u{d}b\\u{7}'],
  ['\u009b2J', '\\u{9b}2J'],
  ['exe.\u202egnp', 'exe.\\u{202e}gnp'],
])('%j is shown as %j', (text, shown) => {
  expect(forTerminal(text)).toBe(shown);
});
