import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { conditionOf } from '../objects/conditions.ts';
import type { Migration, VirtualMachineInstance } from '../objects/kubevirt.ts';
import { isFinal } from '../objects/vmi.ts';
import type { Store } from '../store/store.ts';
import { isOver } from './migration.ts';

/** On a migration: KubeVirt deletes it only once it has ended. */
export const MIGRATION_FINALIZER = 'kubevirt.io/migrationJobFinalize';
const VMI_NAME_LABEL = 'kubevirt.io/vmi-name';

/** Adds what KubeVirt's admission adds to a new migration. */
export function admitted<T extends Migration>(migration: T): T {
  const { metadata, spec } = migration;
  const labels = { ...metadata.labels, [VMI_NAME_LABEL]: spec.vmiName ?? '' };
  return { ...migration, metadata: { ...metadata, labels, finalizers: [MIGRATION_FINALIZER] } };
}

interface Wanted {
  generateName: string;
  namespace: string | undefined;
  annotations?: Record<string, string>;
}

/** Returns a migration as KubeVirt itself makes them. The API server generates its name. */
export const newMigration = (wanted: Wanted, spec: Migration['spec']): Migration =>
  admitted({ metadata: wanted as unknown as Migration['metadata'], spec });

/** Reads which migration of the VMI has not ended: KubeVirt takes no other until then. */
export async function inFlight(
  client: KubeClient,
  { resource }: Store<Migration>,
  namespace: string,
  vmiName: string,
): Promise<Stored<Migration> | undefined> {
  const labelSelector = `${VMI_NAME_LABEL}=${vmiName}`;
  const { items } = await client.list<Migration>(resource, { namespace, labelSelector });
  return items.find((migration) => !isOver(migration));
}

/**
 * Why KubeVirt's admission refuses a new migration, in its words; undefined if it does not. `other`: of the VMI, in
 * flight.
 */
export function whyRefused(
  { metadata, spec: { vmiName } }: Migration,
  vmi: VirtualMachineInstance | undefined,
  other: Stored<Migration> | undefined,
): string | undefined {
  if (vmi === undefined) return `the VMI "${metadata.namespace}/${vmiName}" does not exist`;
  if (isFinal(vmi)) return 'Cannot migrate VMI in finalized state.';
  const { status, reason, message } = conditionOf(vmi, 'LiveMigratable') ?? {};
  if (status === 'False') return `Cannot migrate VMI, Reason: ${reason}, Message: ${message}`;
  if (other === undefined) return undefined;
  return `in-flight migration detected. Active migration job (${other.metadata.uid}) is currently already in progress for VMI ${vmiName}.`;
}
