import type { ChannelKind, ChannelSettings } from '@svc/shared/channels/settings.ts';
import { attempt, NOT_RUN_REASONS, OUTCOMES, phases } from '@svc/shared/messages/check-result.ts';
import { SICKNESSES } from '@svc/shared/messages/heartbeat.ts';
import { regionId } from '@svc/shared/regions.ts';
import type { component } from '@svc/shared/resources/component.ts';
import type { componentGroup } from '@svc/shared/resources/component-group.ts';
import type { Attribute } from '@svc/shared/resources/definition.ts';
import type { running } from '@svc/shared/resources/monitor-common.ts';
import { forMonitors, type MonitorKind } from '@svc/shared/resources/monitors.ts';
import type { notification } from '@svc/shared/resources/notification.ts';
import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';
import { PAGE_LATENCIES, type statusPage } from '@svc/shared/resources/status-page.ts';
import { MASK } from '@svc/shared/secret.ts';
import { HIDDEN_USER_INFO } from '@svc/shared/url-secrets.ts';
import { z } from 'zod';
import { AUDIT_ACTORS, AUDIT_OUTCOMES } from '../store/access/audit.ts';
import { TOKEN_SCOPES } from '../store/access/tokens.ts';
import { transitionVote } from '../store/states/stored-votes.ts';
import { MONITOR_STATUSES } from '../verdict/monitor.ts';
import type { TransitionReason } from '../verdict/transition.ts';

/*
 * Schemas of the API's answers, except the attributes of declared resources.
 * Instants are epoch ms, unless they are texts. Values that are not set are null.
 */

export const id = z
  .string()
  .regex(/^[1-9][0-9]{0,14}$/, 'must be an id: a decimal number as a string')
  .meta({ description: 'A decimal number as a string.' });
/** Schema of an instant that an answer gives as a text. */
export const instant = z.iso.datetime().meta({ description: 'Instant in UTC (RFC 3339).' });

const warnings = z.array(z.string()).meta({
  description: 'Warnings about parts of the resource that do not work as declared, in sentences for people.',
});

const monitorMembers = {
  regions_status: z
    .array(
      z.object({
        region: regionId,
        vote: z.enum(['passed', 'degraded', 'failed']),
        slot: z.number().meta({ description: 'Slot that the vote is about, epoch ms.' }),
        at: z.number().meta({ description: 'When the vote began to count, epoch ms.' }),
        age_ms: z.number().meta({ description: 'Age of the slot of the vote, ms.' }),
      }),
    )
    .meta({ description: 'The newest vote of each region.' }),
  warnings,
  created_at: instant.meta({ description: 'When the monitor was created (RFC 3339).' }),
  updated_at: instant.meta({ description: 'When the monitor was last changed (RFC 3339).' }),
};

/** Members that the service adds to a declared resource in an answer: the `apiMembers` of its definition. */
export const RESOURCE_MEMBERS = {
  ...forMonitors(() => monitorMembers),
  svc_http_monitor: {
    ...monitorMembers,
    [HIDDEN_USER_INFO]: z.literal(MASK).nullable().meta({
      description:
        '`********` where `url` has user information that this answer leaves out, because the token may only read. Otherwise null.',
    }),
  },
  svc_notification: {
    state: z.enum(['ok', 'failing']).meta({ description: 'Whether alerts are delivered.' }),
    state_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why alerts are not delivered. Null where they are delivered.' }),
    stopped_at: instant.nullable().meta({
      description:
        'Since when the channel is stopped, because its address is dead: its alerts are dead at once, until its settings are changed or a test is delivered. Null where it is not stopped.',
    }),
  },
  svc_status_page: {
    latency: z.enum(PAGE_LATENCIES).meta({
      description:
        'The time over which the page shows latencies. It is `none` at creation, and `PATCH /v1/status-pages/{id}/appearance` changes it.',
    }),
    warnings,
  },
  svc_status_page_component_group: {},
  svc_status_page_component: { warnings },
} satisfies { readonly [K in ResourceKind]: Readonly<Record<string, z.ZodType>> };

/**
 * For each kind, the definitions of its attributes. The
 * service sets the attributes with the presence `computed`.
 */
