import {
  CHANNEL_BLOCKS,
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelSettings,
} from '../channels/settings.ts';
import { LIMITS } from '../limits.ts';
import {
  computed,
  optional,
  type ResourceDefinition,
  type Rule,
  required,
  withDefault,
} from './definition.ts';
import { MONITOR_KINDS } from './monitors.ts';
import { oneLine } from './texts.ts';
import { bool, choice, referenceSet, text } from './values.ts';

const oneMatchingBlock: Rule = {
  description: 'Exactly one of the provider blocks is given: the one named like `provider_type`.',
  check: (given) => {
    const kind = CHANNEL_KINDS.find((candidate) => candidate === given.provider_type);
    const blocks = CHANNEL_KINDS.filter((candidate) => (given[candidate] ?? null) !== null);
    if (kind === undefined) return [];
    const foreign = blocks.filter((block) => block !== kind);
    return [
      ...(blocks.includes(kind)
        ? []
        : [{ path: [kind], message: `is required when provider_type is ${kind}` }]),
      ...foreign.map((block) => ({
        path: [block],
        message: `does not belong to provider_type ${kind}: remove it, or set provider_type to ${block}`,
      })),
    ];
  },
  checkUnknown: (given) => {
    const [, ...further] = CHANNEL_KINDS.filter((candidate) => (given[candidate] ?? null) !== null);
    return further.map((block) => ({
      path: [block],
      message: 'must be the only provider block: a channel has one, named like its provider_type',
    }));
  },
};

/** How often a reminder may repeat an alert at first, with the length of each interval in ms. */
export const REMIND_EVERY = {
  '30m': 1_800_000,
  '1h': 3_600_000,
  '4h': 14_400_000,
  '1d': 86_400_000,
} as const;
export type RemindEvery = keyof typeof REMIND_EVERY;

export const notification = {
  kind: 'svc_notification',
  noun: 'notification',
  path: '/v1/notifications',
  title: 'Notification channel',
  description: 'A channel that receives the alerts of the monitors in `monitor_ids`.',
  constants: {},
  attributes: {
    name: optional(text({ max: LIMITS.channelName, check: oneLine }), 'Name that people see.'),
    provider_type: required(choice(CHANNEL_KINDS), 'Kind of the channel.', { label: 'Kind' }),
    monitor_ids: withDefault(
      referenceSet(...MONITOR_KINDS),
      [],
      'Monitors whose alerts the channel receives.',
      { label: 'Monitors' },
    ),
    group_alerts: withDefault(
      bool,
      true,
      'Whether alerts of many monitors that change together come as one message. Kinds that keep incidents, and `webhook`, get each alert in any case.',
    ),
    notify_unknown: withDefault(
      bool,
      true,
      'Whether the channel is told when a monitor has had no data for 10 minutes or three periods, whichever is longer, and when data is back. Only kinds that people read are told.',
      { label: 'Tell of missing data' },
    ),
    remind_every: optional(
      choice(Object.keys(REMIND_EVERY) as [RemindEvery, ...RemindEvery[]]),
      'Repeats the alert about an open incident that nobody has acknowledged: after this time, and then each time after twice the time, up to a day. Without it there are no reminders. Kinds that keep incidents get none.',
      { label: 'Remind every' },
    ),
    id: computed(text(), 'Id: a decimal number as a string.'),
    created_at: computed(text(), 'When the channel was created (RFC 3339).'),
    updated_at: computed(text(), 'When the channel was last changed (RFC 3339).'),
  },
  blocks: CHANNEL_BLOCKS,
  rules: [oneMatchingBlock],
  apiMembers: ['state', 'state_reason', 'stopped_at'],
  arrange: ({ name, provider_type, monitor_ids, group_alerts, notify_unknown, remind_every, ...blocks }) => ({
    name,
    provider_type,
    monitor_ids,
    group_alerts,
    notify_unknown,
    remind_every,
    settings: blocks[provider_type as ChannelKind],
  }),
  present: ({ settings, ...rest }) => ({ ...rest, [String(rest.provider_type)]: settings }),
} satisfies ResourceDefinition;

/**
 * A normalized channel. `settings` contains the settings of its kind. In the API, the member with the
 * settings has the name of the kind.
 */
export type NotificationOf<K extends ChannelKind> = {
  name: string | null;
  provider_type: K;
  monitor_ids: string[];
  group_alerts: boolean;
  notify_unknown: boolean;
  remind_every: RemindEvery | null;
  settings: ChannelSettings[K];
};
export type Notification = { [K in ChannelKind]: NotificationOf<K> }[ChannelKind];
