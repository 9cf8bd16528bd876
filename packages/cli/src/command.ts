/** The parts of the process that a command uses. */
export type Surroundings = {
  readonly environment: NodeJS.ProcessEnv;
  /** The command's output, and nothing else. */
  readonly out: Output;
  /** Messages for people. */
  readonly err: Output;
  /** Standard input; left out: there is none. */
  readonly input?: AsyncIterable<unknown> & { readonly isTTY?: boolean };
};

export type Output = { write(text: string): unknown; readonly isTTY?: boolean };

export type Command = {
  readonly help: string;
  /** @throws UsageError, SettingsError, or another Error when the command failed */
  run(args: readonly string[], surroundings: Surroundings): Promise<void>;
};
