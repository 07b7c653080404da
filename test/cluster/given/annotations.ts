import { parseDuration } from '../../../simulator/objects/annotations.ts';
import { entriesIn } from '../entries.ts';
import type { GivenCluster } from './given.ts';
import { lackOf } from './needs.ts';

const PREFIX = 'sim.drover.dev/';
/** The cluster determines how long a VMI takes; shorter times than this only speed tests up. In milliseconds. */
const SLOW_MS = 3_000;

/**
 * Returns why a cluster with real KubeVirt can't do what these annotations ask of the simulator; undefined if it can,
 * or need not.
 */
export function beyond(given: GivenCluster, object: unknown): string | undefined {
  for (const [name, value] of annotationsIn(object)) {
    const reason = reasonFor(given, name, value);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Reports whether an object or a patch sets this simulator annotation to `true`. */
export const asksFor = (object: unknown, name: string): boolean =>
  [...annotationsIn(object)].some(([key, value]) => key === name && value === 'true');

/** Yields every simulator annotation, without its prefix, anywhere in an object or a patch. */
function* annotationsIn(value: unknown): Generator<[name: string, value: unknown]> {
  for (const [name, inner] of entriesIn(value)) if (name.startsWith(PREFIX)) yield [name.slice(PREFIX.length), inner];
}

function reasonFor(given: GivenCluster, name: string, value: unknown): string | undefined {
  switch (name) {
    case 'boot-time':
    case 'stop-time':
      return typeof value === 'string' && (parseDuration(value) ?? 0) > SLOW_MS
        ? `its VMIs take ${value} to ${name === 'boot-time' ? 'boot' : 'stop'}`
        : undefined;
    case 'provision-time':
    case 'provision-fails':
      return undefined;
    // Deleting launcher pods reproduces these.
    case 'fail-starts':
    case 'corrupt':
    case 'run-time':
      return undefined;
    case 'run-end':
      return value === 'Failed' || value === 'PodGone' || value === null ? undefined : 'its VMIs shut themselves down';
    case 'never-ready':
      return given.hasStandIn ? undefined : 'its VMIs run and are not ready';
    // The stand-in plays these, as far as it plays live migrations at all.
    case 'not-migratable':
    case 'migration-time':
    case 'migration-fails':
      if (given.lacks.includes('live migration')) return lackOf('live migration');
      return given.hasStandIn ? undefined : 'its VMIs migrate slowly, or not';
    default:
      return `it asks the simulator for ${PREFIX}${name}`;
  }
}
