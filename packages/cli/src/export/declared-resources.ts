import { SvcError } from '@svc/shared/errors.ts';
import { kindOfType, MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { userInfoJoined } from '@svc/shared/url-secrets.ts';

/** A resource as the API returned it. */
export type LiveResource = {
  readonly kind: ResourceKind;
  /** The resource's id, a decimal number. */
  readonly id: string;
  readonly answered: Readonly<Record<string, unknown>>;
};

/** The part of the API's client that the export needs. `list` returns the entries of all pages of a list. */
export type Lists = { list(path: string): AsyncIterable<Readonly<Record<string, unknown>>> };

/**
 * Returns every declared resource of the token's workspace. The kinds are in the order
 * of their dependencies, and the resources of a kind are in the order of their ids.
 *
 * The result is not a snapshot. Resources that change during the reading may
 * be missing, and references may name resources that are not in the result.
 */
export async function liveConfiguration(api: Lists): Promise<LiveResource[]> {
  const found: LiveResource[] = [];
  for await (const monitor of api.list('/v1/monitors')) found.push(resource(monitorKind(monitor), monitor));
  for await (const one of api.list('/v1/notifications')) found.push(resource('svc_notification', one));
  for await (const page of api.list('/v1/status-pages')) {
    const { id } = resource('svc_status_page', page);
    found.push(resource('svc_status_page', page));
    for await (const group of api.list(`/v1/status-pages/${id}/component-groups`)) {
      found.push(resource('svc_status_page_component_group', group));
    }
    for await (const component of api.list(`/v1/status-pages/${id}/components`)) {
      found.push(resource('svc_status_page_component', component));
    }
  }
  const rank = ({ kind }: LiveResource) => RESOURCE_KINDS.indexOf(kind);
  return found.sort((a, b) => rank(a) - rank(b) || Number(a.id) - Number(b.id));
}

function resource(kind: ResourceKind, answered: Readonly<Record<string, unknown>>): LiveResource {
  if (typeof answered.id !== 'string')
    throw new SvcError('not-exportable', `the API returned a ${kind} without an id`);
  return { kind, id: answered.id, answered: userInfoJoined(answered) };
}

/**
 * Returns the kind of a monitor.
 *
 * @throws SvcError when this version does not know the monitor's type
 */
function monitorKind({ id, type }: Readonly<Record<string, unknown>>): ResourceKind {
  const known = MONITOR_TYPES.find((candidate) => candidate === type);
  if (known !== undefined) return kindOfType(known);
  throw new SvcError(
    'not-exportable',
    `monitor ${id} is of the type "${type}", which this version cannot export: update svc`,
  );
}
