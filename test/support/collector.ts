/**
 * Makes a handler that keeps all messages. `count(n)` resolves with the messages when at least `n` have come.
 */
export function collector<T>() {
  const messages: T[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let arrived: () => void = () => {};
  return {
    messages,
    handle(message: T) {
      messages.push(message);
      if (messages.length >= wanted) arrived();
    },
    async count(n: number): Promise<T[]> {
      if (messages.length < n) {
        await new Promise<void>((resolve) => {
          wanted = n;
          arrived = resolve;
        });
      }
      return messages;
    },
  };
}
