/** What a command is given of its process. */
export type Surroundings = {
  readonly environment: NodeJS.ProcessEnv;
  /** What the command is for: nothing else is written here. */
  readonly out: Output;
  /** For people. */
  readonly err: Output;
};

export type Output = { write(text: string): unknown; readonly isTTY?: boolean };

export type Command = {
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly help: string;
  /** @throws UsageError, SettingsError, or another Error when it failed */
  run(args: readonly string[], surroundings: Surroundings): Promise<void>;
};
