import type { Schema } from './schema.ts';
import type { TerraformObject } from './value.ts';

/** A step into a value: the name of an attribute or block, the index of a list's member, or a map's key. */
export type PathStep = string | number | { readonly key: string };
export type AttributePath = readonly PathStep[];

/** Something to tell the user, with the place in the configuration where there is one. Never holds a secret. */
export type Diagnostic = {
  readonly severity: 'error' | 'warning';
  readonly summary: string;
  readonly detail: string;
  readonly path?: AttributePath;
};

/** What the plug-in protocol offers Terraform. Nothing here knows of gRPC or its messages. */
export interface Provider {
  readonly schema: Schema;
  readonly resources: Readonly<Record<string, ManagedResource>>;
  readonly dataSources: Readonly<Record<string, DataSource>>;
  /** Values may be unknown. */
  validate(config: TerraformObject): readonly Diagnostic[];
  /** Before any other call that reaches the API; values may be unknown during a plan. */
  configure(config: TerraformObject, terraformVersion: string): readonly Diagnostic[];
  /** Ctrl-C: waits and reads are given up, a write under way is finished within its deadline. */
  stop(): void;
}

export type PlanRequest = {
  /** Null: it is to be created. */
  readonly prior: TerraformObject | null;
  /** Terraform's merge of prior and config. Null: it is to be removed. */
  readonly proposed: TerraformObject | null;
  readonly config: TerraformObject | null;
};

export type Plan = {
  readonly planned: TerraformObject | null;
  /** Attributes whose change makes a new object. */
  readonly replaces: readonly AttributePath[];
  readonly diagnostics: readonly Diagnostic[];
};

/** `state` null: the object is not there. With errors, what is known to be there all the same. */
export type Outcome = {
  readonly state: TerraformObject | null;
  readonly diagnostics: readonly Diagnostic[];
  /** Whose object it is; Terraform keeps it beside the state. */
  readonly workspace?: string | null;
};

/** What the Terraform that asks is able to do. */
export type TerraformClient = { readonly allowsWriteOnly: boolean };

/** One type of resource. All but `validate` and `plan` reach the API, and never reject: what goes wrong is a diagnostic. */
export interface ManagedResource {
  readonly schema: Schema;
  /** `config` may hold unknown values anywhere; what depends on them is not judged. */
  validate(config: TerraformObject, client: TerraformClient): readonly Diagnostic[];
  plan(request: PlanRequest): Plan;
  /** What would keep every creation from succeeding, told while it is only planned. */
  creatable(): Promise<readonly Diagnostic[]>;
  /** @param config holds the write-only values, which a plan has not; without it there are none */
  create(planned: TerraformObject, config?: TerraformObject): Promise<Outcome>;
  /** @param workspace of the outcome that the state comes from; null when that is not known */
  read(state: TerraformObject, workspace?: string | null): Promise<Outcome>;
  update(prior: TerraformObject, planned: TerraformObject, config?: TerraformObject): Promise<Outcome>;
  remove(prior: TerraformObject): Promise<Outcome>;
  /** What the id says by itself; Terraform reads the rest. */
  import(id: string): Outcome;
}

export interface DataSource {
  readonly schema: Schema;
  validate(config: TerraformObject): readonly Diagnostic[];
  read(config: TerraformObject): Promise<Outcome>;
}
