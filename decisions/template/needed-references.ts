import { formatNames } from '../lib/names.ts';
import type { StoredPool } from '../views/pool.ts';
import { requiredReferences, type OwnReference } from './references.ts';
import type { PoolTemplate } from './template.ts';
import { vmFromTemplate } from './vm-from-template.ts';

/** Returns the Secrets and ConfigMaps that the pool's VMs of these numbers can't start without, each once. */
export function neededReferences(pool: StoredPool, template: PoolTemplate, numbers: readonly number[]): OwnReference[] {
  // Without numbers in their names, all VMs need the same.
  const shown = template.nameGeneration === undefined ? numbers.slice(0, 1) : numbers;
  const all = shown.flatMap((number) => requiredReferences(vmFromTemplate(pool, template, number).spec));
  return [...new Map(all.map((reference) => [`${reference.kind}/${reference.name}`, reference])).values()];
}

/** `Secrets key-1, key-2 and ConfigMap settings are missing`. Expects at least one. */
export function formatMissing(missing: readonly OwnReference[]): string {
  const kinds = [...Map.groupBy(missing, ({ kind }) => kind)].map(
    ([kind, ofKind]) => `${kind}${ofKind.length === 1 ? '' : 's'} ${formatNames(ofKind.map(({ name }) => name))}`,
  );
  return `${kinds.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`;
}

/** Says of these claims that a restart would lose them. */
export const formatBeingDeleted = (claims: readonly string[]): string =>
  claims.length === 1
    ? `PersistentVolumeClaim ${claims[0]} is being deleted, and its data are lost when the VMI stops`
    : `PersistentVolumeClaims ${formatNames(claims)} are being deleted, and their data are lost when the VMI stops`;

/** Says which are missing, and what follows for VMs that are yet to be created. */
export const waitingForMissing = (missing: readonly OwnReference[]): string =>
  `${formatMissing(missing)}: VMs that need ${missing.length === 1 ? 'it wait until it is' : 'them wait until they are'} there`;
