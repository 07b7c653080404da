import { durationMs, isDuration } from '../../api/lib/duration.ts';
import type { ObjectMeta } from '../../api/objects.ts';

/** Annotations that control one VM, set on its template or, while it runs, on its VMI; some on other objects. */
export const SimulatorAnnotation = {
  bootTime: 'sim.drover.dev/boot-time',
  stopTime: 'sim.drover.dev/stop-time',
  failStarts: 'sim.drover.dev/fail-starts',
  unschedulable: 'sim.drover.dev/unschedulable',
  imagePullFails: 'sim.drover.dev/image-pull-fails',
  neverReady: 'sim.drover.dev/never-ready',
  migrationTime: 'sim.drover.dev/migration-time',
  migrationFails: 'sim.drover.dev/migration-fails',
  notMigratable: 'sim.drover.dev/not-migratable',
  /** A pod of an earlier migration runs on: KubeVirt begins no other. */
  podLeft: 'sim.drover.dev/pod-left',
  /** `true`: its disk fails, and QEMU pauses it; `false`: it continues. */
  ioError: 'sim.drover.dev/io-error',
  /** Name of a backup of it that runs; empty: that has completed. */
  backup: 'sim.drover.dev/backup',
  /** Name of a node: the VMI is evicted from it. */
  evictFrom: 'sim.drover.dev/evict-from',
  /** The client that evicts it: `descheduler`, or any other value. */
  evictedBy: 'sim.drover.dev/evicted-by',
  /** How long the VMI runs before it ends by itself. */
  runTime: 'sim.drover.dev/run-time',
  /** How it ends then: `Succeeded` (a shutdown, the default), `Failed` (a crash) or `PodGone` (its pod is lost). */
  runEnd: 'sim.drover.dev/run-end',
  /** On a DataVolume (template): how long it takes to populate. */
  provisionTime: 'sim.drover.dev/provision-time',
  /** On a DataVolume (template): populating it fails. */
  provisionFails: 'sim.drover.dev/provision-fails',
  /** On a DataVolume (template): how long its claim takes to grow, and whether growing fails. */
  growTime: 'sim.drover.dev/grow-time',
  growFails: 'sim.drover.dev/grow-fails',
  /** On a DataVolume, or a claim without one: VMIs that boot from now on with this disk fail to start. */
  corrupt: 'sim.drover.dev/corrupt',
  /** On a Node: it no longer answers. */
  lost: 'sim.drover.dev/lost',
  /** On a Node: its VMIs are evicted. */
  drain: 'sim.drover.dev/drain',
} as const;

/** On a VM: the value of `fail-starts` that it has been through, so that later starts of the same template succeed. */
export const FAIL_STARTS_DONE = 'sim.drover.dev/fail-starts-done';
/** On a VMI: hashes of the template that it was started from. */
export const STARTED_FROM = 'sim.drover.dev/started-from';

type SimulatorAnnotations = typeof SimulatorAnnotation;
type Name = SimulatorAnnotations[keyof SimulatorAnnotations];

/** Parses `1s`, `500ms`, `1m30s` or a bare number of seconds into milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  return isDuration(text) ? durationMs(text) : undefined;
}

/** Returns the annotation's duration in milliseconds; undefined if it is missing or invalid. */
export function durationOf(metadata: ObjectMeta, name: Name): number | undefined {
  const text = metadata.annotations?.[name];
  return text === undefined ? undefined : parseDuration(text);
}

export const isOn = (metadata: ObjectMeta, name: Name): boolean => metadata.annotations?.[name] === 'true';

/** Returns how many starts fail before one succeeds; `Infinity` for `always`. */
export function failingStarts(metadata: ObjectMeta): number {
  const text = metadata.annotations?.[SimulatorAnnotation.failStarts];
  if (text === 'always') return Infinity;
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : 0;
}