type Definitions = { readonly [K in MonitorKind]: typeof running } & {
  readonly svc_notification: typeof notification.attributes;
  readonly svc_status_page: typeof statusPage.attributes;
  readonly svc_status_page_component_group: typeof componentGroup.attributes;
  readonly svc_status_page_component: typeof component.attributes;
};

type Computed<A> = {
  readonly [N in keyof A as A[N] extends Attribute<unknown, 'computed'> ? N : never]: A[N] extends Attribute<
    infer T,
    'computed'
  >
    ? T
    : never;
};

type Members = typeof RESOURCE_MEMBERS;

/**
 * The attributes of a resource as an answer shows them. The settings
 * of a channel are in a member that is named after the channel's kind.
 */
type Presented<K extends ResourceKind> = K extends 'svc_notification'
  ? Omit<Resources[K], 'settings'> & { readonly [C in ChannelKind]?: ChannelSettings[C] }
  : Resources[K];

/** A declared resource in an answer: its attributes, and the members from {@link RESOURCE_MEMBERS}. */
export type ResourceView<K extends ResourceKind> = {
  [Each in K]: Presented<Each> &
    Computed<Definitions[Each]> & { readonly [M in keyof Members[Each]]: z.infer<Members[Each][M]> };
}[K];

/** Members that a recorded result and the result of a manual check have in common. */
const found = {
  outcome: z.enum(OUTCOMES),
  reason: z
    .enum(NOT_RUN_REASONS)
    .nullable()
    .meta({ description: 'Why the check was not run. Null where it was run.' }),
  latency: z.number().nullable().meta({ description: 'Latency of the last attempt, ms.' }),
  phases: phases
    .nullable()
    .meta({ description: 'Duration of each phase, ms. The phases that apply add up to the latency.' }),
  status_code: z.number().int().nullable(),
  error_message: z.string().nullable(),
  attempts: z.array(attempt),
  certificate_expires_at: z.number().int().nullable(),
  body_truncated: z.boolean(),
};

const FOUND = {
  outcome: 'passed',
  reason: null,
  latency: 84.2,
  phases: { dns: 1.2, connect: 20.1, tls: 24.9, first_byte: 37.6, transfer: 0.4 },
  status_code: 200,
  error_message: null,
  attempts: [{ outcome: 'passed', started_ms: 0, latency: 84.2, status_code: 200 }],
  certificate_expires_at: 1_774_915_199_000,
  body_truncated: false,
};

const ASSERTED = { assertion: 'a status code from 200 to 299', failure: null };

export const resultView = z
  .object({
    region: regionId,
    cron_timestamp: z.number().int().meta({ description: 'Slot of the check, epoch ms.' }),
    ...found,
    agent_id: z.string().nullable(),
    recorded_at: z.number().int(),
  })
  .meta({
    examples: [
      {
        region: 'hosta-fra',
        cron_timestamp: 1_767_225_600_000,
        ...FOUND,
        agent_id: 'fra-1',
        recorded_at: 1_767_225_600_412,
      },
    ],
  });
export type ResultView = z.infer<typeof resultView>;

/**
 * The meaning of each reason of a status, for the documentation. An answer may also
 * contain a reason that is missing here, because a later version of svc has stored it.
 */
const REASONS: Readonly<Record<TransitionReason, string>> = {
  'majority-failed': 'more than half of the votes failed, at one moment',
  'quorum-failed':
    'as many votes failed as the `quorum` of the monitor says (another one than `majority`), at one moment',
  'failures-apart': 'enough votes failed for `error`, but too few of them at one moment, so the status stays',
  unconfirmed:
    'the newest check says another status, but the status stays, because too few checks in a row do (`confirm_after`, `recover_after`); or enough do, but they say different statuses, and the status is now the one of these that is nearest to the status before',
  'majority-degraded': 'more than half of the votes failed or were degraded',
  'quorum-degraded':
    'as many votes failed or were degraded as the `quorum` of the monitor says (another one than `majority`)',
  'minority-failed': 'some votes failed, but too few for the `quorum` (by default not more than half)',
  'minority-degraded':
    'some votes were degraded, but too few for the `quorum` (by default not more than half), and none failed',
  'all-passed': 'all votes passed',
  'too-few-votes': 'fewer than half of the regions have a vote that counts',
  'votes-expired': 'votes grew too old, and those of fewer than half of the regions are left',
  'no-electorate': 'none of the regions had an agent within 24 hours, or none has been given a check yet',
  'probe-changed': 'what is probed was changed, so earlier votes do not count',
  deactivated: 'the monitor was deactivated',
};

