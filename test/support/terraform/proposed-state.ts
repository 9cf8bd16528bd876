import { isObjectValue, type ObjectValue, UNKNOWN, type Value } from './value.ts';
import { emptyObject, type SchemaBlock } from './wire-schema.ts';

/**
 * Terraform's proposal to the provider: the configuration, and the prior value of each attribute that the
 * configuration omits and the provider may set. Blocks are matched by index.
 */
export function proposedState(block: SchemaBlock, prior: Value, config: ObjectValue): ObjectValue {
  const before: ObjectValue = isObjectValue(prior) ? prior : emptyObject(block);
  const attributes = Object.entries(block.attributes).map(([name, { computed }]) => {
    const given = config[name] ?? null;
    return [name, computed && given === null ? (before[name] ?? null) : given];
  });
  const blocks = Object.entries(block.blocks).map(([name, nested]) => {
    const given = config[name] ?? [];
    if (!Array.isArray(given)) return [name, given === UNKNOWN ? UNKNOWN : []];
    const earlier = before[name];
    const members = given.map((member: Value, index) =>
      isObjectValue(member)
        ? proposedState(nested, Array.isArray(earlier) ? (earlier[index] ?? null) : null, member)
        : member,
    );
    return [name, members];
  });
  return Object.fromEntries([...attributes, ...blocks]);
}

/** The plan of a data source that cannot be read yet: every attribute that is not configured is unknown. */
export function plannedData(block: SchemaBlock, config: ObjectValue): ObjectValue {
  const attributes = Object.entries(block.attributes).map(([name, { computed }]) => {
    const given = config[name] ?? null;
    return [name, computed && given === null ? UNKNOWN : given];
  });
  const blocks = Object.keys(block.blocks).map((name) => [name, config[name] ?? []]);
  return Object.fromEntries([...attributes, ...blocks]);
}
