import { presented } from '@svc/shared/resources/present.ts';
import {
  componentAttributes,
  groupAttributes,
  monitorAttributes,
  monitorKindOf,
  notificationAttributes,
  pageAttributes,
  type Row,
  type SecretsShown,
} from '../configuration/rows.ts';
import type { Vote } from '../domain/status.ts';
import type { Secrets } from '../store/secrets.ts';
import type { MonitorStates } from './dependencies.ts';

/** Rows as the API answers them: ids as text, instants of rows as RFC 3339, secrets open or masked. */
export function monitorView(
  row: Row<'monitors'>,
  {
    secrets,
    states,
    now,
    shown,
  }: { secrets: Secrets; states: MonitorStates; now: number; shown: SecretsShown },
) {
  const state = states.get(row.id);
  return {
    id: String(row.id),
    ...presented(monitorKindOf(row), monitorAttributes(secrets, row, shown)),
    status: state?.status ?? 'unknown',
    regions_status: (state?.votes ?? []).map((vote) => regionStatus(vote, now)),
    ...instantsOf(row),
  };
}

function regionStatus({ region, outcome, at }: Vote, now: number) {
  return { region, vote: outcome, at, age_ms: Math.max(0, now - at) };
}

export function notificationView(
  row: Row<'notifications'>,
  monitorIds: readonly number[],
  { secrets, shown }: { secrets: Secrets; shown: SecretsShown },
) {
  return {
    id: String(row.id),
    ...presented('svc_notification', notificationAttributes(secrets, row, monitorIds, shown)),
    state: row.state,
    state_reason: row.state_reason,
    ...instantsOf(row),
  };
}

export function pageView(
  row: Row<'status_pages'>,
  { secrets, shown }: { secrets: Secrets; shown: SecretsShown },
) {
  return {
    id: String(row.id),
    ...presented('svc_status_page', pageAttributes(secrets, row, shown)),
    published: row.published === 1,
    theme: row.theme,
    ...instantsOf(row),
  };
}

export function groupView(row: Row<'component_groups'>) {
  return {
    id: String(row.id),
    ...presented('svc_status_page_component_group', groupAttributes(row)),
    ...instantsOf(row),
  };
}

export function componentView(row: Row<'components'>, warnings: readonly string[]) {
  return {
    id: String(row.id),
    ...presented('svc_status_page_component', componentAttributes(row)),
    warnings,
    ...instantsOf(row),
  };
}

function instantsOf(row: { created_at: number; updated_at: number }) {
  return {
    created_at: new Date(row.created_at).toISOString(),
    updated_at: new Date(row.updated_at).toISOString(),
  };
}
