import {
  REQUESTED_BY_ANNOTATION,
  CHANGE_CAUSE_ANNOTATION,
  POOL_LABEL,
  REVISION_LABEL,
} from '../../api/labels-and-annotations.ts';
import { type Stored } from '../../api/objects.ts';
import { byController, identityOf, isControlledBy } from '../../api/owner-references.ts';
import { requesterOf } from '../../api/requested-by.ts';
import { VirtualMachineInstances, VirtualMachines, VirtualMachinePools, type Resource } from '../../api/resources.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { ageOf, printNote, print, table, type Cell, printData, type DataFormat } from '../cli/print.ts';
import { namedPools, onePool } from '../pool/named-pools.ts';
import { findRevision, readRevisions, type Revision, type RevisionRecord } from '../pool/revisions.ts';
import type { Work } from '../session/session.ts';
import { changeOf } from './lines.ts';

/** A revision, and how many have it; `-o json` prints it as is. */
interface HistoryEntry extends Omit<RevisionRecord, 'number' | 'createdAt'> {
  /**
   * Null for a target template, which is kept only once its first batch begins, and for a template that VMs have and
   * that is no longer kept.
   */
  number: number | null;
  createdAt: string | null;
  /** VMs whose spec is of this revision, and VMIs that were started from it. */
  vms: number;
  vmis: number;
  /** The last revision that all VMs had. */
  isCurrent: boolean;
  /** The revision of the pool's template. */
  isTarget: boolean;
  /** The newest Secret or ConfigMap for whose change its VMs restart, or have restarted; null if they have for none. */
  changed: { what: string; at: string } | null;
}

interface HistoryFlags {
  /** Number or hash of the one whose template is wanted. */
  revision?: string;
  output?: DataFormat;
}

/** Prints the revisions of pools, or the template of one. */
export const rolloutHistory: Work<HistoryFlags> = async (session, { revision, output }, ...args) => {
  if (revision !== undefined) {
    const pool = await onePool(session, args);
    const revisions = await readRevisions(await session.kube(), pool);
    const { template } = findRevision(revisions, revision, pool.metadata.name);
    return printData(template, output ?? 'yaml');
  }
  const pools = await namedPools(session, args);
  const kube = await session.kube();
  for (const [index, pool] of pools.entries()) {
    const { name } = pool.metadata;
    const entries = await historyOf(kube, pool);
    if (output !== undefined) await printData({ pool: name, revisions: entries }, output);
    else if (entries.length === 0)
      printNote(`pool ${name} has no revisions yet: a worker keeps them as it takes the pool up`);
    else {
      if (pools.length > 1) print(`${index === 0 ? '' : '\n'}pool ${name}`);
      print(historyTable(entries, Date.now()));
    }
  }
};

/** All revisions of the pool, the newest last. */
async function historyOf(kube: KubeClient, pool: Stored<Pool>): Promise<HistoryEntry[]> {
  const { namespace, name } = pool.metadata;
  const labelled = (resource: Resource): Promise<Stored[]> =>
    kube.list(resource, { namespace, labelSelector: `${POOL_LABEL}=${name}` }).then(({ items }) => items);
  const [revisions, vms, vmis] = await Promise.all([
    readRevisions(kube, pool),
    labelled(VirtualMachines).then((items) =>
      items.filter((vm) => isControlledBy(vm, VirtualMachinePools, identityOf(pool))),
    ),
    labelled(VirtualMachineInstances),
  ]);
  const vmisOf = byController(vmis, VirtualMachines);
  const own = vms.flatMap((vm) => vmisOf(identityOf(vm)));
  return history(pool, revisions, countByRevision(vms), countByRevision(own));
}

const countByRevision = (objects: Stored[]): Map<string, number> => {
  const groups = Map.groupBy(objects, ({ metadata }) => metadata.labels?.[REVISION_LABEL] ?? '<none>');
  return new Map([...groups].map(([revision, { length }]) => [revision, length]));
};

export function history(
  { metadata: { annotations = {} }, spec, status }: Pool,
  revisions: Revision[],
  vms: ReadonlyMap<string, number>,
  vmis: ReadonlyMap<string, number>,
): HistoryEntry[] {
  const target = revisionOf(poolTemplate(spec));
  const kept = new Set(revisions.map(({ hash }) => hash));
  const lost = [...new Set([...vms.keys(), ...vmis.keys()])]
    .filter((hash) => !kept.has(hash) && hash !== target)
    .sort();
  const unknown = { number: null, createdAt: null, requestedBy: null, changeCause: null };
  const origin = {
    requestedBy: requesterOf(annotations[REQUESTED_BY_ANNOTATION], target) ?? null,
    changeCause: annotations[CHANGE_CAUSE_ANNOTATION] ?? null,
  };
  const next = kept.has(target) ? [] : [{ ...unknown, ...origin, hash: target }];
  return [...lost.map((hash) => ({ ...unknown, hash })), ...revisions, ...next].map(
    ({ number, hash, createdAt, requestedBy, changeCause }) => ({
      number,
      hash,
      createdAt,
      requestedBy,
      changeCause,
      vms: vms.get(hash) ?? 0,
      vmis: vmis.get(hash) ?? 0,
      isCurrent: hash === status?.currentRevision,
      isTarget: hash === target,
      changed: hash === status?.rollout?.revision ? (status.rollout.changed ?? null) : null,
    }),
  );
}

export function historyTable(entries: HistoryEntry[], now: number): string[] {
  const rows = entries.map(({ number, hash, createdAt, requestedBy, changeCause, vms, vmis, ...state }): Cell[] => [
    number ?? (state.isTarget ? '<next>' : '<gone>'),
    hash,
    createdAt === null ? '<unknown>' : `${ageOf(createdAt, now)} ago`,
    vms,
    vmis,
    revisionState(state),
    requestedBy ?? '<unknown>',
    changeCause ?? '<none>',
  ]);
  const restarts = entries.flatMap(({ hash, changed }) =>
    changed === null ? [] : [`VMs of ${hash} restart when what they read changes: ${changeOf(changed, now)}`],
  );
  const header = ['REVISION', 'HASH', 'FIRST USED', 'VMS', 'VMIS', 'STATE', 'REQUESTED BY', 'CHANGE CAUSE'];
  return [...table(header, rows), ...restarts];
}

function revisionState({ isCurrent, isTarget }: Pick<HistoryEntry, 'isCurrent' | 'isTarget'>): Cell {
  if (isCurrent && isTarget) return { text: 'current', style: 'green' };
  if (isTarget) return { text: 'target', style: 'cyan' };
  return isCurrent ? { text: 'current', style: 'yellow' } : '';
}
