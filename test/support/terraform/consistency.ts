import { isObjectValue, type ObjectValue, plain, UNKNOWN, type Value } from './value.ts';
import { isEqual, type Path, shownPath, type ValueType } from './value-type.ts';
import type { SchemaAttribute, SchemaBlock } from './wire-schema.ts';

/** Faults in Terraform's words, each after its path. */
type Breaches = string[];

/** Why a plan is not one that Terraform accepts for this configuration and prior state; empty when it is. */
export function planBreaches(
  block: SchemaBlock,
  { prior, config, planned }: { prior: Value; config: Value; planned: Value },
): Breaches {
  if (config === null) return planned === null ? [] : [': planned for existence, but it is not configured'];
  if (planned === null) return [': planned for absence, but config wants existence'];
  if (!isObjectValue(planned) || !isObjectValue(config)) return [': must be an object'];
  return blockPlanBreaches(block, { prior: isObjectValue(prior) ? prior : null, config, planned }, []);
}

function blockPlanBreaches(
  block: SchemaBlock,
  values: { prior: ObjectValue | null; config: ObjectValue; planned: ObjectValue },
  path: Path,
): Breaches {
  const { prior, config, planned } = values;
  const ofAttributes = Object.entries(block.attributes).flatMap(([name, attribute]) => {
    const of = (value: ObjectValue | null) => value?.[name] ?? null;
    return attributePlanBreaches(attribute, of(prior), of(config), of(planned), [...path, name]);
  });
  const ofBlocks = Object.entries(block.blocks).flatMap(([name, nested]) => {
    const given = config[name] ?? null;
    const plan = planned[name] ?? null;
    const here = [...path, name];
    if (plan === null) {
      return [
        `${shownPath(here)}: attribute representing nested block must be empty to indicate no blocks, not null`,
      ];
    }
    if (given === UNKNOWN) return [];
    if (!Array.isArray(plan)) {
      return [
        `${shownPath(here)}: attribute representing nested block must not be unknown itself; set nested attribute values to unknown instead`,
      ];
    }
    const configured = Array.isArray(given) ? given : [];
    if (plan.length !== configured.length) {
      return [
        `${shownPath(here)}: block count in plan (${plan.length}) disagrees with count in config (${configured.length})`,
      ];
    }
    const earlier = prior?.[name];
    return plan.flatMap((member: Value, index) => {
      const before: Value = Array.isArray(earlier) ? (earlier[index] ?? null) : null;
      const wanted: Value = configured[index] ?? null;
      if (!isObjectValue(member) || !isObjectValue(wanted))
        return [`${shownPath([...here, index])}: must be an object`];
      const nestedValues = { prior: isObjectValue(before) ? before : null, config: wanted, planned: member };
      return blockPlanBreaches(nested, nestedValues, [...here, index]);
    });
  });
  return [...ofAttributes, ...ofBlocks];
}

function attributePlanBreaches(
  attribute: SchemaAttribute,
  prior: Value,
  config: Value,
  planned: Value,
  path: Path,
): Breaches {
  const { type, computed, sensitive, writeOnly } = attribute;
  if (writeOnly) return writeOnlyBreaches(planned, path);
  if (isEqual(planned, config, type)) return [];
  if (prior !== null && config !== null && isEqual(planned, prior, type)) return [];
  if (computed && config === null) return [];
  const where = shownPath(path);
  if (sensitive) return [`${where}: sensitive planned value does not match config value or prior value`];
  if (!computed)
    return config === null
      ? [`${where}: planned value ${shown(planned)} for a non-computed attribute`]
      : [`${where}: planned value ${shown(planned)} does not match config value ${shown(config)}`];
  return [
    `${where}: planned value ${shown(planned)} does not match config value ${shown(config)} nor prior value ${shown(prior)}`,
  ];
}

function writeOnlyBreaches(value: Value, path: Path): Breaches {
  return value === null ? [] : [`${shownPath(path)}: returned a value for the write-only attribute`];
}

/**
 * The places at which an object differs from its plan: after an apply, or in a second plan with more known
 * values.
 */
export function incompatibilities(block: SchemaBlock, planned: Value, actual: Value): Breaches {
  if (planned === null && actual !== null) return [': was absent, but now present'];
  if (planned !== null && actual === null) return [': was present, but now absent'];
  if (!isObjectValue(planned) || !isObjectValue(actual)) return [];
  return blockIncompatibilities(block, planned, actual, []);
}

