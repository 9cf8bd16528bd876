import { deniedHost, type EgressGuard } from '@svc/shared/egress.ts';
import { kindOfType, MONITOR_TYPES, probeFingerprint, targetOf } from '@svc/shared/resources/monitors.ts';
import { reviseChannels } from '../../store/declaration/channels.ts';
import { alertedStatesOf } from '../../store/declaration/monitors.ts';
import type { Row } from '../../store/declaration/resources.ts';
import type { SealPurpose, Secrets } from '../../store/declaration/secrets.ts';
import {
  componentsOfMonitors,
  detachFromMonitors,
  removeComponents,
} from '../../store/declaration/status-pages.ts';
import { StoreError } from '../../store/errors.ts';
import type { ShownBy } from '../configuration.ts';
import { Conflict, DeniedEndpoint } from '../errors.ts';
import { type ChangeScope, refuseDeclared } from '../scope.ts';
import { metadataOf, openedAttributesOf, type SecretsShown, type StoredIn, sealedJson } from '../stored.ts';
import type { Kind } from './kind.ts';
import type { AttributesIn } from './kind-tables.ts';

type Monitor = AttributesIn<'monitors'>;

/** Maximum number of components that the message of a refused removal names. */
const COMPONENTS_NAMED = 5;

/** The rules for monitors of every type. */
export const monitors: Kind<'monitors'> = {
  kindOf: ({ type }) => kindOfType(type),
  columnsOf(secrets, { type, name, active, ...rest }) {
    const json = sealedJson(secrets, sealOf(type), kindOfType(type), rest);
    return { type, name, active: active ? 1 : 0, ...json };
  },
  sealedColumns: ['attributes', 'secrets_sealed'],
  resourceOf(secrets, row, shown) {
    const attributes = monitorAttributes(secrets, row, shown);
    return { kind: kindOfType(row.type), ...metadataOf(row), attributes } as StoredIn<'monitors'>;
  },
  checkFor:
    ({ guard }) =>
    (attributes) =>
      refuseDenied(guard, attributes),
  initialColumns: ({ now }) => ({ activated_at: now }),
  revisedColumns({ now }, { probe_version, activated_at }, before, after) {
    const isSameProbe = probeFingerprint(before) === probeFingerprint(after);
    // An active monitor is checked at once after its probed attributes
    // change, and when it becomes active. `activated_at` stores the instant,
    // so that a coordinator that starts later checks the monitor at once too.
    const isCheckedAnew = !isSameProbe || (after.active && !before.active);
    return {
      probe_version: probe_version + (isSameProbe ? 0 : 1),
      activated_at: isCheckedAnew ? now : activated_at,
    };
  },
  afterWrite(scope, id) {
    scope.logChange({ kind: 'monitor', monitorId: id, removed: null });
  },
  async beforeRemoval(scope, rows, shownBy) {
    const ids = rows.map(({ id }) => id);
    await settleComponents(scope, ids, shownBy);
    const standings = await alertedStatesOf(scope.tx, ids);
    const channels = new Set<number>();
    for (const row of rows) {
      await scope.giveTurn();
      const { incident = null, links = [] } = standings.get(row.id) ?? {};
      const target = targetOf(monitorAttributes(scope.secrets, row, 'masked'));
      const { workspace_id: workspaceId, type, name } = row;
      const removed = { workspaceId, type, name, target, incident, links: [...links] };
      scope.logChange({ kind: 'monitor', monitorId: row.id, removed });
      for (const { notificationId } of links) channels.add(notificationId);
    }
    if (channels.size > 0) await reviseChannels(scope.tx, [...channels], scope.now);
  },
};

/**
 * Refuses a monitor whose metrics would be exported to an endpoint that the operator forbids.
 *
 * @throws DeniedEndpoint
 */
export function refuseDenied(guard: EgressGuard, { otlp_endpoint: endpoint }: Monitor): void {
  const wrong = endpoint === null ? null : deniedHost(guard, endpoint);
  if (wrong !== null) throw new DeniedEndpoint(wrong, ['otlp_endpoint']);
}

/**
 * Reads the attributes of a monitor from its row.
 *
 * @throws StoreError `store-key`, `store-unreadable`
 */
export function monitorAttributes(secrets: Secrets, row: Row<'monitors'>, shown: SecretsShown): Monitor {
  const { type, name, active } = row;
  if (!MONITOR_TYPES.includes(type)) throw unknownType(row);
  const opening = { secrets, purpose: sealOf(type), shown };
  return openedAttributesOf(opening, kindOfType(type), row, { type, name, active: active === 1 });
}

function unknownType({ id, type }: Pick<Row<'monitors'>, 'id' | 'type'>): StoreError {
  return new StoreError(
    'store-unreadable',
    `database: monitor ${id} is of the type "${type}", which this version of svc does not know`,
  );
}

function sealOf(type: Row<'monitors'>['type']): SealPurpose {
  return `monitors.${type}`;
}

/**
 * Handles the components that show these monitors as `shownBy` says: refuses the removal
 * of the monitors, removes the components, or keeps the components without their monitor.
 *
 * @throws Conflict `in-use`, `declared-in-file`
 */
async function settleComponents(
  scope: ChangeScope,
  monitorIds: readonly number[],
  shownBy: ShownBy,
): Promise<void> {
  const components = await componentsOfMonitors(scope.tx, monitorIds);
  if (components.length === 0) return;
  if (shownBy === 'refuse') {
    const shown = monitorIds.find((id) => components.some(({ monitor_id }) => monitor_id === id));
    throw new Conflict(
      'in-use',
      `monitor ${shown} is shown by ${named(components.filter(({ monitor_id }) => monitor_id === shown))}: remove the components first, or repeat with ?cascade=true to remove them too, or with ?components=keep to leave it in place, showing nothing`,
    );
  }
  for (const component of components) {
    refuseDeclared(scope, 'components', component, `monitor ${component.monitor_id}`);
  }
  const ids = components.map(({ id }) => id);
  if (shownBy === 'remove') await removeComponents(scope.tx, ids);
  else await detachFromMonitors(scope.tx, ids, scope.now);
}

/** Names components in a message: `component 3 of status page 2, component 4 of status page 2 and 5 more`. */
function named(components: readonly { id: number; page_id: number }[]): string {
  const shown = components
    .slice(0, COMPONENTS_NAMED)
    .map(({ id, page_id }) => `component ${id} of status page ${page_id}`);
  const others = components.length - shown.length;
  return `${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}
