import { parse, type RuleTypesExtended } from 'discord-markdown-parser';
import { z } from 'zod';
import type { ReceivedRequest } from '../receiver.ts';
import type { HeldMessage } from './held-message.ts';
import type { Vendor, VendorAnswer } from './vendor.ts';

/** Path of the fake's only webhook. */
export const DISCORD_PATH = '/api/webhooks/1234/s3cret-webhook-token';

const httpUrl = z.url({ protocol: /^https?$/ });

/** The limits of https://discord.com/developers/docs/resources/message (2026-11-22). */
const message = z
  .strictObject({
    content: z.string().max(2_000).optional(),
    embeds: z
      .array(
        z.strictObject({
          title: z.string().max(256).optional(),
          description: z.string().max(4_096).optional(),
          url: httpUrl.optional(),
          color: z.number().int().min(0).max(0xffffff).optional(),
          timestamp: z.iso.datetime().optional(),
        }),
      )
      .max(10)
      .optional(),
    allowed_mentions: z.strictObject({ parse: z.array(z.enum(['everyone', 'users', 'roles'])) }).optional(),
  })
  .refine(({ content, embeds = [] }) => (content ?? '') !== '' || embeds.length > 0, 'an empty message')
  .refine(
    ({ embeds = [] }) =>
      embeds.reduce((sum, { title, description }) => sum + lengthOf(title, description), 0) <= 6_000,
    'embeds of more than 6000 characters',
  );

function lengthOf(...texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

/** Discord with one webhook. */
export class Discord implements Vendor {
  readonly messages: HeldMessage[] = [];

  answer({ method, path, headers, json }: ReceivedRequest): VendorAnswer {
    const { pathname, searchParams } = new URL(path, 'http://discord');
    if (pathname !== DISCORD_PATH) return refused(404, 10_015, 'Unknown Webhook');
    if (method !== 'POST') return refused(405, 0, '405: Method Not Allowed');
    const agent = headers['user-agent'] ?? '';
    if (!/^DiscordBot \(https?:\/\/[^ ]+, [^ ]+\)$/.test(agent))
      return refused(403, 40_333, 'internal network error');
    // Without `wait`, the answer does not say whether a message was lost.
    if (searchParams.get('wait') !== 'true') return { status: 204 };
    const { data } = message.safeParse(json);
    if (data === undefined) return refused(400, 50_035, 'Invalid Form Body');
    const { content = '', embeds = [], allowed_mentions } = data;
    const texts = embeds.flatMap(({ title = '', description = '' }) => [title, description]);
    const shown = [content, ...texts].map(shownOf);
    // Embeds notify nobody.
    const notified =
      allowed_mentions === undefined ? (content.match(/@everyone|@here|<@[!&]?\d+>/g) ?? []) : [];
    this.messages.push({
      text: shown.map(({ text }) => text).join('\n'),
      links: shown.flatMap(({ links }) => links),
      thread: null,
      mentions: [...notified, ...shown.flatMap(({ masked }) => masked)],
    });
    return { status: 200, body: { id: String(this.messages.length), type: 0 } };
  }
}

function refused(status: number, code: number, text: string): VendorAnswer {
  return { status, body: { message: text, code } };
}

type Shown = { text: string; links: string[]; masked: string[] };

/** A part of a message, of the kinds that svc may make. */
type Node = {
  readonly type: RuleTypesExtended;
  readonly content?: string | readonly Node[];
  readonly target?: string;
  /** Name of an emoji, which Discord shows as a picture. */
  readonly name?: string;
};

/** The text that Discord's Markdown shows, as its public parser reads it (`discord-markdown-parser`). */
function shownOf(markdown: string): Shown {
  const shown: Shown = { text: '', links: [], masked: [] };
  show(parse(markdown, 'extended') as unknown as readonly Node[], shown);
  return shown;
}

function show(nodes: readonly Node[], shown: Shown): void {
  for (const { type, name, content = name, target } of nodes) {
    const begun = shown.text.length;
    if (type === 'br') shown.text += '\n';
    else if (content === undefined) shown.text += `{${type}}`;
    else if (typeof content === 'string') shown.text += content;
    else show(content, shown);
    if (target === undefined) continue;
    shown.links.push(target);
    // svc writes no link whose text is another address than its target.
    if (shown.text.slice(begun) !== target) shown.masked.push(target);
  }
}
