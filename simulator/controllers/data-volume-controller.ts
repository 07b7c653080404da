import { controllerOf, type OwnerReference, type Stored } from '../../api/objects.ts';
import { ignoreAlreadyExists } from '../../kubernetes/errors.ts';
import { durationOf, isOn, SimulatorAnnotation } from '../objects/annotations.ts';
import { timestamp } from '../objects/conditions.ts';
import type { Claim, DataVolume } from '../objects/kubevirt.ts';
import { isDeleting } from '../objects/vmi.ts';
import { adopt } from '../store/adopt.ts';
import type { Cluster } from '../store/cluster.ts';
import { Controller } from '../store/controller.ts';
import { StageClock } from '../vmi/stage-clock.ts';

type Volume = Stored<DataVolume>;

const PROVISION_MS = 500;

/** Simulates CDI and the storage: each DataVolume gets a bound claim of its name, and is populated after a while. */
export class DataVolumeController extends Controller {
  readonly #clock = new StageClock();

  constructor(cluster: Cluster, concurrency: number) {
    super(cluster, 'DataVolume', concurrency);
    cluster.dataVolumes.subscribe((key, before, after) => {
      if (before !== undefined && after === undefined) this.#clock.forget(before.metadata.uid);
      this.queue.add(key);
    });
    cluster.claims.subscribe((key) => this.queue.add(key));
  }

  protected async reconcile(key: string): Promise<number | undefined> {
    const { client, claims, dataVolumes } = this.cluster;
    const claim = claims.get(key);
    const volume = dataVolumes.get(key);
    if (volume !== undefined && !isDeleting(volume)) {
      if (claim === undefined) await this.#createClaim(volume);
      else if (controllerOf(claim) === undefined && !isDeleting(claim))
        await adopt(this.cluster, claims, claim, ownerOf(volume));
    }
    if (claim !== undefined && !isDeleting(claim)) await this.#bind(claim);
    if (volume === undefined || isDeleting(volume)) return undefined;
    const now = Date.now();
    const { uid, creationTimestamp } = volume.metadata;
    const created = this.#clock.since(uid, 'provisioning', Date.parse(creationTimestamp), now);
    const { wait, status } = provision(volume, claims.get(key), created, now);
    if (status !== undefined) {
      const { namespace, name, resourceVersion } = volume.metadata;
      const patch = { metadata: { resourceVersion }, status };
      dataVolumes.remember(
        await client.patch<DataVolume>(dataVolumes.resource, { namespace, name }, 'merge', patch, {
          subresource: 'status',
        }),
      );
    }
    return wait;
  }

  async #createClaim(volume: Volume): Promise<void> {
    const { client, claims } = this.cluster;
    const made = await ignoreAlreadyExists(client.create<Claim>(claims.resource, claimOf(volume)));
    if (made !== undefined) claims.remember(made);
  }

  /** Binds every claim: the simulator is the only storage here. */
  async #bind(claim: Stored<Claim>): Promise<void> {
    if (claim.status?.phase === 'Bound') return;
    const { client, claims } = this.cluster;
    const { namespace, name, uid } = claim.metadata;
    const key = { namespace, name };
    const volumeName = claim.spec.volumeName ?? `pvc-${uid}`;
    if (claim.spec.volumeName === undefined) {
      claims.remember(await client.patch<Claim>(claims.resource, key, 'merge', { spec: { volumeName } }));
    }
    const { accessModes, resources } = claim.spec;
    const status = { phase: 'Bound', accessModes, capacity: { storage: resources?.requests?.['storage'] ?? '1Gi' } };
    claims.remember(await client.patch<Claim>(claims.resource, key, 'merge', { status }, { subresource: 'status' }));
  }
}

/** Returns the claim that CDI creates for a DataVolume. Naming its volume right away saves a write. */
export function claimOf(volume: Volume): Claim {
  const { namespace, name, uid, labels, annotations } = volume.metadata;
  const { accessModes, resources, storageClassName, volumeMode } = volume.spec.pvc ?? volume.spec.storage ?? {};
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, app: 'containerized-data-importer' },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [ownerOf(volume)],
    },
    spec: {
      accessModes: accessModes ?? ['ReadWriteOnce'],
      resources: { requests: { storage: resources?.requests?.['storage'] ?? '1Gi' } },
      ...(storageClassName === undefined ? {} : { storageClassName }),
      ...(volumeMode === undefined ? {} : { volumeMode }),
      volumeName: `pvc-${uid}`,
    },
  };
}

/** Returns the next status of a DataVolume created at `created`, and the milliseconds until the next change. */
export function provision(
  volume: Volume,
  claim: Claim | undefined,
  created: number,
  now: number,
): { status?: DataVolume['status']; wait?: number } {
  if (volume.status?.phase === 'Succeeded' || volume.status?.phase === 'Failed') return {};
  if (claim?.status?.phase !== 'Bound') return {};
  const due = created + (durationOf(volume.metadata, SimulatorAnnotation.provisionTime) ?? PROVISION_MS);
  const failed = isOn(volume.metadata, SimulatorAnnotation.provisionFails);
  if (now >= due) return { status: statusOf(volume, failed ? 'Failed' : 'Succeeded', now) };
  const status =
    volume.status?.phase === undefined && due - now > 2000 ? { status: statusOf(volume, 'ImportInProgress', now) } : {};
  return { ...status, wait: due - now };
}

function statusOf({ metadata: { name } }: Volume, phase: string, now: number): NonNullable<DataVolume['status']> {
  const time = { lastHeartbeatTime: timestamp(now), lastTransitionTime: timestamp(now) };
  const done = phase === 'Succeeded';
  return {
    phase,
    claimName: name,
    progress: done ? '100.0%' : 'N/A',
    conditions: [
      { type: 'Bound', status: 'True', reason: 'Bound', message: `PVC ${name} Bound`, ...time },
      { type: 'Ready', status: done ? 'True' : 'False', ...(phase === 'Failed' ? { reason: 'Error' } : {}), ...time },
      { type: 'Running', status: phase === 'ImportInProgress' ? 'True' : 'False', ...time },
    ],
  };
}

const ownerOf = ({ metadata: { name, uid } }: Volume): OwnerReference => ({
  apiVersion: 'cdi.kubevirt.io/v1beta1',
  kind: 'DataVolume',
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});
