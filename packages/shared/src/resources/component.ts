import { LIMITS } from '../limits.ts';
import { marked } from '../settings/not-yet.ts';
import {
  computed,
  type Normalized,
  optional,
  type ResourceDefinition,
  type Rule,
  required,
} from './definition.ts';
import { MONITOR_KINDS } from './monitors.ts';
import { lines, oneLine } from './texts.ts';
import { choice, number, reference, text } from './values.ts';

export const COMPONENT_TYPES = ['monitor', 'static'] as const;

const position = number({ min: -2_147_483_648, max: 2_147_483_647 });

const monitorOfType: Rule = {
  description: '`monitor_id` is required when `type` is `monitor`, and only allowed then.',
  check: ({ type, monitor_id }) => {
    if (type === 'monitor' && (monitor_id ?? null) === null) {
      return [{ path: ['monitor_id'], message: 'is required when type is monitor' }];
    }
    if (type === 'static' && (monitor_id ?? null) !== null) {
      return [
        { path: ['monitor_id'], message: 'is only for type monitor: remove it, or set type to monitor' },
      ];
    }
    return [];
  },
};

export const component = {
  kind: 'svc_status_page_component',
  noun: 'component',
  path: '/v1/status-pages/{page_id}/components',
  title: 'Status page component',
  description: marked(
    'svc_status_page_component',
    'A line of a status page. It shows a monitor with its state and history, or a static text.',
  ),
  constants: {},
  attributes: {
    page_id: required(reference('svc_status_page'), 'Page that the component belongs to.', {
      replaces: true,
    }),
    type: required(choice(COMPONENT_TYPES), 'Whether the component shows a monitor or a static text.', {
      replaces: true,
    }),
    monitor_id: optional(
      reference(...MONITOR_KINDS),
      'Monitor that the component shows. It is required when `type` is `monitor`.',
      { label: 'Monitor' },
    ),
    name: optional(
      text({ max: LIMITS.componentText, check: oneLine }),
      'Name that is shown. The default is the name of the monitor.',
    ),
    description: optional(
      text({ max: LIMITS.componentDescription, check: lines, multiline: true }),
      'Description that is shown.',
    ),
    order: optional(position, 'Place on the page, in ascending order.', { label: 'Place on the page' }),
    group_id: optional(
      reference('svc_status_page_component_group'),
      'Group of the same page that the component belongs to.',
      { label: 'Group' },
    ),
    group_order: optional(position, 'Place in the group, in ascending order.', {
      label: 'Place in the group',
    }),
    id: computed(text(), 'Id: a decimal number as a string.'),
    created_at: computed(text(), 'When the component was created (RFC 3339).'),
    updated_at: computed(text(), 'When the component was last changed (RFC 3339).'),
  },
  blocks: {},
  rules: [monitorOfType],
  apiMembers: ['warnings'],
} satisfies ResourceDefinition;

export type StatusPageComponent = Normalized<typeof component>;

/** The members that decide the place of a component on its page. */
type Placed = {
  readonly id: number | string;
  readonly order: number | null;
  readonly group_order: number | null;
};

/**
 * Compares two components for the order on their page: by `order`, then `group_order`, then id. Null comes
 * last.
 */
export function compareOnPage(one: Placed, other: Placed): number {
  return (
    nullLast(one.order, other.order) ||
    nullLast(one.group_order, other.group_order) ||
    Number(one.id) - Number(other.id)
  );
}

/**
 * Compares two components for the order in their group: by `group_order`, then as {@link compareOnPage} does.
 */
export function compareInGroup(one: Placed, other: Placed): number {
  return nullLast(one.group_order, other.group_order) || compareOnPage(one, other);
}

function nullLast(one: number | null, other: number | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one - other;
}
