import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import type { CheckKind } from '@svc/shared/messages/check.ts';
import type { Generated } from 'kysely';
import type { Impact, UpdateState } from '../verdict/incident-updates.ts';

type RollupRow = {
  monitor_id: number;
  at: number;
  region: string;
  passed: number;
  degraded: number;
  failed: number;
  not_run: number;
  latency: Uint8Array | null;
};

/**
 * States of a delivery. A delivery in any state except `pending` has
 * ended. Only a dead delivery can be replayed.
 */
export const DELIVERY_STATES = ['pending', 'delivered', 'dead', 'superseded'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** State of the subscription of a mail address to the announcements of a page; see `0001-initial.ts`. */
export type Subscription = 'none' | 'asked' | 'confirmed' | 'stopped';

/** The columns that every resource has, whether the API or a declared file declares it. */
type DeclaredRow = {
  id: Generated<number>;
  workspace_id: number;
  owner: string | null;
  local_name: string | null;
  row_version: Generated<number>;
  created_at: number;
  updated_at: number;
};

/** Row types of the tables. `migrations/` explains the tables and columns. Booleans are 0 or 1. */
export interface Database {
  workspaces: { id: Generated<number>; name: string; created_at: number };
  tokens: {
    id: Generated<number>;
    workspace_id: number;
    name: string;
    scope: 'read' | 'write' | 'admin';
    hash: string;
    is_operator: Generated<number>;
    created_at: number;
    created_by: number | null;
    expires_at: number | null;
    last_used_at: number | null;
    revoked_at: number | null;
  };
  monitors: DeclaredRow & {
    type: CheckKind;
    name: string;
    active: number;
    attributes: string;
    secrets_sealed: Uint8Array | null;
    probe_version: Generated<number>;
    activated_at: number;
  };
  notifications: DeclaredRow & {
    name: string | null;
    provider_type: string;
    settings_sealed: Uint8Array;
    group_alerts: Generated<number>;
    notify_unknown: Generated<number>;
    remind_every_ms: number | null;
    state: Generated<'ok' | 'failing'>;
    state_reason: string | null;
    stopped_at: Generated<number | null>;
    kept: Generated<string | null>;
  };
  links: {
    monitor_id: number;
    notification_id: number;
    version: number;
    announced: Generated<'active' | 'degraded' | 'error'>;
    incident: string | null;
  };
  reminders: {
    monitor_id: number;
    notification_id: number;
    incident: string;
    number: number;
    at: number;
  };
  status_pages: DeclaredRow & {
    slug: string;
    custom_domain: string | null;
    attributes: string;
    secrets_sealed: Uint8Array | null;
    published: Generated<number>;
    theme: Generated<'system' | 'light' | 'dark'>;
    latency: Generated<'none' | '24h' | '7d'>;
    shown_version: Generated<number>;
  };
  component_groups: DeclaredRow & {
    page_id: number;
    attributes: string;
  };
  components: DeclaredRow & {
    page_id: number;
    group_id: number | null;
    monitor_id: number | null;
    attributes: string;
  };
  monitor_states: {
    monitor_id: number;
    status: 'active' | 'degraded' | 'error' | 'unknown';
    status_slot: Generated<number>;
    since: number;
    incident: string | null;
    reason: string | null;
    version: number | null;
    floor_slot: Generated<number>;
    entered: Generated<string>;
    shown_version: Generated<number>;
  };
  monitor_votes: {
    place: number;
    monitor_id: number;
    decided_slot: number;
    written_at: number;
    votes: string;
    open_slots: string | null;
  };
  monitor_notices: { monitor_id: number; region: string; since: number; key: string; told: string };
  slot_results: {
    slot: number;
    monitor_id: number;
    part: number;
    regions: number;
    not_run: number;
    reports: Uint8Array;
  };
  own_regions: { id: Generated<number>; name: string };
  agent_names: { number: number; name: string; noted_on: number };
  export_totals: { monitor_id: number; until: number; totals: string };
  export_notes: { shard: number; id: number; note: Uint8Array };
  off_grid_slots: { monitor_id: number; slot: number };
  transitions: {
    id: Generated<number>;
    monitor_id: number;
    from_status: string;
    to_status: string;
    reason: string;
    at: number;
    slot: number | null;
    votes: string;
    incident: string | null;
    until: number | null;
    slots: number | null;
  };
  rollup_hours: RollupRow;
  rollup_days: RollupRow;
  uptime_days: { monitor_id: number; at: number; active_ms: number; degraded_ms: number; error_ms: number };
  rollup_progress: {
    id: number;
    hour: number;
    phase: number;
    day: number;
    after_monitor: number;
    results_from: Generated<number>;
  };
  rollup_repairs: { hour: number; monitor_id: number; marks: Generated<number> };
  removed_monitors: { monitor_id: number };
  incidents: {
    id: Generated<number>;
    key: string | null;
    workspace_id: number | null;
    monitor_id: number | null;
    opened_at: number;
    closed_at: number | null;
    closure: string | null;
    title: string | null;
    impact: Generated<Impact>;
    row_version: Generated<number>;
    acknowledged_at: number | null;
    acknowledged_by: string | null;
    acknowledged_note: string | null;
  };
  incident_pages: { incident_id: number; page_id: number };
  incident_updates: {
    id: Generated<number>;
    incident_id: number;
    state: UpdateState;
    text: string;
    component_ids: string;
    at: number;
    row_version: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  maintenance_windows: {
    id: Generated<number>;
    workspace_id: number;
    title: string;
    text: string;
    starts_at: number;
    ends_at: number;
    time_zone: string;
    repeat: string | null;
    ended_at: number | null;
    row_version: Generated<number>;
    created_at: number;
    updated_at: number;
  };
  maintenance_monitors: { window_id: number; monitor_id: number };
  maintenance_pages: { window_id: number; page_id: number };
  maintenance_components: { window_id: number; component_id: number };
  mutes: { monitor_id: number; muted_at: number; muted_until: number; muted_by: string };
  deliveries: {
    id: Generated<number>;
    uid: string;
    notification_id: number;
    monitor_id: number;
    alert: string;
    incident: string | null;
    status: AlertStatus | null;
    state: DeliveryState;
    attempts: Generated<number>;
    tries: Generated<number>;
    next_attempt_at: number | null;
    last_error: string | null;
    created_at: number;
    replayed_at: number | null;
    finished_at: number | null;
    group_uid: Generated<string | null>;
    due_at: Generated<number | null>;
    hastened: Generated<number>;
  };
  delivery_attempts: {
    delivery_id: number;
    number: number;
    at: number;
    duration: number;
    outcome: string;
    status_code: number | null;
    error: string | null;
    reason: string | null;
    reply: string | null;
    next_attempt_at: number | null;
  };
  delivery_threads: { notification_id: number; incident: string; thread: string | null; at: number };
  stream_positions: {
    stream: string;
    stream_created: string;
    sequence: number;
    message_id: string;
    message_time: number;
  };
  shards: {
    id: number;
    holder: string;
    coordinator: string;
    term: string;
    writes: number;
    epoch: number;
    expires_at: number;
  };
  coordinators: { id: string; seen_at: number };
  region_presence: { region: string; last_seen_at: number };
  region_absences: { id: Generated<number>; region: string; started_at: number; ended_at: number | null };
  facts: { key: string; value: string };
  changes: {
    id: Generated<number>;
    shard: number;
    kind: 'monitor' | 'linked' | 'unlinked' | 'channel' | 'channel-removed' | 'maintenance';
    monitor_id: number | null;
    notification_id: number | null;
    detail: string | null;
  };
  audit: {
    id: Generated<number>;
    at: number;
    workspace_id: number | null;
    actor: 'token' | 'nobody' | 'declared-file' | 'settings';
    token_id: number | null;
    token_name: string | null;
    action: string;
    object: string;
    outcome: 'done' | 'refused' | 'failed';
    status: number | null;
    request_id: string | null;
    peer: string | null;
    detail: string | null;
  };
  page_recipients: {
    id: Generated<number>;
    page_id: number;
    address: string;
    language: string;
    subscription: Generated<Subscription>;
    stopped_for: string | null;
    created_at: number;
    asked_at: number;
    confirmed_at: number | null;
    credential: string | null;
  };
  page_windows_told: {
    page_id: number;
    window_id: number;
    announced_from: number | null;
    begun_from: number | null;
    is_over: Generated<number>;
  };
  page_icons: {
    page_id: number;
    url: string;
    content_type: string | null;
    content: Uint8Array | null;
    validator: string | null;
    problem: string | null;
    tried_at: number;
    fetched_at: number | null;
    failures: Generated<number>;
  };
  page_announcements: {
    id: Generated<number>;
    uid: string;
    page_id: number;
    content: string;
    created_at: number;
    after_recipient: Generated<number>;
  };
  page_told: { page_id: number; monitor_id: number; status: 'degraded' | 'error' };
  page_domains: {
    page_id: number;
    declared: string;
    domain: string;
    state: 'verified' | 'pending';
    problem: string | null;
    failures: Generated<number>;
    checked_at: number;
    verified_at: number | null;
  };
  sessions: { hash: string; subject: string; credential: string; created_at: number; expires_at: number };
  one_time_links: { hash: string; purpose: string; detail: string; expires_at: number };
  idempotency_keys: {
    workspace_id: number;
    key: string;
    fingerprint: string;
    resource_id: number;
    created_at: number;
  };
}
