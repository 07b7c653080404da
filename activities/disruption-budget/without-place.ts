import { AsyncLocalStorage } from 'node:async_hooks';
import type { Semaphore } from '../../kubernetes/lib/semaphore.ts';

type Wait = <T>(wait: Promise<T>) => Promise<T>;

const waits = new AsyncLocalStorage<Wait>();

/** Acts once there is a place. Calls `onLeft` when the act leaves its place for a wait: others may act meanwhile. */
export async function inPlace<T>(places: Semaphore, onLeft: () => void, act: () => Promise<T>): Promise<T> {
  const wait: Wait = async (one) => {
    places.release();
    onLeft();
    try {
      return await one;
    } finally {
      await places.acquire();
    }
  };
  await places.acquire();
  try {
    return await waits.run(wait, act);
  } finally {
    places.release();
  }
}

/**
 * Awaits what takes time and costs nothing: the act leaves its place, if it has one, to another meanwhile, and takes a
 * place again before it continues.
 */
export const withoutPlace: Wait = (wait) => waits.getStore()?.(wait) ?? wait;
