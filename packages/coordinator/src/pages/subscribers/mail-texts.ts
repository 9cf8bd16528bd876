import type { PageMail } from '@svc/shared/channels/alert.ts';
import { instantText } from '../../web/times.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';
import type { Announcement } from './announcements.ts';

/** The page that sends a mail. */
export type SendingPage = { readonly title: string };

type Unsubscribe = { readonly url: string };

/**
 * Makes the mail with the link that signs a visitor in.
 *
 * @param expiresAt when the link expires, epoch ms
 */
export function signInMail({ title }: SendingPage, { text }: Words, expiresAt: number): PageMail {
  const { mail } = text;
  return {
    sender: title,
    subject: fillIn(mail.signIn.subject, { title }),
    lines: [fillIn(mail.signIn.line, { title }), mail.signIn.once],
    button: mail.signIn.button,
    footer: mail.notYou,
    expiresAt,
  };
}

/**
 * Makes the mail that asks the owner of an address to confirm a subscription to the news of a page.
 *
 * @param expiresAt when the link expires, epoch ms
 */
export function confirmationMail({ title }: SendingPage, { text }: Words, expiresAt: number): PageMail {
  const { mail } = text;
  return {
    sender: title,
    subject: fillIn(mail.confirm.subject, { title }),
    lines: [fillIn(mail.confirm.line, { title })],
    button: mail.confirm.button,
    footer: mail.notYou,
    expiresAt,
  };
}

/** Makes the mail with news of a page for one subscriber. */
export function newsMail(
  { title }: SendingPage,
  words: Words,
  announcement: Announcement,
  { url }: Unsubscribe,
): PageMail {
  const { mail } = words.text;
  return {
    sender: title,
    ...newsOf(title, words, announcement),
    button: mail.open,
    footer: fillIn(mail.subscribed, { title }),
    unsubscribe: { text: mail.unsubscribe, url },
  };
}

function newsOf(
  title: string,
  words: Words,
  announcement: Announcement,
): Pick<PageMail, 'subject' | 'lines'> {
  switch (announcement.kind) {
    case 'changes':
      return changesOf(title, words, announcement);
    case 'update':
      return updateOf(title, words, announcement);
    case 'maintenance':
      return maintenanceOf(title, words, announcement);
    default:
      return announcement satisfies never;
  }
}

function changesOf(
  title: string,
  words: Words,
  { changes, at }: Extract<Announcement, { kind: 'changes' }>,
): Pick<PageMail, 'subject' | 'lines'> {
  const { mail } = words.text;
  const [first] = changes;
  const sentence = (change: (typeof changes)[number]) =>
    fillIn(mail.change[change.status], { name: change.name });
  const news =
    changes.length === 1 && first !== undefined
      ? sentence(first)
      : words.counted(mail.changes, changes.length);
  return {
    subject: `${title}: ${news}`,
    lines: [...changes.map(sentence), fillIn(mail.asOf, { time: instantText(at, words.language) })],
  };
}

function updateOf(
  title: string,
  words: Words,
  update: Extract<Announcement, { kind: 'update' }>,
): Pick<PageMail, 'subject' | 'lines'> {
  const { mail, noteState } = words.text;
  const states: Readonly<Record<string, string>> = noteState;
  const state = states[update.state] ?? update.state;
  return {
    subject: `${title}: ${update.title} (${state})`,
    lines: [
      `${state}: ${update.title}`,
      ...paragraphsOf(update.text),
      ...affectedLine(words, update.components),
      fillIn(mail.asOf, { time: instantText(update.at, words.language) }),
    ],
  };
}

function maintenanceOf(
  title: string,
  words: Words,
  window: Extract<Announcement, { kind: 'maintenance' }>,
): Pick<PageMail, 'subject' | 'lines'> {
  const { maintenance, maintenanceState, maintenanceFrom } = words.text;
  const state = maintenanceState[window.stage];
  const from = instantText(window.from, words.language);
  const until = instantText(window.until, words.language);
  return {
    subject: `${title}: ${maintenance}: ${window.title} (${state})`,
    lines: [
      `${state}: ${window.title}`,
      fillIn(maintenanceFrom, { from, until }),
      ...paragraphsOf(window.text),
      ...affectedLine(words, window.components),
    ],
  };
}

function paragraphsOf(text: string): string[] {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '');
}

function affectedLine(words: Words, components: readonly string[]): string[] {
  return components.length === 0 ? [] : [fillIn(words.text.affected, { components: words.list(components) })];
}
