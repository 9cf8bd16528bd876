/** A handler that keeps what it is given, and a promise of the n-th message. */
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
