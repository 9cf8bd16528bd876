import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import { GROUP_MEMBERS, isGroupable, type Member, mayJoin } from './groups.ts';
import { type Lane, takeHead } from './lane.ts';
import type { Ledger } from './ledger.ts';
import type { Turns } from './turns.ts';

type Parts = {
  readonly turns: Pick<Turns, 'takeAlong'>;
  readonly ledger: Pick<Ledger, 'heads'>;
  /** Whether the member's delivery is sent, and not left out. */
  readonly isSent: (queue: ChannelQueue, found: FoundChannel, member: Member) => boolean;
  /** The lane's turn comes again. */
  readonly goOn: (queue: ChannelQueue, lane: Lane) => void;
};

/** Gathers the members of a group, whose alerts go out in one message. */
export class Gathering {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The member with all others of its group that are not being sent, in the order of their alerts.
   *
   * @throws StoreError; the other lanes go on by themselves then
   */
  async of(queue: ChannelQueue, found: FoundChannel, first: Member): Promise<Member[]> {
    const { turns, goOn } = this.#parts;
    const members = [first];
    const isJoining = (lane: Lane) => mayJoin(lane, first.delivery.createdAt);
    const join = async () => {
      const lanes = turns.takeAlong(queue, isJoining, GROUP_MEMBERS - members.length);
      members.push(...(await this.#headsOf(queue, found, lanes)));
    };
    try {
      await join();
      // Lanes whose turn came together with this one were being sent until their heads were read.
      await queue.allDecided();
      await join();
    } catch (error) {
      for (const { lane } of members.slice(1)) goOn(queue, lane);
      throw error;
    }
    return members.sort((one, other) => one.delivery.id - other.delivery.id);
  }

  /** The heads of lanes that were taken along. Those that are not of a group go on by themselves. */
  async #headsOf(queue: ChannelQueue, found: FoundChannel, lanes: readonly Lane[]): Promise<Member[]> {
    const { ledger, isSent, goOn } = this.#parts;
    for (const lane of lanes) lane.isWoken = false;
    const heads = await ledger.heads(lanes).catch((error: unknown) => {
      for (const lane of lanes) goOn(queue, lane);
      throw error;
    });
    return lanes.flatMap((lane, index) => {
      const delivery = heads[index] ?? null;
      if (delivery !== null) {
        takeHead(lane, delivery);
        const member = { lane, delivery };
        if (isGroupable(queue, found, lane, delivery) && isSent(queue, found, member)) return [member];
      }
      goOn(queue, lane);
      return [];
    });
  }
}
