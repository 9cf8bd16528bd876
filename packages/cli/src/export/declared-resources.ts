import { SvcError } from '@svc/shared/errors.ts';
import { kindOfType, MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { userInfoJoined } from '@svc/shared/url-secrets.ts';

/** A resource as the API answered it. */
export type LiveResource = {
  readonly kind: ResourceKind;
  /** The id in decimal. */
  readonly id: string;
  readonly answered: Readonly<Record<string, unknown>>;
};

/** The part of the API's client that is needed: the entries of a list over all of its pages. */
export type Lists = { list(path: string): AsyncIterable<Readonly<Record<string, unknown>>> };

/**
 * Every declared resource of the token's workspace: kinds in the order of dependency, each by ascending id.
 * The list is not a snapshot. Resources that change during the reading may be missing, or references may name
 * resources that are not in the list.
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

/** @throws SvcError for a type that this version does not know */
function monitorKind({ id, type }: Readonly<Record<string, unknown>>): ResourceKind {
  const known = MONITOR_TYPES.find((candidate) => candidate === type);
  if (known !== undefined) return kindOfType(known);
  throw new SvcError(
    'not-exportable',
    `monitor ${id} is of the type "${type}", which this version cannot export: update svc`,
  );
}
