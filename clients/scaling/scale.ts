import type { KubeObject, Stored } from '../../api/objects.ts';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import { retryOnConflict } from '../../kubernetes/retry.ts';
import { Failure } from '../cli/failure.ts';
import { countOf, type OwnerKind } from '../cli/kinds.ts';
import type { DryRun } from '../cli/parse-values.ts';

interface ScaleOptions {
  replicas: number;
  /** Scale only if this is the number in the spec now. */
  currentReplicas?: number;
  dryRun: DryRun;
}

interface Scale extends KubeObject {
  spec: { replicas?: number };
}

/** Field manager of the numbers that users set by `drover scale`. */
export const SCALE_MANAGER = 'drover-scale';

/** Of another try, in milliseconds: a worker that writes the status at that moment is not a reason to fail. */
export const PAUSE_MS = 100;

/** Throws `Failure` if an object does not want the number of members that a user takes it to want. */
export function checkCurrent(kind: OwnerKind, name: string, current: number, expected: number | undefined): void {
  if (expected === undefined || current === expected) return;
  throw new Failure(`${kind.noun} ${name} wants ${countOf(kind, current)}, not ${expected}: left as it is`);
}

/**
 * Sets the number of members by the scale subresource, as `kubectl scale` and autoscalers do. Returns the number that
 * was wanted before.
 */
export async function scale(kube: KubeClient, kind: OwnerKind, key: ObjectKey, options: ScaleOptions): Promise<number> {
  const { replicas, currentReplicas, dryRun } = options;
  const { resource } = kind;
  const write = async (): Promise<number> => {
    const now: Stored<Scale> = await kube.get(resource, key, { subresource: 'scale' });
    const before = now.spec.replicas ?? 0;
    checkCurrent(kind, key.name, before, currentReplicas);
    if (dryRun === 'client') return before;
    // With `currentReplicas`, the number must still be what was read; otherwise the last writer wins.
    const { resourceVersion } = now.metadata;
    const metadata = currentReplicas === undefined ? {} : { metadata: { resourceVersion } };
    const how = { subresource: 'scale', dryRun: dryRun === 'server', fieldManager: SCALE_MANAGER };
    await kube.patch(resource, key, 'merge', { ...metadata, spec: { replicas } }, how);
    return before;
  };
  return retryOnConflict(write, { pauseMs: () => PAUSE_MS });
}
