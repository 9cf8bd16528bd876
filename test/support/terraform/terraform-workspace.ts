import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCode } from '@svc/shared/errors.ts';
import { COMPILED, SOURCE } from './built-provider.ts';
import type { Diagnostic } from './diagnostic.ts';
import { JsonPlaces } from './json-places.ts';
import type {
  Action,
  Applied,
  Body,
  Change,
  Configuration,
  Planned,
  State,
  WorkspaceOptions,
} from './runner.ts';
import { type CommandResult, type RunningCommand, startTerraform } from './terraform-command.ts';

/** How Terraform finds the provider. */
export type Installation = {
  /** Content of the file that `TF_CLI_CONFIG_FILE` names. */
  readonly cliConfiguration: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Whether `terraform init` chooses the provider, with this version constraint. */
  readonly version?: string;
};

export function byDevOverrides(folder: string): Installation {
  return {
    cliConfiguration: `provider_installation {\n  dev_overrides {\n    "${SOURCE}" = "${folder}"\n  }\n  direct {\n    exclude = ["${SOURCE}"]\n  }\n}\n`,
    environment: {},
  };
}

export function byMirror(mirror: string, version: string): Installation {
  return {
    cliConfiguration: `provider_installation {\n  filesystem_mirror {\n    path = "${mirror}"\n    include = ["${SOURCE}"]\n  }\n}\n`,
    environment: {},
    version,
  };
}

export function byReattach(providers: string): Installation {
  return { cliConfiguration: '', environment: { TF_REATTACH_PROVIDERS: providers } };
}

type StateFile = {
  outputs?: Record<string, { value: unknown }>;
  resources?: {
    mode: string;
    type: string;
    name: string;
    instances: { attributes: Record<string, unknown>; status?: string; index_key?: string | number }[];
  }[];
};

type WireDiagnostic = {
  severity: Diagnostic['severity'];
  summary: string;
  detail?: string;
  address?: string;
  range?: { filename: string; start: { byte: number } };
};

type Line = {
  type: string;
  diagnostic?: WireDiagnostic;
  change?: { resource: { addr: string }; action: string };
};

const FILE = 'main.tf.json';

/** A folder in which the real Terraform works. */
export class TerraformWorkspace {
  readonly folder: string;
  readonly #binary: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #installation: Installation;
  readonly #provider: Body;
  #text = '{}';

