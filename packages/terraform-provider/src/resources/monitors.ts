import type { CheckKind } from '@svc/shared/messages/check.ts';
import { kindOfType, MONITOR_TYPES, MONITORS } from '@svc/shared/resources/monitors.ts';
import { type Answered, type ResourceAtApi, warningsOf } from './resource-at-api.ts';

export function monitorAtApi(type: CheckKind): ResourceAtApi {
  return {
    definition: MONITORS[type].definition,
    noun: 'monitor',
    idAttributes: ['id'],
    importShape: '<monitor_id>',
    warnings: warningsOf,
    mismatch: (answered) => otherType(answered, type),
    // The removal keeps the monitor's components: Terraform removes a replaced monitor before it lets the
    // component show the new monitor.
    removal: { components: 'keep' },
  };
}

/** The rest of a sentence that begins with "The monitor"; null: the monitor has the expected type. */
function otherType({ id, type }: Answered, expected: CheckKind): string | null {
  if (type === expected) return null;
  const known = MONITOR_TYPES.find((candidate) => candidate === type);
  if (known === undefined) return `${id} is of a type that this version of the provider does not know`;
  return `${id} is of the type ${known}: import it as ${kindOfType(known)}`;
}
