import { DISKS_FINALIZER } from '../../../api/labels-and-annotations.ts';
import { controllerOf, type Condition, type Stored } from '../../../api/objects.ts';
import { DataVolumes, PersistentVolumeClaims, VirtualMachineInstances } from '../../../api/resources.ts';
import { field } from '../../../decisions/lib/json.ts';
import { volumesOf } from '../../../decisions/template/references.ts';
import { claimsOf } from '../../../decisions/template/used-disks.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { ignoreNotFound } from '../../../kubernetes/errors.ts';
import { sentenceOf } from '../../cli/failure.ts';
import type { Disk } from '../contract/requests.ts';

interface Claim {
  spec?: { storageClassName?: string; resources?: { requests?: { storage?: string } } };
  status?: { phase?: string; capacity?: { storage?: string } };
}

interface DataVolume {
  status?: { phase?: string; progress?: string; conditions?: Condition[] };
}

/** A disk as the page shows it. `filling`: how far its DataVolume is; null if it is filled, or has none. */
interface ReadDisk {
  shown: Disk;
  filling: string | null;
}

const MOST_DISKS = 32;

/** Reads the disks of a VM, or of a VMI without one. What can't be read is told in `unknown`, one sentence each. */
export async function readDisks(kube: KubeClient, object: Stored, unknown: string[]): Promise<ReadDisk[]> {
  const { namespace, finalizers = [] } = object.metadata;
  const isOfPool = controllerOf(object)?.kind === 'VirtualMachinePool';
  const isKept = isOfPool ? finalizers.includes(DISKS_FINALIZER) : null;
  const volumes =
    object.kind === VirtualMachineInstances.kind
      ? ((object['spec'] as { volumes?: object[] }).volumes ?? [])
      : volumesOf(object['spec']);
  const read = async <T>(what: string, resource: typeof DataVolumes, name: string): Promise<T | undefined> => {
    try {
      return (await ignoreNotFound(kube.get(resource, { namespace, name }))) as T | undefined;
    } catch (error) {
      unknown.push(`${what} ${name} can't be read: ${sentenceOf(error)}`);
      return undefined;
    }
  };
  return Promise.all(
    volumes.slice(0, MOST_DISKS).map(async (volume): Promise<ReadDisk> => {
      const name = (volume as { name?: string }).name ?? '';
      const [claim = null] = claimsOf([volume]);
      const isFilled = field(volume, 'dataVolume', 'name') === undefined;
      const [its, source] = await Promise.all([
        claim === null ? undefined : read<Claim>('claim', PersistentVolumeClaims, claim),
        claim === null || isFilled ? undefined : read<DataVolume>('DataVolume', DataVolumes, claim),
      ]);
      return readDisk({ name, claim, isKept: claim === null ? null : isKept }, its, fillingOf(source));
    }),
  );
}

/** Its claim may be bound long before it is filled. */
function readDisk(
  given: Pick<Disk, 'name' | 'claim' | 'isKept'>,
  { spec, status }: Claim = {},
  filling: string | null,
): ReadDisk {
  const shown = {
    ...given,
    size: status?.capacity?.storage ?? spec?.resources?.requests?.storage ?? null,
    storageClass: spec?.storageClassName ?? null,
    phase: filling ?? status?.phase ?? null,
  };
  return { shown, filling };
}

/** Why a VM may wait for its disks, one sentence for each that is not filled. */
export const unfilledDisks = (disks: readonly ReadDisk[]): string[] =>
  disks.flatMap(({ shown: { claim }, filling }) =>
    filling === null ? [] : [`its disk ${claim} is not filled: its DataVolume is ${filling}`],
  );

/** Such as `ImportInProgress 12.0%`; null if it is filled, or its progress is not known. */
function fillingOf(source: DataVolume | undefined): string | null {
  const { phase, progress = '', conditions = [] } = source?.status ?? {};
  if (phase === undefined || phase === '' || phase === 'Succeeded') return null;
  const { message } = conditions.find(({ status, message }) => status === 'False' && message) ?? {};
  const percent = /\d/.test(progress) ? ` ${progress}` : '';
  return `${phase}${percent}${message ? `: ${message}` : ''}`;
}
