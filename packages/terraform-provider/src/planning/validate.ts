import type { Attribute, Attributes, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { SET_BY_THE_SERVICE } from '@svc/shared/resources/input.ts';
import type { AttributePath, Diagnostic, TerraformClient } from '../provider.ts';
import { isObject, type TerraformObject, type TerraformValue } from '../value.ts';
import { type AttributeProblem, diagnosticOf } from './diagnostic-text.ts';
import { maskProblems } from './validate-masks.ts';
import { ruleProblems } from './validate-rules.ts';
import { valueProblems } from './validate-value.ts';
import { definitionForm, terraformPath, writeOnlyProblems } from './write-only.ts';

/**
 * Problems of a configuration, each with its place. Unknown values are not validated, and rules that read
 * them are not applied. Terraform itself checks types, missing and unknown arguments, and the number of
 * blocks against the schema.
 *
 * @param definition the shared definition, which has no write-only attributes
 * @param config the configuration in Terraform's form (write-only.ts)
 */
export function validateConfig(
  definition: ResourceDefinition,
  config: TerraformObject,
  { allowsWriteOnly }: TerraformClient,
): Diagnostic[] {
  const given = definitionForm(definition, config);
  const masks = maskProblems(definition, given);
  const masked = new Set(masks.map(placeOf));
  const others = [
    ...attributeDiagnostics(definition.attributes, given, []),
    ...Object.entries(definition.blocks).flatMap(([name, block]) =>
      membersOf(given[name]).flatMap((member, index) =>
        isObject(member) ? attributeDiagnostics(block.attributes, member, [name, index]) : [],
      ),
    ),
    ...ruleProblems(definition, given),
  ];
  // A value that is the mask gets only the message about the mask, as in the API.
  const problems = [...others.filter((problem) => !masked.has(placeOf(problem))), ...masks];
  return [
    ...writeOnlyProblems(definition, config, allowsWriteOnly),
    ...problems.map((problem) =>
      problem.path === undefined ? problem : { ...problem, path: terraformPath(config, problem.path) },
    ),
  ];
}

function placeOf({ path = [] }: Diagnostic): string {
  return JSON.stringify(path);
}

function membersOf(value: TerraformValue | undefined): readonly TerraformValue[] {
  return Array.isArray(value) ? value : [];
}

function attributeDiagnostics(
  attributes: Attributes,
  config: TerraformObject,
  parent: AttributePath,
): Diagnostic[] {
  return Object.entries(attributes).flatMap(([name, attribute]) =>
    problemsOf(attribute, config[name] ?? null).map((problem) =>
      diagnosticOf({ ...problem, path: [...parent, name, ...problem.path] }),
    ),
  );
}

/**
 * Finds the problems of one attribute. Two of them are errors that Terraform's own checks accept: a value for
 * a computed attribute, and a required argument whose expression results in null.
 */
function problemsOf(attribute: Attribute, value: TerraformValue): AttributeProblem[] {
  if (attribute.presence === 'computed') {
    return value === null ? [] : [{ path: [], message: SET_BY_THE_SERVICE }];
  }
  if (value !== null) return valueProblems(attribute, value);
  if (attribute.presence !== 'required') return [];
  // Terraform itself does not require this secret, because its write-only form may be set instead.
  const message = attribute.sensitive
    ? 'is required, unless its write-only form is set'
    : 'is required, but it is null';
  return [{ path: [], message, isMissing: true }];
}
