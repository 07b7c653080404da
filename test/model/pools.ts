import type { PoolSpec, StepCheck, VmTemplate } from '../../api/pool/pool.ts';
import { PROMETHEUS } from './world/names.ts';

export interface Shape {
  /** Templates of different versions have different revisions, and VMs need a restart for the change. */
  version?: number;
  /** Milliseconds. */
  bootMs?: number;
  stopMs?: number;
  /** Its VMs run, but never become ready. */
  neverReady?: boolean;
  /** Its VMs always fail to start. */
  failsToStart?: boolean;
  /** Name of a disk template. */
  disk?: string;
  /** Its VMs have a TPM whose state outlives their VMIs. */
  tpm?: boolean;
  /** KubeVirt's default if left out. */
  machineType?: string;
  sockets?: number;
  memory?: string;
  runStrategy?: string;
  /** A label of its VMIs, which their pods get as they are made. */
  tier?: string;
  /** How long its VMs take to migrate; by default as the simulator has it. */
  migrationMs?: number;
  /** How long the guest may take to shut down; by default as KubeVirt has it. */
  graceSeconds?: number;
}

/** A template of VMs that boot in a second by default. */
export function aTemplate({
  version = 1,
  bootMs = 1_000,
  stopMs = 100,
  neverReady = false,
  failsToStart = false,
  disk,
  tpm = false,
  machineType,
  sockets,
  memory,
  runStrategy = 'Always',
  tier,
  migrationMs,
  graceSeconds,
}: Shape = {}): VmTemplate {
  const annotations = {
    'sim.drover.dev/boot-time': `${bootMs}ms`,
    'sim.drover.dev/stop-time': `${stopMs}ms`,
    ...(migrationMs === undefined ? {} : { 'sim.drover.dev/migration-time': `${migrationMs}ms` }),
    ...(neverReady ? { 'sim.drover.dev/never-ready': 'true' } : {}),
    ...(failsToStart ? { 'sim.drover.dev/fail-starts': 'always' } : {}),
  };
  const volumes = disk === undefined ? {} : { volumes: [{ name: 'root', dataVolume: { name: disk } }] };
  const devices = {
    ...(disk === undefined ? {} : { disks: [{ name: 'root', disk: { bus: 'virtio' } }] }),
    ...(tpm ? { tpm: { persistent: true } } : {}),
  };
  const disks = Object.keys(devices).length === 0 ? {} : { devices };
  const size = {
    cpu: { cores: version, ...(sockets === undefined ? {} : { sockets }) },
    ...(memory === undefined ? {} : { memory: { guest: memory } }),
  };
  const grace = graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds };
  const machine = machineType === undefined ? {} : { machine: { type: machineType } };
  return {
    spec: {
      runStrategy,
      ...(disk === undefined
        ? {}
        : {
            dataVolumeTemplates: [
              {
                metadata: { name: disk },
                spec: { storage: { resources: { requests: { storage: '1Gi' } } }, source: { blank: {} } },
              },
            ],
          }),
      template: {
        metadata: { ...(tier === undefined ? {} : { labels: { tier } }), annotations },
        spec: { domain: { ...size, ...machine, ...disks }, ...volumes, ...grace },
      },
    },
  };
}

/** A check that holds if the Prometheus of the model answers 1. */
export const aCheck = (fields: Partial<StepCheck> = {}): StepCheck => ({
  prometheus: { address: PROMETHEUS, query: 'up', min: 1 },
  holdsFor: '30s',
  every: '10s',
  deadline: '3m',
  ...fields,
});

export const aSpec = (spec: Partial<PoolSpec> = {}): PoolSpec => ({ replicas: 5, template: aTemplate(), ...spec });

/** The same of VMs whose disk comes from another source, so that it has to be made again. */
export function fromAnotherSource(shape: Shape): VmTemplate {
  const template = aTemplate(shape);
  for (const { spec } of template.spec.dataVolumeTemplates ?? []) {
    Object.assign(spec as object, { source: { pvc: { namespace: 'images', name: 'second' } } });
  }
  return template;
}
