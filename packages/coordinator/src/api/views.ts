import type { EgressGuard } from '@svc/shared/egress.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { presented } from '@svc/shared/resources/present.ts';
import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';
import { attributeWarnings } from '@svc/shared/resources/warnings.ts';
import { userInfoApart } from '@svc/shared/user-info.ts';
import { pageWarnings } from '../configuration/page-warnings.ts';
import type {
  Metadata,
  StoredComponent,
  StoredGroup,
  StoredMonitor,
  StoredNotification,
  StoredPage,
} from '../configuration/stored.ts';
import type { Vote } from '../domain/status.ts';
import type { FailingChannel, FailingChannels } from '../store/links.ts';
import type { CheckedDomain } from '../store/page-domains.ts';
import type { MonitorStates } from './api-parts.ts';

/** Declared resources as the API answers them: ids as text, instants in RFC 3339. */
type Declared = Metadata & { readonly kind: ResourceKind; readonly attributes: Resources[ResourceKind] };

function view(stored: Declared, computed: object): Readonly<Record<string, unknown>> {
  return {
    id: String(stored.id),
    ...presented(stored.kind, stored.attributes),
    ...computed,
    created_at: new Date(stored.createdAt).toISOString(),
    updated_at: new Date(stored.updatedAt).toISOString(),
  };
}

/** The members of an answer about a monitor in addition to its declaration. */
export type MonitorSurroundings = {
  readonly states: MonitorStates;
  /** Failing channels by monitor. */
  readonly failing: ReadonlyMap<number, FailingChannels>;
  /** Epoch ms. */
  readonly now: number;
};

export function monitorView(stored: StoredMonitor, { states, failing, now }: MonitorSurroundings): object {
  const state = states.get(stored.id);
  const answered = view(stored, {
    status: state?.status ?? 'unknown',
    regions_status: (state?.votes ?? [])
      .toSorted((one, other) => REGIONS.indexOf(one.region) - REGIONS.indexOf(other.region))
      .map((vote) => regionStatus(vote, now)),
    warnings: [...attributeWarnings(stored.kind, stored.attributes), ...undelivered(failing.get(stored.id))],
  });
  return stored.kind === 'svc_http_monitor' ? userInfoApart(answered) : answered;
}

function undelivered(failing: FailingChannels | undefined): string[] {
  if (failing === undefined) return [];
  const { first, total } = failing;
  const more = total - first.length;
  return [
    ...first.map(undeliveredBy),
    ...(more === 0 ? [] : [`alerts are not delivered to ${more} more notification${more === 1 ? '' : 's'}`]),
  ];
}

function undeliveredBy({ id, name, reason }: FailingChannel): string {
  const named = name === null ? '' : ` (${name})`;
  return `alerts are not delivered to notification ${id}${named}${reason === null ? '' : `: ${reason}`}`;
}

function regionStatus({ region, outcome, slot, at }: Vote, now: number): object {
  return { region, vote: outcome, slot, at, age_ms: Math.max(0, now - slot) };
}

export function notificationView(stored: StoredNotification): object {
  const { state, stateReason, stoppedAt } = stored;
  return view(stored, {
    state,
    state_reason: stateReason,
    stopped_at: stoppedAt === null ? null : new Date(stoppedAt).toISOString(),
  });
}

/** @param checked where its custom domain points; null: that was not checked yet, or it has none */
export function pageView(stored: StoredPage, checked: CheckedDomain | null, guard: EgressGuard): object {
  const { published, theme, latency, attributes } = stored;
  const warnings = [...pageWarnings(attributes, guard), ...notServed(attributes.custom_domain, checked)];
  return view(stored, { published, theme, latency, warnings });
}

function notServed(domain: string | null, checked: CheckedDomain | null): string[] {
  if (domain === null || (checked?.state === 'verified' && checked.problem === null)) return [];
  if (checked === null)
    return [`the page is not served under ${domain} yet: where it points was not checked yet`];
  if (checked.state === 'verified')
    return [`the page will not be served under ${domain} much longer: ${checked.problem}`];
  return [
    `the page is not served under ${domain}: ${checked.problem ?? 'it does not point to this service'}`,
  ];
}

export function groupView(stored: StoredGroup): object {
  return view(stored, {});
}

export function componentView(stored: StoredComponent, warnings: readonly string[]): object {
  return view(stored, { warnings });
}
