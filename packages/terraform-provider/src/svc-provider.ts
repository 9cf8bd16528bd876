import { TERRAFORM_PROVIDER } from '@svc/shared/api/client-settings.ts';
import type { ClientOptions } from './connection.ts';
import { Connection } from './connection.ts';
import { dataSources } from './data-sources/registry.ts';
import type { DataSource, Diagnostic, ManagedResource, Provider } from './provider.ts';
import { PROVIDER_SCHEMA, plainHttpWarnings, readSettings } from './provider-settings.ts';
import { resources } from './resources/registry.ts';
import type { TerraformObject } from './value.ts';

export type SvcProviderOptions = Omit<ClientOptions, 'userAgent'> & {
  /** Environment variables, for the settings that the provider block leaves out. */
  readonly environment: NodeJS.ProcessEnv;
  /** Version of this provider, for the API's log. */
  readonly version: string;
};

export function svcProvider(options: SvcProviderOptions): Provider {
  return new SvcProvider(options);
}

class SvcProvider implements Provider {
  readonly schema = PROVIDER_SCHEMA;
  readonly resources: Readonly<Record<string, ManagedResource>>;
  readonly dataSources: Readonly<Record<string, DataSource>>;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #version: string;
  readonly #clientOptions: Omit<ClientOptions, 'userAgent'>;
  readonly #connection = new Connection();

  constructor({ environment, version, ...clientOptions }: SvcProviderOptions) {
    this.#environment = environment;
    this.#version = version;
    this.#clientOptions = clientOptions;
    this.resources = resources(this.#connection);
    this.dataSources = dataSources(this.#connection);
  }

  validate(config: TerraformObject): readonly Diagnostic[] {
    const read = readSettings(config, this.#environment);
    return read.kind === 'wrong' ? read.diagnostics : [];
  }

  /** While an argument is unknown, a plan succeeds if it needs no answer from the API. */
  configure(config: TerraformObject, terraformVersion: string): readonly Diagnostic[] {
    const read = readSettings(config, this.#environment);
    if (read.kind === 'wrong') {
      this.#connection.postpone([]);
      return read.diagnostics;
    }
    if (read.kind === 'not-known') this.#connection.postpone(read.names);
    else this.#connection.open(read.settings, this.#optionsFor(terraformVersion));
    return read.kind === 'known' ? plainHttpWarnings(read.settings) : [];
  }

  stop(): void {
    this.#connection.stop();
  }

  #optionsFor(terraformVersion: string): ClientOptions {
    const terraform = /^[\w.+-]{1,50}$/.test(terraformVersion) ? ` terraform/${terraformVersion}` : '';
    return {
      ...this.#clientOptions,
      userAgent: `${TERRAFORM_PROVIDER}/${this.#version}${terraform}`,
    };
  }
}
