import type { PoolSpec, VmTemplate } from '../../api/pool/pool.ts';

export interface Shape {
  /** Two templates of different versions are of different revisions, and a guest has to be restarted for it. */
  version?: number;
  /** Milliseconds. */
  bootMs?: number;
  /** Guests of it come up and never become ready. */
  neverReady?: boolean;
  /** Starts of it fail always. */
  failsToStart?: boolean;
  /** Name of a disk template. */
  disk?: string;
  /** KubeVirt's own choice if left out. */
  machineType?: string;
}

/** A template of VMs that boot in a second. */
export function aTemplate({
  version = 1,
  bootMs = 1_000,
  neverReady = false,
  failsToStart = false,
  disk,
  machineType,
}: Shape = {}): VmTemplate {
  const annotations = {
    'sim.drover.dev/boot-time': `${bootMs}ms`,
    'sim.drover.dev/stop-time': '100ms',
    ...(neverReady ? { 'sim.drover.dev/never-ready': 'true' } : {}),
    ...(failsToStart ? { 'sim.drover.dev/fail-starts': 'always' } : {}),
  };
  const volumes = disk === undefined ? {} : { volumes: [{ name: 'root', dataVolume: { name: disk } }] };
  const disks = disk === undefined ? {} : { devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }] } };
  const machine = machineType === undefined ? {} : { machine: { type: machineType } };
  return {
    spec: {
      runStrategy: 'Always',
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
        metadata: { annotations },
        spec: { domain: { cpu: { cores: version }, ...machine, ...disks }, ...volumes },
      },
    },
  };
}

export const aSpec = (spec: Partial<PoolSpec> = {}): PoolSpec => ({ replicas: 5, template: aTemplate(), ...spec });
