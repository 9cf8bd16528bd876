import { heartbeatSubject } from '@svc/shared/messages/subjects.ts';
import type {
  Bus,
  BusMessage,
  BusSubscription,
  HeartbeatReading,
  PublishOptions,
  StreamMessage,
  SubscribeOptions,
} from '@svc/shared/nats/bus.ts';
import { BusDisconnected } from '@svc/shared/nats/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';

type Subscription = { pattern: RegExp; handler: (message: BusMessage) => void; queue: string | undefined };

/**
 * A bus inside the process, for tests of timing under a fake clock. Messages arrive in order in a later
 * microtask, and nothing is kept while disconnected. Other tests cover the behaviour of NATS with NATS.
 */
export class MemoryBus implements Bus {
  readonly #subscriptions = new Set<Subscription>();
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  #queue: { subject: string; data: Uint8Array; reply: string }[] = [];
  #turn = 0;
  #inboxes = 0;
  #frozen: (() => void)[] | null = null;
  isConnected = true;
  /** Regions whose streams of heartbeats were created again. */
  readonly madeAnew: Region[] = [];
  /** Number of the server that leads the streams of heartbeats. */
  leader = 1;
  /** Every message that was published, oldest first. */
  readonly published: { subject: string; text: string }[] = [];
  /** Whether {@link published} is kept. */
  remembers = true;

  publish(subject: string, data: Uint8Array | string, options: PublishOptions = {}): void {
    if (!this.isConnected) throw new BusDisconnected();
    const bytes = Buffer.from(data);
    if (this.remembers) this.published.push({ subject, text: bytes.toString() });
    this.#queue.push({ subject, data: bytes, reply: options.reply ?? '' });
    if (this.#queue.length === 1) queueMicrotask(() => this.#deliver());
  }

  subscribe(
    subject: string,
    handler: (message: BusMessage) => void,
    options: SubscribeOptions = {},
  ): BusSubscription & { drain(): Promise<void> } {
    const pattern = new RegExp(`^${subject.replaceAll('.', '\\.').replaceAll('*', '[^.]+')}$`);
    const subscription: Subscription = { pattern, handler, queue: options.queue };
    this.#subscriptions.add(subscription);
    const close = (): void => {
      this.#subscriptions.delete(subscription);
    };
    return { close, drain: async () => close() };
  }

  /** Does nothing: this bus has no bound on what is on the way. */
  expectRegions(): void {}

  /**
   * Reads heartbeats. Unlike in NATS, messages from before the
   * reading are not kept, and none is lost while a handler works.
   */
  async readHeartbeats(
    region: Region,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
    isAnew = false,
  ): Promise<HeartbeatReading> {
    await Promise.resolve();
    if (isAnew) this.madeAnew.push(region);
    if (!this.isConnected) throw new BusDisconnected();
    let sequence = 0;
    const subscription = this.subscribe(heartbeatSubject(region, '*'), ({ subject, data }) => {
      sequence += 1;
      void handler({ sequence, subject, data, time: 0, messageId: '' });
    });
    const stopListening = this.onConnection((isConnected) => {
      if (isConnected) return;
      void close();
      onEnd(new BusDisconnected());
    });
    const close = async (): Promise<void> => {
      subscription.close();
      stopListening();
    };
    const { leader } = this;
    return { close, isGapless: async () => this.leader === leader };
  }

  /** Removes nothing: this bus has no streams. */
  async removeOtherHeartbeats(): Promise<Region[]> {
    return [];
  }

  /** Lets messages wait until {@link thaw}, like messages in a socket while the event loop stands still. */
  freeze(): void {
    this.#frozen = [];
  }

  thaw(): void {
    const waiting = this.#frozen ?? [];
    this.#frozen = null;
    this.#deliver();
    for (const resolve of waiting) resolve();
  }

  async flush(): Promise<void> {
    if (!this.isConnected) throw new BusDisconnected();
    if (this.#frozen !== null) await new Promise<void>((resolve) => this.#frozen?.push(resolve));
    await Promise.resolve();
  }

  inbox(): string {
    this.#inboxes += 1;
    return `_INBOX.${this.#inboxes}`;
  }

  onConnection(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  setConnected(isConnected: boolean): void {
    this.isConnected = isConnected;
    if (!isConnected) this.#queue = [];
    for (const listener of this.#listeners) listener(isConnected);
  }

  async close(): Promise<void> {
    this.#subscriptions.clear();
  }

  #deliver(): void {
    if (this.#frozen !== null) return;
    const messages = this.#queue;
    this.#queue = [];
    for (const { subject, data, reply } of messages) {
      const message = { subject, data, reply, bytes: data.length, isNoResponders: false };
      const receivers = this.#receiversOf(subject);
      for (const { handler } of receivers) handler(message);
      if (receivers.length > 0 || reply === '') continue;
      const answer = { subject: reply, data: new Uint8Array(0), reply: '', bytes: 0, isNoResponders: true };
      for (const { handler } of this.#receiversOf(reply)) handler(answer);
    }
  }

  /** The receivers of a message: all plain subscriptions, and one member of each queue group in turn. */
  #receiversOf(subject: string): Subscription[] {
    const matching = [...this.#subscriptions].filter(({ pattern }) => pattern.test(subject));
    const plain = matching.filter(({ queue }) => queue === undefined);
    const groups = Map.groupBy(
      matching.filter(({ queue }) => queue !== undefined),
      ({ queue }) => queue,
    );
    this.#turn += 1;
    for (const members of groups.values()) {
      const member = members[this.#turn % members.length];
      if (member !== undefined) plain.push(member);
    }
    return plain;
  }
}
