import { PAUSED_POOL_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { readKubeVirtPool } from '../../api/manifest/kubevirt-pool.ts';
import { formatPath } from '../../api/manifest/problem.ts';
import type { Stored } from '../../api/objects.ts';
import { KubeVirtPools, VirtualMachinePools } from '../../api/resources.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { poolView } from '../../decisions/from-object/owner.ts';
import { joining, type Joining } from '../../decisions/membership/joining.ts';
import { pausedPoolOf, whyNotTakenOver, type KubeVirtPool } from '../../decisions/membership/kubevirt-pool.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { printNote } from '../cli/print.ts';
import { controlledBy, readVmis } from './controlled-vms.ts';
import { otherNames, printJoining } from './print-joining.ts';

/** What a takeover is about to do. */
export interface Plan {
  pool: Pool;
  vms: { name: string; joining: Joining }[];
  /** Remarks for the user who runs the command. */
  notes: string[];
}

/**
 * Returns what would become of the pool and of each VM. Throws `Failure` for what can't be taken over as it is.
 */
export async function plan(
  kube: KubeClient,
  kubeVirtPool: Stored<KubeVirtPool>,
  droverPool: Stored<Pool> | undefined,
): Promise<Plan> {
  const { namespace = '', name } = kubeVirtPool.metadata;
  const vms = await controlledBy(kube, KubeVirtPools, kubeVirtPool);
  const { pool, notes: poolNotes } =
    droverPool === undefined ? converted(kubeVirtPool) : { pool: droverPool, notes: [] };
  const wanted = wantedReplicas(pool);
  const own = droverPool === undefined ? undefined : (await controlledBy(kube, VirtualMachinePools, droverPool)).length;
  const message = whyNotTakenOver(kubeVirtPool, vms, { own, wanted });
  if (message !== null) throw new Failure(message);
  const stored = poolView({ ...pool, metadata: { ...pool.metadata, uid: '' } });
  const compared = (await readVmis(kube, namespace, vms)).map(({ vm, vmi }) => ({
    name: vm.metadata.name,
    joining: joining(stored, vm, vmi),
  }));
  const isMissing = droverPool === undefined && vms.length < wanted;
  const notes = [
    ...poolNotes,
    ...(isMissing
      ? [`KubeVirt pool ${name} has ${vms.length} of ${wanted} VMs: drover makes the others at the end`]
      : []),
  ];
  const isDisturbing = compared.some(({ joining: one }) => one.fate !== 'unchanged');
  if (droverPool !== undefined || !isDisturbing) return { pool, vms: compared, notes };
  notes.push(
    `not all VMs match the template: pool ${name} is made with spec.paused, so that nothing restarts; ` +
      `\`kubectl patch dpool ${name} --type merge -p '{"spec":{"paused":false}}'\` updates them`,
  );
  return { pool: { ...pool, spec: { ...pool.spec, paused: true } }, vms: compared, notes };
}

export function printPlan({ pool, vms, notes }: Plan): void {
  if (vms.length > 0) printJoining(vms);
  const note = otherNames(pool.metadata.name, vms);
  for (const line of [...(note === undefined ? [] : [note]), ...notes]) printNote(line);
}

/** Returns drover's pool, with remarks. Throws a `Failure` for each field that drover has no words for. */
function converted(kubeVirtPool: Stored<KubeVirtPool>): { pool: Pool; notes: string[] } {
  const { metadata, spec, apiVersion } = kubeVirtPool;
  const { namespace, name, labels, annotations: all = {} } = metadata;
  const { [PAUSED_POOL_ANNOTATION]: _, ...annotations } = all;
  const before = pausedPoolOf(kubeVirtPool);
  const { autohealing: __, paused: ___, ...rest } = spec;
  const asItWas =
    before === null
      ? spec
      : { ...rest, paused: before.paused, ...(before.autohealing === null ? {} : { autohealing: before.autohealing }) };
  const document = {
    apiVersion: apiVersion ?? 'pool.kubevirt.io/v1beta1',
    kind: 'VirtualMachinePool',
    metadata: { namespace, name, ...(labels && { labels }), annotations },
    spec: asItWas,
  };
  const reading = readKubeVirtPool(document, () => undefined);
  if ('findings' in reading)
    throw new AggregateError(
      reading.findings.map(
        ({ path, message }) => new Failure(`KubeVirt pool ${name}: ${formatPath(path)}: ${message}`),
      ),
    );
  const notes = reading.notes.filter((line) => !ABOUT_MANIFESTS.test(line));
  return { pool: reading.object as unknown as Pool, notes };
}

/** Notes of the conversion that say how a manifest would be read. */
const ABOUT_MANIFESTS = / is read as drover\.dev|^metadata|^status/;