  private constructor(binary: string, folder: string, installation: Installation, options: WorkspaceOptions) {
    this.#binary = binary;
    this.folder = folder;
    this.#installation = installation;
    this.#provider = options.provider;
    this.#environment = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      // Terraform kills plug-ins that take long to end, and their sockets stay.
      TMPDIR: join(folder, 'home'),
      CHECKPOINT_DISABLE: '1',
      // A command ends before its garbage is worth a collection.
      GOGC: 'off',
      GOMEMLIMIT: '1GiB',
      ...COMPILED,
      TF_CLI_CONFIG_FILE: join(folder, 'home', 'terraformrc'),
      TF_DATA_DIR: join(folder, 'home', 'data'),
      SVC_TERRAFORM_NODE: process.execPath,
      ...installation.environment,
      ...options.environment,
    };
  }

  static async open(
    binary: string,
    installation: Installation,
    options: WorkspaceOptions,
  ): Promise<TerraformWorkspace> {
    const folder = await mkdtemp(join(tmpdir(), 'svc-terraform-'));
    await mkdir(join(folder, 'home'));
    await writeFile(join(folder, 'home', 'terraformrc'), installation.cliConfiguration);
    return new TerraformWorkspace(binary, folder, installation, options);
  }

  async configure(configuration: Configuration): Promise<void> {
    const { version } = this.#installation;
    const svc = { source: SOURCE, ...(version === undefined ? {} : { version }) };
    const whole = {
      terraform: { required_providers: { svc } },
      ...configuration,
      provider: { svc: { ...this.#provider, ...configuration.provider?.svc } },
    };
    this.#text = JSON.stringify(whole, null, 1);
    await this.write(FILE, this.#text);
  }

  /** Writes a further file, for tests of other commands and for configurations that JSON cannot express. */
  async write(name: string, text: string): Promise<void> {
    await writeFile(join(this.folder, name), text);
  }

  start(...args: string[]): RunningCommand {
    return startTerraform(this.#binary, args, { folder: this.folder, environment: this.#environment });
  }

  run(...args: string[]): Promise<CommandResult> {
    return this.start(...args).result;
  }

  async validate(): Promise<readonly Diagnostic[]> {
    const { stdout, stderr } = await this.run('validate', '-json');
    const { diagnostics } = parsed<{ diagnostics: WireDiagnostic[] }>(stdout, stderr);
    return this.#diagnostics(diagnostics);
  }

  async plan(): Promise<Planned> {
    const lines = linesOf(await this.run('plan', '-json', '-input=false'));
    const changes = lines.flatMap(({ type, change }): Change[] =>
      type === 'planned_change' && change !== undefined && change.action !== 'noop'
        ? [{ address: change.resource.addr, action: change.action as Action }]
        : [],
    );
    return { changes, diagnostics: this.#diagnosticsIn(lines) };
  }

  async apply(): Promise<Applied> {
    return this.applied(await this.run('apply', '-json', '-input=false', '-auto-approve'));
  }

  async destroy(): Promise<Applied> {
    return this.applied(await this.run('destroy', '-json', '-input=false', '-auto-approve'));
  }

  /** The output of an apply with `-json`. */
  applied(result: CommandResult): Applied {
    return { diagnostics: this.#diagnosticsIn(linesOf(result)) };
  }

  async import(address: string, id: string): Promise<readonly Diagnostic[]> {
    const { code, stdout, stderr } = await this.run('import', '-no-color', '-input=false', address, id);
    return code === 0 ? [] : printedErrors(stderr || stdout, address);
  }

  async state(): Promise<State> {
    const { resources = [] } = await this.#stateFile();
    return Object.fromEntries(
      resources.flatMap((resource) =>
        resource.instances.map((instance) => [addressOf(resource, instance), instance.attributes]),
      ),
    );
  }

  async tainted(): Promise<readonly string[]> {
    const { resources = [] } = await this.#stateFile();
    return resources.flatMap((resource) =>
      resource.instances
        .filter(({ status }) => status === 'tainted')
        .map((instance) => addressOf(resource, instance)),
    );
  }

  async outputs(): Promise<Readonly<Record<string, unknown>>> {
    const { outputs = {} } = await this.#stateFile();
    return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]));
  }

  dispose(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  async #stateFile(): Promise<StateFile> {
    try {
      return JSON.parse(await readFile(join(this.folder, 'terraform.tfstate'), 'utf8')) as StateFile;
    } catch (error) {
      if (isCode(error, 'ENOENT')) return {};
      throw error;
    }
  }

  #diagnosticsIn(lines: readonly Line[]): Diagnostic[] {
    return this.#diagnostics(lines.flatMap(({ diagnostic }) => diagnostic ?? []));
  }

  #diagnostics(wired: readonly WireDiagnostic[]): Diagnostic[] {
    const places = new JsonPlaces(this.#text);
    return wired
      .filter(({ summary }) => summary !== 'Provider development overrides are in effect')
      .map(({ severity, summary, detail = '', address, range }) => {
        const at = range?.filename === FILE ? places.pathAt(range.start.byte) : [];
        const declared = at[0] === 'resource' ? at.slice(1, 3) : at[0] === 'data' ? at.slice(0, 3) : [];
        const where = address ?? (declared.length > 1 ? declared.join('.') : undefined);
        return {
          severity,
          summary,
          detail,
          ...(where === undefined ? {} : { address: where }),
          ...(at.length > 3 ? { path: at.slice(3) } : {}),
        };
      });
  }
}

function addressOf(
  { mode, type, name }: { mode: string; type: string; name: string },
  { index_key: key }: { index_key?: string | number },
): string {
  const index = key === undefined ? '' : `[${JSON.stringify(key)}]`;
  return `${mode === 'data' ? 'data.' : ''}${type}.${name}${index}`;
}

function linesOf({ stdout, stderr }: CommandResult): Line[] {
  if (stderr.trim() !== '') throw new Error(`terraform: ${stderr}`);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parsed<Line>(line, stderr));
}

function parsed<T>(text: string, stderr: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new Error(`terraform answered no JSON: ${text}${stderr}`, { cause: error });
  }
}

/** Reads the errors of `import`, which has no `-json`: they are wrapped between bars. */
function printedErrors(text: string, address: string): Diagnostic[] {
  const printed = text.replace(/^[╷╵│] ?/gm, '').trim();
  const errors = printed.split(/^(?=Error: )/m).filter((each) => each.startsWith('Error: '));
  return errors.map((each) => {
    const [first = '', ...rest] = each.split('\n');
    const detail = rest.join(' ').replace(/\s+/g, ' ').trim();
    return { severity: 'error' as const, summary: first.slice('Error: '.length), detail, address };
  });
}
