import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientsPage } from '../../../docs/generate/clients-page.ts';
import { CLIENTS, differenceOf, differingAnswers, differs, OBSERVATIONS, observed } from './comparison.ts';
import { CORPUS } from './corpus.ts';
import { DIFFERENCES } from './differences.ts';

test('every client was observed on the corpus as it is', () => {
  const ids = CORPUS.map(({ id }) => id);
  for (const client of CLIENTS) expect(Object.keys(OBSERVATIONS[client].answers), client).toEqual(ids);
});

test('every difference has a reason, and every reason a difference', () => {
  const unexplained = CORPUS.filter((answer) => differs(answer) && differenceOf(answer) === undefined);
  expect(unexplained.map(({ id }) => id)).toEqual([]);
  const idle = DIFFERENCES.filter((difference) => !differingAnswers().has(difference));
  expect(idle.map(({ about }) => about)).toEqual([]);
});

/** The reasons for which the probe may refuse what all others take. */
const MAY_REFUSE = new Set([
  'Two readers would see different bodies',
  'Transfer codings that nobody asked for',
  'Cut off',
  'The size of the head',
]);

test('what all others take is taken, but for four reasons', () => {
  const stricter = CORPUS.filter(
    (answer) =>
      'refused' in answer.expected && CLIENTS.every((client) => !('refused' in observed(client, answer))),
  );
  const others = stricter.filter((answer) => !MAY_REFUSE.has(differenceOf(answer)?.about ?? ''));
  expect(others.map(({ id }) => id)).toEqual([]);
});

test('the page says what was observed', () => {
  const written = readFileSync(new URL('../../../docs/reference/http-clients.md', import.meta.url), 'utf8');
  expect(written, 'run `npm run docs`').toBe(clientsPage());
});
