import { DatabaseSync } from 'node:sqlite';
import { type Receiver, startReceiver } from '../support/receiver.ts';

/** The alerts that a webhook received. */
type Alert = { monitor: { id: number }; cronTimestamp: number };

/**
 * A webhook that checks, when an alert arrives, whether the change of status is in the database file. With a
 * write-ahead log a reader sees a transaction only after its fsync.
 */
export class Announcements {
  readonly receiver: Receiver;
  /** Number of alerts so far. */
  count = 0;
  /** Number of alerts that came before the file had their change. */
  early = 0;
  readonly #database: () => DatabaseSync;
  #connection: DatabaseSync | null = null;

  private constructor(receiver: Receiver, databasePath: () => string) {
    this.receiver = receiver;
    this.#database = () => {
      this.#connection ??= new DatabaseSync(databasePath(), { readOnly: true, timeout: 5_000 });
      return this.#connection;
    };
    receiver.answerWith((request, response) => {
      this.#told(request.json as Alert);
      response.end();
    });
  }

  /** @param databasePath returns the path of the database. It is called at the first alert */
  static async start(databasePath: () => string): Promise<Announcements> {
    return new Announcements(await startReceiver(), databasePath);
  }

  async close(): Promise<void> {
    this.#connection?.close();
    await this.receiver.close();
  }

  #told({ monitor, cronTimestamp }: Alert): void {
    this.count += 1;
    const change = this.#database()
      .prepare('SELECT 1 FROM transitions WHERE monitor_id = ? AND slot = ?')
      .get(monitor.id, cronTimestamp);
    if (change === undefined) this.early += 1;
  }
}
