import { AsyncLocalStorage } from 'node:async_hooks';

type Wait = <T>(wait: Promise<T>) => Promise<T>;

const places = new AsyncLocalStorage<Wait>();

/** Acts in one of few places, which `wait` leaves to others for as long as the act waits. */
export const inPlace = <T>(wait: Wait, act: () => Promise<T>): Promise<T> => places.run(wait, act);

/** Awaits what takes time and costs nothing: the act leaves its place, if it has one, to another meanwhile. */
export const withoutPlace: Wait = (wait) => places.getStore()?.(wait) ?? wait;
