import type { Attribute, Attributes, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import type { Plan, PlanRequest } from '../provider.ts';
import { isObject, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { blockType, valueType } from './resource-schema.ts';
import { sameValue } from './same-value.ts';
import { isWriteOnly } from './write-only.ts';

/**
 * Computed attributes that no update through Terraform changes. The service sets `id` and `created_at` once,
 * and only `PATCH /v1/status-pages/{id}/appearance` changes `published` and `theme` of a page. Other computed
 * values may change with every update.
 */
const STABLE: ReadonlySet<string> = new Set(['id', 'created_at', 'published', 'theme']);

/**
 * Plans a resource. Each attribute gets the configured value, otherwise its default,
 * otherwise null: the removal of a line from the configuration resets the attribute. If
 * nothing changes, the plan is the prior state itself, so that Terraform does nothing.
 */
export function planResource(definition: ResourceDefinition, { prior, proposed, config }: PlanRequest): Plan {
  if (proposed === null || config === null) return { planned: null, replaces: [], diagnostics: [] };
  const wanted = wantedOf(definition, config);
  if (prior === null) return plan({ ...wanted, ...computedOf(definition, () => UNKNOWN) }, []);

  const kept = keepingEqual(definition, wanted, prior);
  const changed = Object.keys(kept).filter((name) => kept[name] !== (prior[name] ?? null));
  if (changed.length === 0) return plan(prior, []);
  const replaces = changed.filter((name) => definition.attributes[name]?.replaces === true);
  const isNew = replaces.length > 0;
  const computed = computedOf(definition, (name) =>
    isNew || !STABLE.has(name) ? UNKNOWN : (prior[name] ?? UNKNOWN),
  );
  return plan({ ...kept, ...computed }, replaces);
}

function plan(planned: TerraformObject, replaces: readonly string[]): Plan {
  return { planned, replaces: replaces.map((name) => [name]), diagnostics: [] };
}

/** The wanted value of every attribute and block that a user can set. */
function wantedOf({ attributes, blocks }: ResourceDefinition, config: TerraformObject): TerraformObject {
  const wantedBlocks = Object.entries(blocks).map(([name, block]): [string, TerraformValue] => {
    const configured = config[name] ?? [];
    // A dynamic block over an unknown value must remain unknown as a whole.
    if (!Array.isArray(configured)) return [name, configured];
    return [
      name,
      configured.map((member) => (isObject(member) ? withDefaults(block.attributes, member) : member)),
    ];
  });
  return { ...withDefaults(attributes, config), ...Object.fromEntries(wantedBlocks) };
}

function withDefaults(attributes: Attributes, config: TerraformObject): TerraformObject {
  const wanted = Object.entries(attributes)
    .filter(([, { presence }]) => presence !== 'computed')
    .map(([name, attribute]) => [
      name,
      isWriteOnly(attributes, name) ? null : (config[name] ?? defaultOf(attribute)),
    ]);
  return Object.fromEntries(wanted);
}

function defaultOf(attribute: Attribute): TerraformValue {
  return attribute.presence === 'default' ? (attribute.default as TerraformValue) : null;
}

function computedOf(
  { attributes }: ResourceDefinition,
  planned: (name: string) => TerraformValue,
): TerraformObject {
  const names = Object.keys(attributes).filter((name) => attributes[name]?.presence === 'computed');
  return Object.fromEntries(names.map((name) => [name, planned(name)]));
}

/** Keeps the value of the prior state unchanged wherever the wanted value equals it. */
function keepingEqual(
  { attributes, blocks }: ResourceDefinition,
  wanted: TerraformObject,
  prior: TerraformObject,
): TerraformObject {
  const kept = Object.entries(wanted).map(([name, value]) => {
    const before = prior[name] ?? null;
    const [attribute, block] = [attributes[name], blocks[name]];
    const type = block === undefined ? valueType(attribute!.value) : blockType(block);
    return [name, sameValue(type, value, before) ? before : value];
  });
  return Object.fromEntries(kept);
}
