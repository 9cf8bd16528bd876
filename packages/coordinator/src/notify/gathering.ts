import type { ChannelQueue, FoundChannel } from './channel-queue.ts';
import { GROUP_MEMBERS, isGroupable, type Member, mayJoin, messageIdOf } from './groups.ts';
import { type Lane, takeHead } from './lane.ts';
import type { Ledger } from './ledger.ts';
import type { Turns } from './turns.ts';

type Parts = {
  readonly turns: Pick<Turns, 'takeAlong'>;
  readonly ledger: Pick<Ledger, 'heads' | 'joinGroup'>;
  /** Whether the member's delivery is sent, and not left out. */
  readonly isSent: (queue: ChannelQueue, found: FoundChannel, member: Member) => boolean;
  /** The lane's turn comes again. */
  readonly goOn: (queue: ChannelQueue, lane: Lane) => void;
};

/** What goes out in one message. */
export type Group = {
  /** In the order of their alerts. */
  readonly members: readonly Member[];
  /** Id of the message: another one for other alerts. */
  readonly uid: string;
};

/** Gathers the members of a group, whose alerts go out in one message. */
export class Gathering {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * The member with all others of its group that are not being sent. A group that may have arrived stays as it
   * is, and so does its id: a receiver that drops repetitions by it must not drop further alerts with them.
   *
   * @throws StoreError; the other lanes go on by themselves then
   */
  async of(queue: ChannelQueue, found: FoundChannel, first: Member): Promise<Group> {
    const { turns, goOn } = this.#parts;
    const { groupUid } = first.delivery;
    const members = [first];
    const isJoining = (lane: Lane) => mayJoin(lane, first.delivery);
    const join = async () => {
      const lanes = turns.takeAlong(queue, isJoining, GROUP_MEMBERS - members.length);
      const others = await this.#headsOf(queue, found, lanes);
      for (const other of others) {
        if (other.delivery.groupUid === groupUid) members.push(other);
        else goOn(queue, other.lane);
      }
    };
    try {
      await join();
      // Lanes whose turn came together with this one were being sent until their heads were read.
      await queue.allDecided();
      await join();
      members.sort((one, other) => one.delivery.id - other.delivery.id);
      const uid = messageIdOf(members);
      if (groupUid === null && members.length > 1) {
        await this.#parts.ledger.joinGroup(members.map(idOfDelivery), uid);
      }
      return { members, uid };
    } catch (error) {
      for (const { lane } of members.slice(1)) goOn(queue, lane);
      throw error;
    }
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

function idOfDelivery({ delivery }: Member): number {
  return delivery.id;
}
