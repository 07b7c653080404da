import type { Stored } from '../../api/objects.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { neededReferences, waitingForMissing } from '../../decisions/template/needed-references.ts';
import { REFERENCE_RESOURCES, type OwnReference } from '../../decisions/template/references.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool, StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ignoreKubeError } from '../../kubernetes/errors.ts';

const KINDS = ['Secret', 'ConfigMap'] as const;

/**
 * Returns a sentence for each of these pools whose VMs can't start without Secrets or ConfigMaps that are missing.
 * Nothing that they hold is read, and none is said to be missing by a user who may not list them.
 */
export async function missingReferences(kube: KubeClient, pools: readonly Stored<Pool>[]): Promise<string[]> {
  const lines: string[] = [];
  for (const pool of pools.map(poolView)) {
    const needed = referencesOf(pool);
    for (const kind of KINDS) {
      const ofKind = needed.filter((one) => one.kind === kind);
      if (ofKind.length === 0) continue;
      const there = await namesOf(kube, kind, pool.metadata.namespace);
      const missing = ofKind.filter(({ name }) => there !== undefined && !there.has(name));
      if (missing.length > 0) lines.push(`pool ${pool.metadata.name}: ${waitingForMissing(missing)}`);
    }
  }
  return lines;
}

/** What the pool's VMs need once it has as many as it wants, without gaps in their numbers. */
const referencesOf = (pool: StoredPool): OwnReference[] =>
  neededReferences(
    pool,
    poolTemplate(pool.spec),
    Array.from({ length: pool.spec.replicas }, (_, index) => index + 1),
  );

/** Undefined if they can't be listed. */
async function namesOf(
  kube: KubeClient,
  kind: OwnReference['kind'],
  namespace: string,
): Promise<Set<string> | undefined> {
  const listed = await ignoreKubeError(kube.list(REFERENCE_RESOURCES[kind], { namespace, metadataOnly: true }));
  return listed && new Set(listed.items.map(({ metadata }) => metadata.name));
}
