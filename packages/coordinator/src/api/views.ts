import { notYet } from '@svc/shared/not-yet.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { presented } from '@svc/shared/resources/present.ts';
import type { ResourceKind, Resources } from '@svc/shared/resources/registry.ts';
import { withoutEffect } from '@svc/shared/resources/without-effect.ts';
import type { Metadata } from '../configuration/rows.ts';
import type {
  StoredComponent,
  StoredGroup,
  StoredMonitor,
  StoredNotification,
  StoredPage,
} from '../configuration/stored.ts';
import type { Vote } from '../domain/status.ts';
import type { MonitorStates } from './dependencies.ts';

/**
 * Declared resources as the API answers them: ids as text, instants as RFC 3339.
 */
type Declared = Metadata & { readonly kind: ResourceKind; readonly attributes: Resources[ResourceKind] };

function view(stored: Declared, computed: object): object {
  return {
    id: String(stored.id),
    ...presented(stored.kind, stored.attributes),
    ...computed,
    created_at: new Date(stored.createdAt).toISOString(),
    updated_at: new Date(stored.updatedAt).toISOString(),
  };
}

/** @param now epoch ms */
export function monitorView(stored: StoredMonitor, states: MonitorStates, now: number): object {
  const state = states.get(stored.id);
  return view(stored, {
    status: state?.status ?? 'unknown',
    regions_status: (state?.votes ?? [])
      .toSorted((one, other) => REGIONS.indexOf(one.region) - REGIONS.indexOf(other.region))
      .map((vote) => regionStatus(vote, now)),
    warnings: notYet(stored.kind, stored.attributes),
  });
}

function regionStatus({ region, outcome, slot, at }: Vote, now: number): object {
  return { region, vote: outcome, slot, at, age_ms: Math.max(0, now - slot) };
}

export function notificationView(stored: StoredNotification): object {
  return view(stored, { state: stored.state, state_reason: stored.stateReason });
}

export function pageView(stored: StoredPage): object {
  const { published, theme, kind, attributes } = stored;
  const warnings = [...notYet(kind, attributes), ...withoutEffect(attributes)];
  return view(stored, { published, theme, warnings });
}

export function groupView(stored: StoredGroup): object {
  return view(stored, {});
}

export function componentView(stored: StoredComponent, warnings: readonly string[]): object {
  return view(stored, { warnings });
}
