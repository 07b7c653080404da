/**
 * Serves many callers with few calls: each caller gets the answer of a call that began after it had asked. Callers that
 * ask while a call is in flight share the next one.
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
