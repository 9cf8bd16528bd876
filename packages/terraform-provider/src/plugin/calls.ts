import type { DataSource, Diagnostic, ManagedResource, Outcome, Provider } from '../provider.ts';
import type { Schema } from '../schema.ts';
import type { TerraformObject } from '../value.ts';
import { conform } from './conform.ts';
import { diagnosticMessage, hasError, misfits, pathMessage, unexpected } from './diagnostics.ts';
import { decodeValue, encodeValue, ValueError } from './dynamic-value.ts';
import { framesOf, type PluginLog } from './log.ts';
import type { Message } from './messages.ts';
import type { Calls, Request, Response } from './methods.ts';
import { privateOf, workspaceIn } from './private.ts';
import { upgradeState } from './state-upgrade.ts';
import { schemaMessage } from './wire-schema.ts';

/**
 * The schemas never change while the provider runs, so Terraform may
 * use a schema that it got from another process of this provider.
 */
const CAPABILITIES = { get_provider_schema_optional: true };

/** What an answer to a call consists of. `state` is sent only if it is set. */
type Answer = {
  readonly diagnostics: readonly Diagnostic[];
  readonly state?: Message<'DynamicValue'> | undefined;
  /** Data that Terraform keeps beside the state from now on. */
  readonly private?: Buffer;
};

const NOTHING_SAID: Answer = { diagnostics: [] };

export type CallsParts = {
  /**
   * Returns the provider. It is called for every request, and resolves to the same provider until that
   * provider is stopped in debug mode.
   */
  load(): Promise<Provider>;
  readonly log: PluginLog;
  onStopped(): void;
};

/** Answers Terraform's calls for one provider. Calls share no state and may overlap. */
export class ProviderCalls implements Calls {
  readonly #parts: CallsParts;

  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  async GetMetadata(): Promise<Response<'GetMetadata'>> {
    const names = (all: object) => Object.keys(all).map((name) => ({ type_name: name }));
    let found: Response<'GetMetadata'> = {};
    const answer = await this.#attempt('Listing the contents of the provider', async () => {
      const { resources, dataSources } = await this.#parts.load();
      found = { resources: names(resources), data_sources: names(dataSources) };
      return NOTHING_SAID;
    });
    return { ...found, server_capabilities: CAPABILITIES, ...said(answer) };
  }

  async GetProviderSchema(): Promise<Response<'GetProviderSchema'>> {
    const messages = (all: Readonly<Record<string, { readonly schema: Schema }>>) =>
      Object.fromEntries(Object.entries(all).map(([name, { schema }]) => [name, schemaMessage(schema)]));
    let found: Response<'GetProviderSchema'> = {};
    const answer = await this.#attempt('Describing the provider', async () => {
      const { schema, resources, dataSources } = await this.#parts.load();
      found = {
        provider: schemaMessage(schema),
        resource_schemas: messages(resources),
        data_source_schemas: messages(dataSources),
      };
      return NOTHING_SAID;
    });
    return { ...found, server_capabilities: CAPABILITIES, ...said(answer) };
  }

  async ValidateProviderConfig({ config }: Request<'ValidateProviderConfig'>) {
    const answer = await this.#attempt('Checking the provider configuration', async () => {
      const provider = await this.#parts.load();
      return { diagnostics: provider.validate(configOf(provider.schema, config)) };
    });
    return said(answer);
  }

  async ConfigureProvider({ config, terraform_version: version = '' }: Request<'ConfigureProvider'>) {
    const answer = await this.#attempt('Configuring the provider', async () => {
      const provider = await this.#parts.load();
      return { diagnostics: provider.configure(configOf(provider.schema, config), version) };
    });
    return said(answer);
  }

  async StopProvider(): Promise<Response<'StopProvider'>> {
    const { diagnostics } = await this.#attempt('Stopping the provider', async () => {
      const provider = await this.#parts.load();
      this.#parts.onStopped();
      provider.stop();
      return NOTHING_SAID;
    });
    return { Error: diagnostics.map(({ detail }) => detail).join(' ') };
  }

  async ValidateResourceConfig(request: Request<'ValidateResourceConfig'>) {
    const { type_name: typeName, config, client_capabilities: client } = request;
    const answer = await this.#attempt(`Checking a ${typeName}`, async () => {
      const resource = await this.#resource(typeName);
      const allowsWriteOnly = client?.write_only_attributes_allowed === true;
      return { diagnostics: resource.validate(configOf(resource.schema, config), { allowsWriteOnly }) };
    });
    return said(answer);
  }

  async ValidateDataResourceConfig({ type_name: typeName, config }: Request<'ValidateDataResourceConfig'>) {
    const answer = await this.#attempt(`Checking a ${typeName}`, async () => {
      const source = await this.#dataSource(typeName);
      return { diagnostics: source.validate(configOf(source.schema, config)) };
    });
    return said(answer);
  }

  async UpgradeResourceState(request: Request<'UpgradeResourceState'>) {
    const { type_name: typeName = '', version = 0, raw_state: stored } = request;
    const answer = await this.#attempt(`Reading the stored state of a ${typeName}`, async () => {
      const { schema } = await this.#resource(typeName);
      const { state, diagnostics } = upgradeState(typeName, schema, version, stored);
      return hasError(diagnostics) ? { diagnostics } : sent(schema, { state, diagnostics });
    });
    return { upgraded_state: answer.state, ...said(answer) };
  }

  async ReadResource(request: Request<'ReadResource'>): Promise<Response<'ReadResource'>> {
    const answer = await this.#attempt(`Reading a ${request.type_name}`, async () => {
      const resource = await this.#resource(request.type_name);
      const state = decodeValue(resource.schema, request.current_state);
      if (state === null) return NOTHING_SAID;
      return sent(resource.schema, await resource.read(state, workspaceIn(request.private)));
    });
    return {
      new_state: answer.state ?? request.current_state,
      private: answer.private ?? request.private,
      ...said(answer),
    };
  }

  async PlanResourceChange(request: Request<'PlanResourceChange'>): Promise<Response<'PlanResourceChange'>> {
    let replaces: Message<'AttributePath'>[] = [];
    const answer = await this.#attempt(`Planning a ${request.type_name}`, async () => {
      const resource = await this.#resource(request.type_name);
      const plan = resource.plan({
        prior: decodeValue(resource.schema, request.prior_state),
        proposed: decodeValue(resource.schema, request.proposed_new_state),
        config: decodeValue(resource.schema, request.config),
      });
      if (hasError(plan.diagnostics)) return { diagnostics: plan.diagnostics };
      const isCreation = decodeValue(resource.schema, request.prior_state) === null;
      const obstacles = plan.planned === null ? [] : await resource.obstacles(plan.planned, isCreation);
      if (hasError(obstacles)) return { diagnostics: obstacles };
      replaces = plan.replaces.map(pathMessage);
      return sent(resource.schema, {
        state: plan.planned,
        diagnostics: [...plan.diagnostics, ...obstacles],
      });
    });
    return {
      planned_state: answer.state,
      requires_replace: replaces,
      planned_private: request.prior_private,
      ...said(answer),
    };
  }

  /**
   * If an error is thrown, the answer has the prior state: after a failed update or removal the
   * object still exists, and an answer without a state would make Terraform forget the object.
   */
  async ApplyResourceChange(
    request: Request<'ApplyResourceChange'>,
  ): Promise<Response<'ApplyResourceChange'>> {
    const answer = await this.#attempt(`Applying a ${request.type_name}`, async () => {
      const resource = await this.#resource(request.type_name);
      const prior = decodeValue(resource.schema, request.prior_state);
      const wanted = decodeValue(resource.schema, request.planned_state);
      const config = decodeValue(resource.schema, request.config) ?? {};
      return sent(resource.schema, await change(resource, prior, wanted, config));
    });
    return {
      new_state: answer.state ?? request.prior_state,
      private: answer.private ?? request.planned_private,
      ...said(answer),
    };
  }

  async ImportResourceState(
    request: Request<'ImportResourceState'>,
  ): Promise<Response<'ImportResourceState'>> {
    const { type_name: typeName, id = '' } = request;
    const answer = await this.#attempt(`Importing a ${typeName}`, async () => {
      const resource = await this.#resource(typeName);
      const outcome = resource.import(id);
      const isThere = outcome.state !== null && !hasError(outcome.diagnostics);
      return isThere ? sent(resource.schema, outcome) : { diagnostics: outcome.diagnostics };
    });
    return {
      imported_resources: answer.state === undefined ? [] : [{ type_name: typeName, state: answer.state }],
      ...said(answer),
    };
  }

  async ReadDataSource(request: Request<'ReadDataSource'>): Promise<Response<'ReadDataSource'>> {
    const answer = await this.#attempt(`Reading a ${request.type_name}`, async () => {
      const source = await this.#dataSource(request.type_name);
      return sent(source.schema, await source.read(configOf(source.schema, request.config)));
    });
    return { state: answer.state, ...said(answer) };
  }

  async #resource(typeName = ''): Promise<ManagedResource> {
    return named((await this.#parts.load()).resources, typeName, 'resource');
  }

  async #dataSource(typeName = ''): Promise<DataSource> {
    return named((await this.#parts.load()).dataSources, typeName, 'data source');
  }

  /** Turns any thrown error into a diagnostic for the user. */
  async #attempt(action: string, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ValueError) return { diagnostics: [unreadable(action, error)] };
      this.#parts.log('error', `${action} failed unexpectedly`, { frames: framesOf(error) });
      return { diagnostics: [unexpected(action, error)] };
    }
  }
}

