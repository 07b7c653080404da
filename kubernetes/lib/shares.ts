import type { Share } from './semaphore.ts';

/** Reads are never held up by admission webhooks; each write may be, for 30 seconds. */
const OF_WRITES = 3 / 4;
/** A webhook may be slow in one namespace alone, */
const OF_NAMESPACE = 5 / 8;
/** and for one kind alone: the status of pools is written while all creates of VMs hang. */
const OF_KIND = 1 / 2;

/**
 * Returns how much of the connections a call may use together with calls of its kind: so that writes that webhooks hold
 * up leave some to reads, by which it is known whether the API server answers, and to other writes.
 */
export function sharesOf({ method, path }: { method: string; path: string }, connections: number): Share[] {
  if (method === 'GET') return [];
  const [kind = '', namespace = ''] = /^.*\/namespaces\/([^/?]+)\/[^/?]+/.exec(path) ?? [];
  return [
    { name: 'writes', most: partOf(connections, OF_WRITES) },
    { name: `writes in ${namespace}`, most: partOf(connections, OF_NAMESPACE) },
    { name: `writes to ${kind}`, most: partOf(connections, OF_KIND) },
  ];
}

const partOf = (connections: number, part: number): number => Math.max(Math.floor(connections * part), 1);
