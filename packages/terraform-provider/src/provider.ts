import type { Schema } from './schema.ts';
import type { TerraformObject } from './value.ts';

/** A step into a value: the name of an attribute or block, the index of a list's member, or a map's key. */
export type PathStep = string | number | { readonly key: string };
export type AttributePath = readonly PathStep[];

/**
 * A message for the user, with a place in the configuration if it concerns one. It never contains a secret.
 */
export type Diagnostic = {
  readonly severity: 'error' | 'warning';
  readonly summary: string;
  readonly detail: string;
  readonly path?: AttributePath;
};

/** The provider as the plug-in protocol uses it. Nothing here depends on gRPC or its messages. */
export interface Provider {
  readonly schema: Schema;
  readonly resources: Readonly<Record<string, ManagedResource>>;
  readonly dataSources: Readonly<Record<string, DataSource>>;
  /** Validates the configuration of the provider, whose values may be unknown. */
  validate(config: TerraformObject): readonly Diagnostic[];
  /**
   * Sets up the connection. It is called before any other call
   * that reaches the API. Values may be unknown during a plan.
   */
  configure(config: TerraformObject, terraformVersion: string): readonly Diagnostic[];
  /** Handles Ctrl-C. Waits and reads are given up. A write in progress may finish within its deadline. */
  stop(): void;
}

export type PlanRequest = {
  /** State before the change; null: the object is to be created. */
  readonly prior: TerraformObject | null;
  /** Terraform's merge of `prior` and `config`; null: the object is to be removed. */
  readonly proposed: TerraformObject | null;
  readonly config: TerraformObject | null;
};

export type Plan = {
  readonly planned: TerraformObject | null;
  /** Attributes whose change requires a new object. */
  readonly replaces: readonly AttributePath[];
  readonly diagnostics: readonly Diagnostic[];
};

/**
 * Result of a call. If `state` is null, the object does not exist.
 * If there are errors, `state` is what exists in spite of them.
 */
export type Outcome = {
  readonly state: TerraformObject | null;
  readonly diagnostics: readonly Diagnostic[];
  /** The workspace of the object; Terraform keeps it beside the state. */
  readonly workspace?: string | null;
};

/** Features that the calling version of Terraform supports. */
export type TerraformClient = { readonly allowsWriteOnly: boolean };

/**
 * One type of resource. The methods that return a promise may call the API, and never reject: errors become
 * diagnostics.
 */
export interface ManagedResource {
  readonly schema: Schema;
  /**
   * Validates a configuration, in which any value may be unknown.
   * Rules that depend on an unknown value are not applied.
   */
  validate(config: TerraformObject, client: TerraformClient): readonly Diagnostic[];
  plan(request: PlanRequest): Plan;
  /** Problems that would make the apply fail and that only the API can find. The plan reports them. */
  obstacles(planned: TerraformObject, isCreation: boolean): Promise<readonly Diagnostic[]>;
  /** @param config contains the write-only values, which a plan does not contain; left out: there are none */
  create(planned: TerraformObject, config?: TerraformObject): Promise<Outcome>;
  /** @param workspace the `workspace` of the outcome that the state came from; null: it is not known */
  read(state: TerraformObject, workspace?: string | null): Promise<Outcome>;
  update(prior: TerraformObject, planned: TerraformObject, config?: TerraformObject): Promise<Outcome>;
  remove(prior: TerraformObject): Promise<Outcome>;
  /** Returns a state that contains only the ids in `id`. Terraform then reads the object. */
  import(id: string): Outcome;
}

export interface DataSource {
  readonly schema: Schema;
  validate(config: TerraformObject): readonly Diagnostic[];
  read(config: TerraformObject): Promise<Outcome>;
}
