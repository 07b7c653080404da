import type { Stored } from '../../api/objects.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { REFERENCE_RESOURCES, requiredReferences, type OwnReference } from '../../decisions/template/references.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import { poolView } from '../../decisions/views/from-object/owner.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Pool } from '../pool/objects.ts';

const KINDS = ['Secret', 'ConfigMap'] as const;

/**
 * Returns a sentence for each of these pools whose VMs can't start without Secrets or ConfigMaps that are missing.
 * Nothing that they hold is read, and none is said to be missing by a person who may not list them.
 */
export async function missingReferences(kube: KubeClient, pools: readonly Stored<Pool>[]): Promise<string[]> {
  const lines: string[] = [];
  for (const pool of pools.map(poolView)) {
    const needed = referencesOf(pool);
    for (const kind of KINDS) {
      const names = [...new Set(needed.filter((one) => one.kind === kind).map(({ name }) => name))];
      if (names.length === 0) continue;
      const there = await namesOf(kube, kind, pool.metadata.namespace);
      const missing = names.filter((name) => there !== undefined && !there.has(name));
      if (missing.length > 0) lines.push(sentence(pool, kind, missing));
    }
  }
  return lines;
}

/** What the pool's VMs need once it has as many as it wants, without gaps in their numbers. */
function referencesOf(pool: StoredPool): OwnReference[] {
  const template = poolTemplate(pool.spec);
  // Without it, all need the same.
  const length = template.nameGeneration === undefined ? Math.min(pool.spec.replicas, 1) : pool.spec.replicas;
  return Array.from({ length }, (_, index) =>
    requiredReferences(vmFromTemplate(pool, template, index + 1).spec),
  ).flat();
}

/** Undefined if they can't be listed. */
async function namesOf(
  kube: KubeClient,
  kind: OwnReference['kind'],
  namespace: string,
): Promise<Set<string> | undefined> {
  try {
    const { items } = await kube.list(REFERENCE_RESOURCES[kind], { namespace, metadataOnly: true });
    return new Set(items.map(({ metadata }) => metadata.name));
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

function sentence({ metadata }: StoredPool, kind: OwnReference['kind'], missing: readonly string[]): string {
  const [what, are, they] =
    missing.length === 1
      ? [kind, 'is', 'VMs that need it wait until it is']
      : [`${kind}s`, 'are', 'VMs that need them wait until they are'];
  return `pool ${metadata.name}: ${what} ${formatNames(missing)} ${are} missing: ${they} there`;
}
