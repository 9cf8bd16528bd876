import { createHash } from 'node:crypto';
import { SvcError } from '@svc/shared/errors.ts';
import { parseNatsServers } from '@svc/shared/nats/servers.ts';
import { isRegionId } from '@svc/shared/regions.ts';
import { type AgentSettings, exampleSettings } from './agent-settings.ts';
import { type Form, formOf } from './forms.ts';

/** The values that an operator gives in addition to the settings of the agent. */
export type Given = {
  /** PEM text. */
  readonly ca: string | null;
  readonly image: string | null;
  readonly executableUrl: string | null;
  readExecutable(): Buffer;
  /** Null: the form of the region's host. */
  readonly form: Form | null;
};

/**
 * The characters that a value may have, because it is written into shell, YAML and env files. Keys, addresses
 * and names need no others.
 */
const PLAIN = /^[\w.,:/@[\]+=~%?&-]+$/;

/**
 * The settings of an agent, from the text of its env file and the operator's values.
 *
 * @throws SvcError `usage` that says what is missing or wrong
 */
export function givenSettings(envFile: string, given: Given): AgentSettings {
  const variables = new Map(envFile.split('\n').flatMap(assignmentIn));
  const region = variables.get('SVC_REGION') ?? '';
  if (!isRegionId(region)) throw new SvcError('usage', 'the env file has no SVC_REGION with a region of svc');
  const natsUrl = required(variables, 'SVC_NATS_URL');
  parseNatsServers(natsUrl);
  const example = exampleSettings(region);
  const form = given.form ?? formOf(region);
  if (variables.has('SVC_NATS_CA') && given.ca === null)
    throw new SvcError(
      'usage',
      '--ca is missing: the env file names the authority of the NATS server, and the new file must contain it',
    );
  return {
    region,
    natsUrl,
    natsKey: required(variables, 'SVC_NATS_NKEY'),
    ca: given.ca,
    image: form === 'vm' ? example.image : option(given.image, '--image'),
    executable: form === 'vm' ? executableOf(given) : example.executable,
  };
}

function executableOf({ executableUrl, readExecutable }: Given): AgentSettings['executable'] {
  const sha256 = createHash('sha256').update(readExecutable()).digest('hex');
  return { url: option(executableUrl, '--executable-url'), sha256 };
}

function assignmentIn(line: string): [string, string][] {
  const [, name, value] = /^(\w+)=(.*)$/.exec(line.trim()) ?? [];
  return name === undefined || value === undefined ? [] : [[name, value]];
}

function required(variables: ReadonlyMap<string, string>, name: string): string {
  const value = variables.get(name) ?? '';
  if (!PLAIN.test(value)) throw new SvcError('usage', `the env file has no usable ${name}`);
  return value;
}

function option(value: string | null, name: string): string {
  if (value === null) throw new SvcError('usage', `${name} is missing`);
  if (!PLAIN.test(value)) throw new SvcError('usage', `${name} has characters that do not belong there`);
  return value;
}