const REASON_LIST = Object.entries(REASONS).map(([reason, meaning]) => `\`${reason}\`: ${meaning}.`);

export const transitionView = z
  .object({
    id,
    from: z.enum(MONITOR_STATUSES),
    to: z.enum(MONITOR_STATUSES),
    reason: z.string().meta({ description: `Why the monitor has the status. ${REASON_LIST.join(' ')}` }),
    at: z.number(),
    slot: z.number().int().nullable(),
    incident: z.string().nullable(),
    until: z.number().nullable().meta({
      description:
        'Where `from` equals `to`: when the verdict had this reason last, epoch ms. Otherwise null.',
    }),
    slots: z.number().int().nullable().meta({
      description:
        'Where `from` equals `to`: the number of verdicts with this reason, one for each slot and one for each late report that changed a vote. Otherwise null.',
    }),
    votes: z.array(transitionVote),
  })
  .meta({
    examples: [
      {
        id: '31',
        from: 'active',
        to: 'error',
        reason: 'majority-failed',
        at: 1_767_225_600_412,
        slot: 1_767_225_600_000,
        incident: '5f0c2a9be1d74836:12:7d9f3c52-0b1e-4a86-9c3d-2f6f0e8a1b47',
        until: null,
        slots: null,
        votes: [
          {
            region: 'hosta-fra',
            outcome: 'failed',
            slot: 1_767_225_600_000,
            at: 1_767_225_600_412,
            latency: 90.1,
            status_code: 503,
            error_message: 'status code 503, expected 200',
            counted: true,
          },
        ],
      },
    ],
  });
export type TransitionView = z.infer<typeof transitionView>;

/** The result of a manual check in one region. */
const foundNow = z.object({
  ...found,
  assertions: z
    .array(
      z.object({
        assertion: z.string().meta({ description: 'The assertion in words.' }),
        failure: z.string().nullable().meta({
          description: 'What was expected and what was seen. Null where the assertion holds.',
        }),
      }),
    )
    .nullable()
    .meta({
      description:
        'Each assertion with its outcome. Null where the attempt ended before the assertions were evaluated, or the agent does not report them.',
    }),
});

export const checkView = z
  .object({
    data: z.array(
      z.object({
        region: regionId,
        agent_id: z.string().nullable(),
        result: foundNow.nullable().meta({ description: 'Null where the region did not answer.' }),
      }),
    ),
  })
  .meta({
    examples: [
      {
        data: [
          { region: 'hosta-fra', agent_id: 'fra-1', result: { ...FOUND, assertions: [ASSERTED] } },
          { region: 'hosta-iad', agent_id: null, result: null },
        ],
      },
    ],
  });

export const regionView = z
  .object({
    region: regionId,
    name: z.string().nullable().meta({
      description:
        "Name of a region of one's own, from `SVC_EXTRA_REGIONS`. Null: it has none, or it is one of the 28.",
    }),
    last_seen_at: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'When the region last had a live agent, epoch ms.' }),
    absent_since: z.number().int().nullable().meta({
      description:
        'Since when no agent of the region takes jobs, epoch ms: the last heartbeat of its last agent. For a region that never had an agent, it is when svc began to miss one, up to a minute after a monitor declared the region; null if no monitor declares it. Null while an agent takes jobs. A coordinator that leads no shard receives no heartbeats: while another one leads, the value is null until that one has missed the agents; while none leads, it is the last heartbeat that was stored.',
    }),
    sick: z.array(z.enum(SICKNESSES)).meta({
      description: 'Faults that the agents of the region find in themselves. Empty where they find no fault.',
    }),
    agents: z.array(
      z.object({
        id: z.string(),
        version: z.string(),
        capacity: z.number().int(),
        running: z.number().int(),
        load: z.number().meta({
          description: 'Running attempts as a share of the most that the agent runs at once, 0 to 1.',
        }),
        loop_delay_ms: z.number(),
        last_seen_at: z.number().int(),
        draining: z.boolean(),
        machine: z.string().nullable().meta({ description: 'Name of the host that the agent runs on.' }),
        sick: z.array(z.enum(SICKNESSES)).meta({
          description:
            '`network-down`: the agent has lost its own network. `starved`: the agent waits for a CPU. Checks that it cannot judge then are `not_run`.',
        }),
      }),
    ),
  })
  .meta({
    examples: [
      {
        region: 'hosta-fra',
        name: null,
        last_seen_at: 1_767_225_600_000,
        absent_since: null,
        sick: [],
        agents: [
          {
            id: 'fra-1',
            version: '0.1.0',
            capacity: 1_000,
            running: 20,
            load: 0.02,
            loop_delay_ms: 1.5,
            last_seen_at: 1_767_225_600_000,
            draining: false,
            machine: 'probe-1.example.com',
            sick: [],
          },
        ],
      },
    ],
  });