function blockIncompatibilities(
  block: SchemaBlock,
  planned: ObjectValue,
  actual: ObjectValue,
  path: Path,
): Breaches {
  const ofAttributes = Object.entries(block.attributes).flatMap(([name, { type, sensitive, writeOnly }]) => {
    if (writeOnly) return writeOnlyBreaches(actual[name] ?? null, [...path, name]);
    const found = valueIncompatibilities(type, planned[name] ?? null, actual[name] ?? null, [...path, name]);
    if (!sensitive || found.length === 0) return found;
    return [`${shownPath([...path, name])}: inconsistent values for sensitive attribute`];
  });
  const ofBlocks = Object.entries(block.blocks).flatMap(([name, nested]) => {
    const before = planned[name] ?? null;
    const after = actual[name] ?? null;
    if (before === UNKNOWN) return [];
    const here = [...path, name];
    if (after === null) {
      return [
        `${shownPath(here)}: attribute representing nested block must be empty to indicate no blocks, not null`,
      ];
    }
    if (!Array.isArray(before) || !Array.isArray(after)) return [];
    if (before.length !== after.length) {
      return [`${shownPath(here)}: block count changed from ${before.length} to ${after.length}`];
    }
    return before.flatMap((member: Value, index) => {
      const other: Value = after[index] ?? null;
      if (!isObjectValue(member) || !isObjectValue(other)) return [];
      return blockIncompatibilities(nested, member, other, [...here, index]);
    });
  });
  return [...ofAttributes, ...ofBlocks];
}

function valueIncompatibilities(type: ValueType, planned: Value, actual: Value, path: Path): Breaches {
  const where = shownPath(path);
  if (planned === UNKNOWN) return [];
  if (actual === UNKNOWN) return [`${where}: was known, but now unknown`];
  if (planned === null) return actual === null ? [] : [`${where}: was null, but now ${shown(actual)}`];
  if (actual === null) return [`${where}: was ${shown(planned)}, but now null`];
  if (typeof type === 'string') {
    return isEqual(planned, actual, type)
      ? []
      : [`${where}: was ${shown(planned)}, but now ${shown(actual)}`];
  }
  if (type[0] === 'set') return setIncompatibilities(type, planned, actual, where);
  if (Array.isArray(planned) && Array.isArray(actual)) {
    if (planned.length !== actual.length) {
      return [`${where}: length changed from ${planned.length} to ${actual.length}`];
    }
    const member = type[1] as ValueType;
    return planned.flatMap((each: Value, index) =>
      valueIncompatibilities(member, each, actual[index] ?? null, [...path, index]),
    );
  }
  if (!isObjectValue(planned) || !isObjectValue(actual)) return [`${where}: not of its type`];
  return objectIncompatibilities(type, planned, actual, path);
}

function objectIncompatibilities(
  type: Exclude<ValueType, string>,
  planned: ObjectValue,
  actual: ObjectValue,
  path: Path,
): Breaches {
  const names = new Set([...Object.keys(planned), ...Object.keys(actual)]);
  return [...names].flatMap((name) => {
    const here = [...path, name];
    if (!Object.hasOwn(actual, name)) return [`${shownPath(here)}: element has vanished`];
    if (!Object.hasOwn(planned, name)) return [`${shownPath(here)}: new element has appeared`];
    const member = type[0] === 'object' ? type[1][name]! : type[1];
    return valueIncompatibilities(member, planned[name] ?? null, actual[name] ?? null, here);
  });
}

/** Order-free; a planned member that is not wholly known may have become any of the actual ones. */
function setIncompatibilities(
  type: Exclude<ValueType, string>,
  planned: Value,
  actual: Value,
  where: string,
): Breaches {
  if (!Array.isArray(planned) || !Array.isArray(actual)) return [`${where}: not of its type`];
  const member = type[1] as ValueType;
  const lost = planned.filter(
    (each: Value) =>
      !actual.some((other: Value) => valueIncompatibilities(member, each, other, []).length === 0),
  );
  const further = actual.filter(
    (each: Value) =>
      !planned.some((other: Value) => valueIncompatibilities(member, other, each, []).length === 0),
  );
  if (lost.length > 0)
    return [`${where}: planned set element ${shown(lost[0]!)} does not correlate with any element in actual`];
  if (further.length > 0)
    return [`${where}: actual set element ${shown(further[0]!)} does not correlate with any element in plan`];
  return planned.every((each: Value) => each !== UNKNOWN) && planned.length !== actual.length
    ? [`${where}: length changed from ${planned.length} to ${actual.length}`]
    : [];
}

function shown(value: Value): string {
  return JSON.stringify(plain(value));
}