function named<T>(all: Readonly<Record<string, T>>, name: string, noun: string): T {
  const found = Object.hasOwn(all, name) ? all[name] : undefined;
  if (found === undefined) throw new ValueError(`this provider has no ${noun} "${name}"`);
  return found;
}

async function change(
  resource: ManagedResource,
  prior: TerraformObject | null,
  wanted: TerraformObject | null,
  config: TerraformObject,
): Promise<Outcome> {
  if (wanted === null) return prior === null ? { state: null, diagnostics: [] } : resource.remove(prior);
  return prior === null ? resource.create(wanted, config) : resource.update(prior, wanted, config);
}

/** Decodes a configuration. A configuration in which nothing is set is an empty object, never null. */
function configOf(schema: Schema, message: Message<'DynamicValue'> | undefined): TerraformObject {
  return decodeValue(schema, message) ?? (conform(schema, {}).value as TerraformObject);
}

/**
 * Encodes an outcome. Values that do not fit the schema are reported, and all
 * others are still sent: Terraform must not lose an object that was created.
 */
function sent(schema: Schema, { state, diagnostics, workspace = null }: Outcome): Answer {
  const { value, problems } = encodeValue(schema, state);
  const kept = workspace === null ? {} : { private: privateOf(workspace) };
  return { state: value, diagnostics: [...diagnostics, ...misfits(problems)], ...kept };
}

function said({ diagnostics }: Answer): { diagnostics: Message<'Diagnostic'>[] } {
  return { diagnostics: diagnostics.map(diagnosticMessage) };
}

function unreadable(action: string, { message }: ValueError): Diagnostic {
  return {
    severity: 'error',
    summary: 'The provider does not understand Terraform',
    detail: `${action}: ${message}.`,
  };
}
