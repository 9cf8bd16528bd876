import { readdirSync, readFileSync } from 'node:fs';
import { CHANNELS } from '@svc/coordinator/alerts/registry.ts';
import type { StoredChannelOf } from '@svc/coordinator/alerts/sender.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loopbackSender, sendContext } from '../support/channel-sending.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import type { Case } from './channels/case.ts';
import { CASES, type PostingKind } from './channels/cases.ts';
import { SHOWN_ALERT } from './channels/shown-alert.ts';

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const pageOf = (kind: string) => new URL(`../../docs/channels/${kind}.md`, import.meta.url);

test('each kind has a page that the overview names, and nothing else has', () => {
  const folder = new URL('../../docs/channels/', import.meta.url);
  const pages = CHANNEL_KINDS.map((kind) => `${kind}.md`);
  expect(readdirSync(folder).sort()).toEqual(['README.md', ...pages].sort());
  const overview = readFileSync(new URL('README.md', folder), 'utf8');
  expect(pages.filter((page) => !overview.includes(`](${page})`))).toEqual([]);
});

test.each(CHANNEL_KINDS)('the page of %s names the settings of the operator that the kind reads', (kind) => {
  const page = readFileSync(pageOf(kind), 'utf8');
  const names = Object.values<{ readonly name: string }>(CHANNELS[kind].operatorSettings).map(
    ({ name }) => name,
  );
  expect(names.filter((name) => !page.includes(name))).toEqual([]);
});

// `mail.test.ts` has the page of e-mail.
describe.each(Object.keys(CASES) as PostingKind[])('the page of %s', showsWhatIsSent);

function showsWhatIsSent<K extends PostingKind>(kind: K): void {
  const promised: Case<K> = CASES[kind];
  const { settings, operator, taken = 200, takenBody } = promised;

  test('shows what is sent', async () => {
    receiver.answerWith((_request, response) => response.writeHead(taken).end(takenBody));
    const channel: StoredChannelOf<K> = { kind, settings: new Secret(settings(receiver.url)) };
    await loopbackSender(operator?.(receiver.url))(channel, SHOWN_ALERT, sendContext());
    const [request] = await receiver.received(1);
    const page = readFileSync(pageOf(kind), 'utf8');
    const sent = request && (promised.shownOf?.(request) ?? request.json);
    const [, form, shown = ''] =
      /^## What is sent$[\s\S]*?^```(json|text)\n([\s\S]*?)\n```$/m.exec(page) ?? [];
    expect(form === 'json' ? JSON.parse(shown) : shown, JSON.stringify(sent, null, 2)).toEqual(sent);
  });
}
