import { once } from 'node:events';

/** Resolves as the promise does. Throws the signal's reason if it is aborted first. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return Promise.race([promise, once(signal, 'abort').then(() => Promise.reject(signal.reason as Error))]);
}