export type RegionView = z.infer<typeof regionView>;

const TOKEN = {
  id: '2',
  name: 'Terraform',
  scope: 'write' as const,
  operator: false,
  created_at: '2026-01-01T00:00:00.000Z',
  created_by: { id: '1', name: 'SVC_API_TOKEN' },
  expires_at: '2027-01-01T00:00:00.000Z',
  last_used_at: null,
};

export const tokenView = z
  .object({
    id,
    name: z.string(),
    scope: z.enum(TOKEN_SCOPES),
    operator: z.boolean().meta({ description: 'Whether the token is one of `SVC_API_TOKEN`.' }),
    created_at: instant,
    created_by: z.object({ id, name: z.string() }).nullable().meta({
      description: 'Token that made this token. Null where the settings made it.',
    }),
    expires_at: instant
      .nullable()
      .meta({ description: 'When the token expires. Null where it does not expire.' }),
    last_used_at: instant
      .nullable()
      .meta({ description: 'When the token was last used. A restart keeps this to the minute.' }),
  })
  .meta({ examples: [TOKEN] });
export type TokenView = z.infer<typeof tokenView>;
export const workspaceView = z
  .object({ id, name: z.string(), created_at: instant })
  .meta({ examples: [{ id: '2', name: 'Shops', created_at: '2026-01-01T00:00:00.000Z' }] });

export const createdTokenView = tokenView
  .extend({
    token: z.string().meta({ description: 'The token. Only this answer shows it.' }),
  })
  .meta({ examples: [{ ...TOKEN, token: 'svc_…' }] });
export type CreatedTokenView = z.infer<typeof createdTokenView>;

export const auditView = z
  .object({
    id,
    at: z.number().int(),
    workspace_id: id.nullable().meta({ description: 'Null where the request had no valid token.' }),
    actor: z.enum(AUDIT_ACTORS).meta({
      description:
        'Who acted: an API token, an unknown caller, the declared file, or the settings (`SVC_API_TOKEN`).',
    }),
    token: z
      .object({ id, name: z.string() })
      .nullable()
      .meta({ description: 'The token with its name at that time.' }),
    action: z.string().meta({ description: 'create, replace, change, remove, login, check, test, retry, …' }),
    object: z.string().meta({ description: 'Path of the object below `/v1`.' }),
    outcome: z.enum(AUDIT_OUTCOMES),
    status: z.number().int().nullable().meta({
      description:
        'HTTP status of the answer. Null where the line was written in the transaction of the change.',
    }),
    request_id: z.string().nullable().meta({ description: 'The `X-Request-Id` of the answer.' }),
    peer: z.string().nullable().meta({ description: 'Address at the other end of the connection.' }),
    detail: z.string().nullable(),
  })
  .meta({
    examples: [
      {
        id: '31',
        at: 1_767_225_600_412,
        workspace_id: '1',
        actor: 'token',
        token: { id: '2', name: 'Terraform' },
        action: 'replace',
        object: 'monitors/12',
        outcome: 'done',
        status: null,
        request_id: '4f5c1f6e-6f0e-4b0e-9a53-0f6b6d1f0a51',
        peer: '192.0.2.7',
        detail: null,
      },
    ],
  });
export type AuditView = z.infer<typeof auditView>;

export const healthView = z
  .object({
    status: z.enum(['ok', 'unavailable']),
    parts: z.record(z.string(), z.boolean()),
  })
  .meta({ examples: [{ status: 'ok', parts: { nats: true, database: true } }] });
