/**
 * Few calls for many who ask: each gets the answer of a call that was begun after it had asked. Who asks while one is
 * in flight shares the next with all who ask meanwhile.
 */
export function sharedCall<T>(call: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= current.then(() => {
      next = undefined;
      const answer = call();
      current = answer.catch(() => undefined);
      return answer;
    });
    return next;
  };
}
