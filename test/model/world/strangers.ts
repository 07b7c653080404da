import { KEPT_DISK, POOL_LABEL, PROTECT_ANNOTATION, REVISION_LABEL } from '../../../api/labels-and-annotations.ts';
import type { KubeObject, OwnerReference, Stored } from '../../../api/objects.ts';
import type { Resource } from '../../../api/resources.ts';
import type { VirtualMachine } from '../../../decisions/from-object/vm.ts';
import { scatter } from '../../../decisions/lib/scatter.ts';
import { keptDiskMetadata } from '../../../decisions/template/kept-disk.ts';
import { migrationName } from '../../../decisions/views/evacuation.ts';
import { frozen } from './frozen.ts';

/** A namespace whose users put into their objects whatever they like. No pool or set is in it. */
export const STRANGERS = 'strangers';

type Pools = () => readonly Stored[];
type Forge = (object: Stored, form: number, pools: Pools) => KubeObject | null;

/** How they make their own of an object. Kinds that are missing here, they have none of. */
const FORGED: Record<string, Forge> = {
  virtualmachines: forgedVm,
  virtualmachineinstances: forgedVmi,
  virtualmachineinstancemigrations: forgedMigration,
  persistentvolumeclaims: forgedClaim,
  controllerrevisions: forgedRevision,
};

const FORMS = 6;

/**
 * Returns what strangers have made after an object: of the same version, so that whoever watches hears of nothing
 * else; of the same UID or another, with the same owners, labels and marks, or with worse. The same object always has
 * a double of the same name. Null if they have none.
 */
export function doubleOf({ plural }: Resource, object: Stored, pools: Pools): Stored | null {
  const { uid } = object.metadata;
  const form = scatter(uid) % FORMS;
  const forged = FORGED[plural]?.(object, form, pools) ?? null;
  if (forged === null) return null;
  const metadata = { ...forged.metadata, namespace: STRANGERS, uid: form % 2 === 0 ? uid : `stranger-${uid}` };
  return frozen({ ...forged, metadata, ...withoutRestartRequired(forged as Pick<VirtualMachine, 'status'>) }) as Stored;
}

/** The watch records an Event on each VM that waits for a restart, whoever owns it: of these, strangers have none. */
function withoutRestartRequired({ status }: Pick<VirtualMachine, 'status'>): Pick<VirtualMachine, 'status'> {
  if (status?.conditions === undefined) return {};
  return { status: { ...status, conditions: status.conditions.filter(({ type }) => type !== 'RestartRequired') } };
}

const withMeta = (object: Stored, metadata: Partial<KubeObject['metadata']>, fields: object = {}): KubeObject => ({
  ...object,
  ...fields,
  metadata: { ...object.metadata, ...metadata },
});

const ownedBy = (object: Stored, by: Partial<OwnerReference>): OwnerReference[] =>
  (object.metadata.ownerReferences ?? []).map((owner) => ({ ...owner, ...by }));

/** A number that its pool has not reached. */
const otherName = (name: string): string => name.replace(/-(\w+)$/, '-9$1');

function forgedVm(vm: Stored, form: number): KubeObject {
  const { name, labels = {}, annotations = {} } = vm.metadata;
  const failing = { printableStatus: 'CrashLoopBackOff', startFailure: { consecutiveFailCount: 9 } };
  switch (form) {
    case 0:
      return vm;
    case 1: {
      const ownerReferences = ownedBy(vm, { apiVersion: 'drover.dev/v0' });
      return withMeta(vm, { name: otherName(name), ownerReferences, annotations: protectedBy(annotations) });
    }
    case 2:
      return withMeta(vm, { ownerReferences: ownedBy(vm, { kind: otherKind(vm) }) });
    case 3:
      return withMeta(vm, { name: otherName(name), ownerReferences: [] });
    case 4:
      return withMeta(vm, { labels: { ...labels, [REVISION_LABEL]: 'deadbeef00' } }, { status: failing });
    default:
      return withMeta(vm, { name: otherName(name), annotations: protectedBy(annotations) });
  }
}

const protectedBy = (annotations: Record<string, string>): Record<string, string> => ({
  ...annotations,
  [PROTECT_ANNOTATION]: 'true',
});

const otherKind = ({ metadata }: Stored): string =>
  metadata.ownerReferences?.[0]?.kind === 'VirtualMachinePool' ? 'VirtualMachineReplicaSet' : 'VirtualMachinePool';

function forgedVmi(vmi: Stored, form: number): KubeObject {
  if (form === 0) return vmi;
  const { name, creationTimestamp } = vmi.metadata;
  const phaseTransitionTimestamps = ['Running', 'Failed'].map((phase) => ({
    phase,
    phaseTransitionTimestamp: creationTimestamp,
  }));
  const failed = { phase: 'Failed', reason: 'a lie', evacuationNodeName: 'node-1', phaseTransitionTimestamps };
  return withMeta(vmi, form % 2 === 0 ? {} : { name: otherName(name) }, { status: failed });
}

/** One that never ends, and comes after the real one. */
function forgedMigration(migration: Stored): KubeObject {
  const [, vmiUid = '', attempt = '1'] = /^(?:drain|update)-(.*)-(\d+)$/.exec(migration.metadata.name) ?? [];
  return withMeta(migration, { name: migrationName('drain', vmiUid, Number(attempt) + 1) }, { status: {} });
}

/** One that is kept for a pool of the others. */
function forgedClaim(claim: Stored, form: number, pools: Pools): KubeObject {
  const [pool] = pools();
  if (claim.metadata.labels?.[KEPT_DISK] !== undefined || pool === undefined) return claim;
  const mark = keptDiskMetadata({
    pool: pool.metadata.name,
    poolUid: pool.metadata.uid,
    number: form,
    disk: 'root',
    volume: null,
    revision: form % 2 === 0 ? null : 'deadbeef00',
    template: null,
    firmware: {},
    keptBy: form % 2 === 0 ? 'healing' : 'scale-in',
    keptAt: claim.metadata.creationTimestamp,
  });
  return withMeta(claim, { ...mark, ownerReferences: [] });
}

/** One whose template is theirs. */
function forgedRevision(revision: Stored, form: number): KubeObject {
  if (form === 0) return revision;
  const template = { spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { cores: 64 } } } } } };
  return withMeta(revision, { labels: { ...revision.metadata.labels, [POOL_LABEL]: 'web' } }, { data: { template } });
}
