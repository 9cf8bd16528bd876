import { type Receiver, startReceiver } from '../receiver.ts';
import type { Vendor } from './vendor.ts';

export type VendorServer = Receiver & {
  /** Breaks every connection until the outage ends. */
  goDown(): void;
  comeBack(): void;
  /** Handles the next request as usual, and delays its answer until the returned function is called. */
  holdNext(): { readonly taken: Promise<void>; release(): void };
};

/** Serves a vendor on a free loopback port. */
export async function serveVendor(vendor: Vendor): Promise<VendorServer> {
  const receiver = await startReceiver();
  let isDown = false;
  let hold: { taken: () => void; until: Promise<void> } | null = null;
  receiver.answerWith((request, response) => {
    if (isDown) {
      response.destroy();
      return;
    }
    const { status, body, headers } = vendor.answer(request);
    const held = hold;
    hold = null;
    held?.taken();
    void (held?.until ?? Promise.resolve()).then(() => {
      response.writeHead(status, headers);
      response.end(typeof body === 'object' ? JSON.stringify(body) : body);
    });
  });
  return {
    ...receiver,
    goDown() {
      isDown = true;
    },
    comeBack() {
      isDown = false;
    },
    holdNext() {
      const taken = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      hold = { taken: taken.resolve, until: released.promise };
      return { taken: taken.promise, release: released.resolve };
    },
  };
}
