import { SvcError } from '@svc/shared/errors.ts';
import { describeSettings } from '@svc/shared/settings/environment.ts';
import { asking, openApi } from '../api.ts';
import { CLI_SETTINGS } from '../cli-settings.ts';
import { type Command, type Surroundings, UsageError } from '../command.ts';
import { describeOptions, type Given, parseOptions } from '../options.ts';
import type { FoundToken } from '../token.ts';
import { requireWritable, userPath, writeNewFile } from '../write-file.ts';
import { declaredJson, declaredYaml } from './declared-file.ts';
import { liveConfiguration } from './declared-resources.ts';
import { type ExportedDocument, exportDocument } from './document.ts';
import { FORMATS, type Format, SECRETS_AS, type SecretsAs, secretsFile, variableName } from './secrets.ts';
import { terraformFile } from './terraform.ts';

const OPTIONS = {
  format: {
    value: FORMATS.join('|'),
    oneOf: FORMATS,
    description: 'yaml (the default) and json: a declared file; hcl: Terraform, with import blocks',
  },
  output: { value: 'FILE', description: 'write to this new file instead of stdout' },
  secrets: {
    value: SECRETS_AS.join('|'),
    oneOf: SECRETS_AS,
    description: 'variables (the default): a variable instead of every secret; inline: secrets in clear',
  },
  'secrets-file': {
    value: 'FILE',
    description: 'also write the values of the variables: *.auto.tfvars for hcl, else for a shell',
  },
  force: { description: 'replace existing files' },
} as const;

export const exportCommand: Command = {
  help: `Usage: npm run svc -- export [options]

Writes the configuration of the token's workspace: as a declared file, or as a Terraform
file whose import blocks let Terraform take everything over as it is.

Options:
${describeOptions(OPTIONS)}

Without --output, "npm run" adds lines to the output: use "npm run --silent svc -- export >svc.yaml".
Reading secrets needs a token of scope write. Files with secrets are readable by their owner only.

What a declared file (SVC_CONFIG) declares, only that file may change (409). Before Terraform takes it
over, start without SVC_CONFIG (SVC_CONFIG=none npm start): everything stays, and the API may change it.

Settings, from the environment:
${describeSettings(CLI_SETTINGS)}
`,
  run: runExport,
};

async function runExport(args: readonly string[], surroundings: Surroundings): Promise<void> {
  const { environment, err } = surroundings;
  const given = parseOptions(args, OPTIONS);
  const format = (given.format ?? 'yaml') as Format;
  const secrets = (given.secrets ?? 'variables') as SecretsAs;
  refuseContradictions(given, environment);
  const api = openApi(surroundings);
  const { baseUrl, token: found } = api;
  const document = exportDocument(await asking(api, () => liveConfiguration(api.client)));
  if (secrets === 'inline' || given['secrets-file'] !== undefined) requireShown(document, found);
  const text = rendered(document, format, secrets, baseUrl);
  await write(text, document, { given, format, secrets }, surroundings);
  say(document, { given, format, secrets }, surroundings);
  err.write(
    `svc: ${counted(document.resources.length, 'resource')} of ${baseUrl}, read with the token of ${found.source}\n`,
  );
}

/**
 * Checks that the options do not contradict each other.
 *
 * @throws UsageError when they do
 */
function refuseContradictions(
  { output, secrets, 'secrets-file': secretsPath }: Given<typeof OPTIONS>,
  environment: NodeJS.ProcessEnv,
): void {
  if (secretsPath === undefined) return;
  if (secrets === 'inline') {
    throw new UsageError('--secrets inline and --secrets-file exclude each other: use one of them');
  }
  if (output !== undefined && userPath(output, environment) === userPath(secretsPath, environment)) {
    throw new UsageError('--output and --secrets-file name the same file: write the secrets to another file');
  }
}

function requireShown({ secrets }: ExportedDocument, { source }: FoundToken): void {
  const hidden = secrets.filter(({ value }) => value === null);
  if (hidden.length === 0) return;
  throw new SvcError(
    'secrets-hidden',
    `the token of ${source} may not read ${counted(hidden.length, 'secret')}: use a token of scope write, or omit --secrets and --secrets-file`,
  );
}

function rendered(document: ExportedDocument, format: Format, secrets: SecretsAs, baseUrl: string): string {
  const needed = neededSetting(document);
  const heading = [`Exported by svc from ${baseUrl}`, ...(needed === null ? [] : [needed])];
  switch (format) {
    case 'yaml':
      return declaredYaml(document, secrets, heading);
    case 'json':
      return declaredJson(document, secrets);
    case 'hcl':
      return terraformFile(document, secrets, heading);
    default:
      return format satisfies never;
  }
}

/** Says which own regions the coordinators need that the document is given to; null: none. */
function neededSetting({ ownRegions }: ExportedDocument): string | null {
  if (ownRegions.length === 0) return null;
  return `the coordinators that take this need in SVC_EXTRA_REGIONS: ${ownRegions.join(', ')}`;
}

type Choices = {
  readonly given: Given<typeof OPTIONS>;
  readonly format: Format;
  readonly secrets: SecretsAs;
};

async function write(
  text: string,
  document: ExportedDocument,
  { given, format, secrets }: Choices,
  { environment, out }: Surroundings,
): Promise<void> {
  const replaces = given.force === true;
  const [output, secretsPath] = [given.output, given['secrets-file']].map((path) =>
    path === undefined ? undefined : userPath(path, environment),
  );
  for (const path of [output, secretsPath]) if (path !== undefined) await requireWritable(path, replaces);
  if (output === undefined) out.write(text);
  else {
    const isSecret = secrets === 'inline' && document.secrets.length > 0;
    await writeNewFile(output, text, { replaces, isSecret });
  }
  // The file of secrets is written last. If the document cannot be written, no secrets are left behind.
  if (secretsPath === undefined) return;
  const values = secretsFile(document.secrets, format);
  await writeNewFile(secretsPath, values, { replaces, isSecret: true });
}

/**
 * Writes to stderr what the user must know in addition to the document: notes, and what to do with secrets.
 */
function say(
  document: ExportedDocument,
  { given, format, secrets }: Choices,
  { environment, out, err }: Surroundings,
): void {
  const { secrets: all, notes } = document;
  for (const note of [...notes, neededSetting(document) ?? []].flat()) err.write(`svc: ${note}\n`);
  const file = given['secrets-file'];
  if (all.length > 0 && secrets === 'inline') {
    err.write(`svc: ${counted(all.length, 'secret')} in clear: keep it out of version control\n`);
  } else if (all.length > 0 && file !== undefined) {
    err.write(`svc: ${counted(all.length, 'secret')} in ${file}: keep it out of version control\n`);
  } else if (all.length > 0) {
    err.write(`svc: set ${all.length === 1 ? 'this variable' : 'these variables'} before you use it:\n`);
    for (const secret of all) err.write(`  ${variableName(secret, format)} (${secret.where})\n`);
  }
  if (format === 'hcl' && secrets === 'variables' && all.some(({ hiding }) => hiding === 'nothing')) {
    err.write(
      'svc: the first plan updates resources with secret header values in place, only to mark the values as sensitive\n',
    );
  }
  const isSpoilt =
    given.output === undefined &&
    out.isTTY !== true &&
    environment.npm_lifecycle_event === 'svc' &&
    environment.npm_config_loglevel !== 'silent';
  if (isSpoilt) {
    err.write('svc: npm wrote lines before the output: use --output, or npm run --silent\n');
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
