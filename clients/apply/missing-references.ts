import type { Stored } from '../../api/objects.ts';
import { formatNames } from '../../decisions/lib/names.ts';
import { ownReferences, REFERENCE_RESOURCES, type OwnReference } from '../../decisions/template/references.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import { vmFromTemplate } from '../../decisions/template/vm-from-template.ts';
import type { StoredPool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeError } from '../../kubernetes/errors.ts';
import type { Pool } from '../pool/objects.ts';

const KINDS = ['Secret', 'ConfigMap'] as const;

/**
 * Returns a sentence for each of these pools whose VMs are to have Secrets or ConfigMaps of their own that are missing.
 * Nothing that they hold is read, and none is said to be missing by a person who may not list them.
 */
export async function missingReferences(kube: KubeClient, pools: readonly Stored<Pool>[]): Promise<string[]> {
  const lines: string[] = [];
  for (const pool of pools as readonly StoredPool[]) {
    const own = referencesOf(pool);
    for (const kind of KINDS) {
      const names = own.filter((one) => one.kind === kind).map(({ name }) => name);
      if (names.length === 0) continue;
      const there = await namesOf(kube, kind, pool.metadata.namespace);
      const missing = names.filter((name) => there !== undefined && !there.has(name));
      if (missing.length > 0) lines.push(sentence(pool, kind, missing));
    }
  }
  return lines;
}

/** What the pool's VMs have for themselves once it has as many as it wants, without gaps in their numbers. */
function referencesOf(pool: StoredPool): OwnReference[] {
  const template = poolTemplate(pool.spec);
  if (template.nameGeneration === undefined) return [];
  return Array.from({ length: pool.spec.replicas }, (_, index) =>
    ownReferences(vmFromTemplate(pool, template, index + 1).spec, template.nameGeneration),
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
      ? [kind, 'is', 'its VM waits until it is']
      : [`${kind}s`, 'are', 'their VMs wait until they are'];
  return `pool ${metadata.name}: ${what} ${formatNames(missing)} ${are} missing: ${they} there`;
}
