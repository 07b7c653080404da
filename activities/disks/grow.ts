import { setTimeout as sleep } from 'node:timers/promises';
import { cancellationSignal } from '@temporalio/activity';
import type { KubeObject, Stored } from '../../api/objects.ts';
import { PersistentVolumeClaims } from '../../api/resources.ts';
import { growthOf, requestFor, type GrowingClaim } from '../../decisions/disks/claim-growth.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ActRefused, KubeError, ignoreNotFound } from '../../kubernetes/errors.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';

type Claim = KubeObject & GrowingClaim;

/** A disk of a VM, and the size that it should have. */
interface DiskGrowth {
  name: string;
  /** The size in the VM's previous template. */
  from: string | null;
  to: string;
}

const PAUSE_MS = 1_000;

/**
 * Grows these disks, and resolves when they have grown: while their VMs run if the storage supports that. Throws a
 * `KubeError` that says why if a claim can't grow (its storage class forbids it, or the storage fails, or is not done
 * by `deadline`, in milliseconds since the epoch); the claim loses nothing.
 */
export async function growDisks(
  client: KubeClient,
  namespace: string,
  disks: readonly DiskGrowth[],
  deadline: number,
): Promise<void> {
  for (const disk of disks) await grow(client, namespace, disk, deadline);
}

async function grow(client: KubeClient, namespace: string, disk: DiskGrowth, deadline: number): Promise<void> {
  const claim = await requestSize(client, namespace, disk);
  const request = claim?.spec?.resources?.requests?.['storage'];
  let now = claim;
  // A disk that does not exist yet will be created with its new size.
  while (now !== undefined) {
    const growth = growthOf(now, request);
    if (growth.state === 'grown') return;
    if (growth.state === 'refused') throw refusal(disk, growth.message);
    if (Date.now() >= deadline) throw refusal(disk, growth.message ?? 'it takes too long');
    now = await nextOf(client, now, deadline);
  }
}

/** Requests the new size. Resolves to the claim after that; to undefined if there is none. */
async function requestSize(
  client: KubeClient,
  namespace: string,
  disk: DiskGrowth,
): Promise<Stored<Claim> | undefined> {
  const key = { namespace, name: disk.name };
  const write = async (): Promise<Stored<Claim> | undefined> => {
    const claim = await ignoreNotFound(client.get<Claim>(PersistentVolumeClaims, key));
    const storage = claim && requestFor(claim, disk.from, disk.to);
    if (claim === undefined || storage === null) return claim;
    const { uid, resourceVersion } = claim.metadata;
    const patch = { metadata: { uid, resourceVersion }, spec: { resources: { requests: { storage } } } };
    return client.patch<Claim>(PersistentVolumeClaims, key, 'merge', patch);
  };
  try {
    return await retryOnConflict(write);
  } catch (error) {
    if (error instanceof KubeError && (error.status === 403 || error.status === 422))
      throw refusal(disk, error.message);
    throw error;
  }
}

/** Resolves to the claim after its next change, or at the deadline; to undefined if it was deleted. */
async function nextOf(client: KubeClient, claim: Stored<Claim>, deadline: number): Promise<Stored<Claim> | undefined> {
  const { namespace, name, resourceVersion } = claim.metadata;
  const seconds = Math.max(Math.ceil((deadline - Date.now()) / 1000), 1);
  const query = { fieldSelector: `metadata.name=${name}`, resourceVersion, timeoutSeconds: String(seconds) };
  for await (const { type, object } of client.watch<Claim>(PersistentVolumeClaims, {
    namespace: namespace!,
    query,
    signal: cancellationSignal(),
  })) {
    if (type === 'MODIFIED' || type === 'ADDED') return object;
    if (type === 'DELETED') return undefined;
    if (type === 'ERROR') break;
  }
  if (Date.now() < deadline) await sleep(PAUSE_MS, undefined, { signal: cancellationSignal() });
  return ignoreNotFound(client.get<Claim>(PersistentVolumeClaims, { namespace, name }));
}

const refusal = ({ name, to }: DiskGrowth, message: string): ActRefused =>
  new ActRefused('Invalid', `its disk ${name} does not grow to ${to}: ${message}`);
